//! What was counted of a block that a signal has interrupted, and has not been executed.
//!
//! Blocks are counted as a whole at their entries, repeated instructions with all iterations that they may make. A
//! thread that comes back in the middle does so in another block, which counts the rest again. So that rest is taken
//! back here.

use std::{arch::asm, ptr};

use carom_base::Access;
use carom_base_insn::{Known, Registers};
use libc::ucontext_t;

use super::{
    context::{Found, Original, Place, exit_at},
    kernel, streamed,
};
use crate::{
    blocks::{cache::Cache, code::Code},
    decode::block::{Block, Decoded, Sums},
    emit::{HOOK_BYTES, HOOK_JUMP},
    encode::marks::Undo,
    engine::Engine,
    lane::registers::number::RCX,
    observe::{operands, repeat},
    probes::{counter::Unit, hook::Hook, totals::Counts, units::Units},
    threads::thread::{Thread, loads_and_stores},
};

/// Takes back what the thread has counted and not executed. `context`: where `found` was found.
pub fn take_back(engine: &mut Engine, thread: &mut Thread, found: &Found, context: &ucontext_t) {
    match found.place {
        Place::Native | Place::Between => {}
        Place::Counted(id, address) => {
            if let Some((_, code)) = engine.cache.arenas.at(address) {
                thread.uncount(code, id);
            }
        }
        Place::Fragment(address) => {
            let mark = engine.cache.mark(address);
            if let Some(mark) = mark {
                thread.fall(mark.pc, -mark.undo.branches_to_count());
                if mark.undo.leaves_superblock()
                    && let Some((_, code)) = engine.cache.arenas.at(address)
                    && let Some(side) = code.side(address)
                {
                    code.count(thread.lane, side, -1);
                    // Where the superblock goes on behind the jump, the branch has fallen through.
                    let falls = code.counters().get(side as usize).is_some_and(|counter| !counter.fallen);
                    thread.fall(mark.pc, falls.into());
                }
            }
            let left = iterations(&mut engine.cache, thread, address, &found.original);
            let rest = Rest::at(&mut engine.cache, address);
            streamed::take_back(&mut engine.cache, thread, address, &found.original, rest.as_ref(), left);
            if let Some(rest) = rest {
                if rest.lanes_counted {
                    lanes(&mut engine.cache, thread, &found.original, context);
                }
                rest.take_back(&engine.cache, thread);
            }
        }
    }
}

/// Loads and stores that the thread has counted and not executed, where it was interrupted.
pub fn ahead(engine: &mut Engine, found: &Found, context: &ucontext_t) -> i64 {
    let cache = &mut engine.cache;
    match found.place {
        Place::Native | Place::Between => 0,
        Place::Counted(id, address) => {
            cache.arenas.at(address).map_or(0, |(_, code)| accesses_from(code, id))
        }
        Place::Fragment(address) => {
            let left = cache.arenas.at(address).and_then(|(_, code)| {
                let mark = code.mark(address).filter(|mark| mark.undo.counts_iterations())?;
                let (_, counter) = code.last_counter(mark.cache, Unit::Iteration)?;
                Some(counter.sums().accesses().wrapping_mul(found.original.gpr[RCX] as i64))
            });
            let side = cache.arenas.at(address).and_then(|(_, code)| {
                let leaves = code.mark(address)?.undo.leaves_superblock();
                code.side(address).filter(|_| leaves).map(|id| accesses_from(code, id))
            });
            let Some(rest) = Rest::at(cache, address) else { return left.or(side).unwrap_or_default() };
            let (counter_at, id) = rest.counter;
            let behind = match cache.arenas.at(counter_at) {
                Some((_, code)) if !rest.is_copy => code.accesses_behind(id),
                _ => 0,
            };
            let rest_of_block = match (&rest.part, cache.arenas.at(counter_at)) {
                (Some(part), _) => part.iter().map(|(_, sums)| sums.accesses()).sum(),
                (None, Some((_, code))) => accesses_of(code, id),
                (None, None) => 0,
            };
            let lanes: i64 = if rest.lanes_counted {
                lanes_to_come(cache, &found.original, context).iter().map(loads_and_stores).sum()
            } else {
                0
            };
            left.unwrap_or_default().wrapping_add(rest_of_block + behind).wrapping_add(lanes)
        }
    }
}

fn accesses_of(code: &Code, id: u64) -> i64 {
    code.counters().get(id as usize).map_or(0, |counter| counter.sums().accesses())
}

/// The accesses of a block and of those behind it in its superblock.
fn accesses_from(code: &Code, id: u64) -> i64 {
    accesses_of(code, id) + code.accesses_behind(id)
}

/// Takes back only the instruction at `pc`, which was counted with its block and has faulted.
pub fn take_back_one(engine: &mut Engine, thread: &mut Thread, pc: u64) {
    let Some(code) = engine.cache.source.code_after(pc) else { return };
    if let Some(block) = Block::decode(pc, code, &mut engine.cache.accesses)
        && let Some(first) = block.instructions.first()
    {
        thread.correct(pc, &Counts::of(-1, &first.sums()));
    }
}

fn add(code: &Code, thread: &Thread, id: u64, difference: i64) {
    let windows = code.windows();
    windows.set(thread.lane, id as usize, windows.value(thread.lane, id as usize).wrapping_add(difference));
}

/// Takes back the iterations that a repeated instruction did not make; returns their number.
fn iterations(cache: &mut Cache, thread: &mut Thread, address: u64, original: &Original) -> u64 {
    let Some((arena, code)) = cache.arenas.at(address) else { return 0 };
    let Some(mark) = code.mark(address) else { return 0 };
    if mark.undo.counts_iterations()
        && let Some((id, counter)) = code.last_counter(address, Unit::Iteration)
    {
        let left = original.gpr[RCX];
        add(code, thread, id, left as i64);
        let what = Units { pc: counter.pc, arena, id, ahead: 0 };
        // For a comparison, whose position only these registers still tell.
        if thread.comparison.is_none() && what.is_due(cache, thread) {
            let at = repeat::At { gpr: original.gpr, flags: original.rflags };
            repeat::sample_at(cache, thread, what, at, true);
        }
        return left;
    }
    0
}

/// The rest of a block that was counted.
pub struct Rest {
    /// An address in the counter's arena, and the counter's number.
    counter: (u64, u64),
    /// The end of the block, by instruction; `None` for the whole block, to be taken back from its counter.
    part: Option<Vec<(u64, Sums)>>,
    /// It is a copy's: the superblock was left for it.
    is_copy: bool,
    /// The lanes of its first instruction were counted.
    pub lanes_counted: bool,
    /// The hook of its first instruction, if it was reached.
    pub behind: Option<Hook>,
}

impl Rest {
    /// The rest of the block that contains this address in a fragment, if any.
    fn at(cache: &mut Cache, address: u64) -> Option<Self> {
        let (_, code) = cache.arenas.at(address)?;
        let (start, marks) = code.marks_until(address)?;
        let behind = hook_before(code, address).and_then(|id| cache.hooks.get(id));
        let own = code.last_counter(address, Unit::Execution).filter(|(_, counter)| counter.cache >= start);
        // A sampled copy has no counter; the block that was copied was counted.
        let copied = cache.translations.copied_at(start).filter(|_| own.is_none());
        let is_copy = copied.is_some();
        let (at, (id, counter)) = match own {
            Some(own) => (address, own),
            None => {
                let counted = cache.translations.counted_at(code.mark(start)?.pc, copied?)?;
                (counted, cache.arenas.at(counted)?.1.last_counter(counted, Unit::Execution)?)
            }
        };
        let from = if is_copy { start } else { counter.cache };
        let code = cache.source.code_after(counter.pc)?;
        let marks: Vec<_> = marks.filter(|mark| mark.cache >= from).collect();
        let mut block = Block::decode(counter.pc, code, &mut cache.accesses)?;
        block.truncate(counter.sums().instructions as usize);
        let last = block.last()?.ip();
        let lanes_added = marks.last().is_some_and(|mark| mark.undo.counts_lanes());
        let mut inside = is_copy;
        let mut pc = counter.pc;
        for mark in marks {
            match mark.undo {
                Undo::Counted | Undo::CountedRax | Undo::CountedFlags => inside = true,
                Undo::Return | Undo::Jump | Undo::Left | Undo::LeftRax => inside = false,
                // After the block's end, or on the way to its successor.
                _ if mark.pc < pc || mark.pc > last => inside = false,
                _ => {}
            }
            pc = mark.pc;
        }
        let to_come = |decoded: &&Decoded| decoded.instruction.ip() >= pc;
        let of_one = |decoded: &Decoded| (decoded.instruction.ip(), decoded.sums());
        let first = block.instructions.iter().find(to_come);
        // Which of two counters has counted a copied block is not known.
        let by_instruction = pc != counter.pc || is_copy && cache.translations.is_twice(counter.pc);
        inside.then_some(Self {
            counter: (at, id),
            is_copy,
            part: by_instruction.then(|| block.instructions.iter().filter(to_come).map(of_one).collect()),
            lanes_counted: first.is_some_and(|decoded| decoded.statics.lanes)
                && (lanes_added || matches!(behind, Some(Hook::Lanes { .. }))),
            behind,
        })
    }

    fn take_back(&self, cache: &Cache, thread: &mut Thread) {
        let (address, id) = self.counter;
        let Some((_, code)) = cache.arenas.at(address) else { return };
        match &self.part {
            Some(part) => {
                part.iter().for_each(|(ip, sums)| thread.correct(*ip, &Counts::of(-1, sums)));
                thread.leave_superblock(code, id, if self.is_copy { 0 } else { 1 });
            }
            // As if it had never begun, so that its samples stay the same, too.
            None => {
                thread.leave_superblock(code, id, if self.is_copy { -1 } else { 0 });
                thread.uncount(code, id);
            }
        }
    }
}

/// The hook that returns to `address`.
fn hook_before(code: &Code, address: u64) -> Option<u64> {
    if !code.contains(address - HOOK_BYTES) {
        return None;
    }
    let jump = ptr::with_exposed_provenance::<[u8; HOOK_BYTES as usize]>((address - HOOK_BYTES) as usize);
    // SAFETY: within the arena.
    let [opcode, displacement @ ..] = unsafe { jump.read_unaligned() };
    let stub = address.wrapping_add(i32::from_le_bytes(displacement) as u64);
    let exit = code.stub_at(stub).filter(|_| opcode == HOOK_JUMP).map(exit_at)?;
    (exit.back == address).then_some(exit.detail)
}

/// Active lanes of an instruction that has not been executed, or not completely.
fn lanes_to_come(cache: &mut Cache, original: &Original, context: &ucontext_t) -> Vec<Access> {
    let fs_base: u64;
    // SAFETY: reads a register.
    unsafe { asm!("rdfsbase {}", out(reg) fs_base, options(nostack, nomem, preserves_flags)) };
    let registers = Registers {
        gpr: original.gpr,
        rip: original.rip,
        rflags: original.rflags,
        fs_base,
        gs_base: Some(0),
        xsave: kernel::extended_state(context),
        known: Known::ALL,
    };
    operands::accesses(cache, &registers)
}

/// Takes these lanes back.
fn lanes(cache: &mut Cache, thread: &mut Thread, original: &Original, context: &ucontext_t) {
    let left = lanes_to_come(cache, original, context);
    left.iter().for_each(|access| thread.correct(original.rip, &Counts::of(-1, &sums(access))));
    if cache.mode_at(original.rip).streams() {
        thread.take_accesses_back(left.len());
    }
}

fn sums(access: &Access) -> Sums {
    let [loads, stores] = [u32::from(access.kind.reads()), u32::from(access.kind.writes())];
    Sums {
        loads,
        stores,
        loaded_bytes: loads * access.width,
        stored_bytes: stores * access.width,
        ..Sums::default()
    }
}
