//! What was counted of a block that a signal has interrupted, and is still to come.
//!
//! Blocks are counted as a whole at their entries, repeated instructions with all the iterations that they may take. A
//! thread that comes back in the middle does so in another block, which counts the rest again: here it is taken back.

use std::{arch::asm, ptr};

use carom_base::Access;
use carom_base_insn::{Known, Registers};
use libc::ucontext_t;

use super::context::{Found, Original, Place, exit_at};
use crate::{
    block::{Block, Decoded, Sums},
    cache::Cache,
    code::{Code, Counter},
    dispatch,
    engine::Engine,
    fragment::{HOOK_BYTES, HOOK_JUMP},
    marks::Undo,
    state::number::RCX,
    thread::Thread,
};

/// Takes back what the thread has counted and not executed. `context`: where `found` was found.
pub fn take_back(engine: &mut Engine, thread: &mut Thread, found: &Found, context: &ucontext_t) {
    match found.place {
        Place::Native | Place::Between => {}
        Place::Counted(id, address) => {
            if let Some((_, code)) = engine.cache.code_at(address) {
                add(code, thread, id, 1);
            }
        }
        Place::Fragment(address) => {
            iterations(&engine.cache, thread, address, found.original.gpr[RCX]);
            if let Some(rest) = Rest::at(&mut engine.cache, address) {
                if rest.lanes_counted {
                    lanes(&mut engine.cache, thread, &found.original, context);
                }
                rest.take_back(&engine.cache, thread);
            }
        }
    }
}

/// Takes back the instruction at `pc` alone, which was counted with its block and has faulted.
pub fn take_back_one(engine: &mut Engine, thread: &mut Thread, pc: u64) {
    let Some(code) = engine.cache.code_after(pc) else { return };
    if let Some(block) = Block::decode(pc, code, &mut engine.cache.accesses)
        && let Some(first) = block.instructions.first()
    {
        let mut sums = Sums::default();
        sums.add(&first.statics);
        thread.correct(-1, &sums);
    }
}

fn add(code: &Code, thread: &Thread, id: u64, difference: i64) {
    let windows = code.windows();
    windows.set(thread.lane, id as usize, windows.value(thread.lane, id as usize).wrapping_add(difference));
}

/// Iterations that a repeated instruction did not make.
fn iterations(cache: &Cache, thread: &Thread, address: u64, left: u64) {
    let Some((_, code)) = cache.code_at(address) else { return };
    let Some(mark) = code.mark(address) else { return };
    if matches!(mark.undo, Undo::Repeat | Undo::RepeatRax | Undo::Spared | Undo::SparedRax)
        && let Some((id, _)) = last_counter(code, address, true)
    {
        add(code, thread, id, (left as i64).wrapping_neg());
    }
}

/// The last counter whose code begins at or before `address`: of iterations (then true), or of a block.
fn last_counter(code: &Code, address: u64, counts_up: bool) -> Option<(u64, Counter)> {
    let counters = code.counters();
    let after = counters.partition_point(|counter| counter.cache <= address);
    let before = counters.get(..after)?;
    let id = before.iter().rposition(|counter| counter.counts_up == counts_up)?;
    Some((id as u64, *before.get(id)?))
}

/// What is still to come of a block that was counted.
struct Rest {
    /// An address in the counter's arena, and the counter's number.
    counter: (u64, u64),
    /// The end of the block; `None` for all of it.
    part: Option<Sums>,
    /// Its first instruction had its lanes counted.
    lanes_counted: bool,
}

impl Rest {
    /// Of the block that a thread at this address in a fragment is in, if any.
    fn at(cache: &mut Cache, address: u64) -> Option<Self> {
        let (_, code) = cache.code_at(address)?;
        let (start, marks) = code.marks_until(address)?;
        let behind_hook = is_behind_hook(code, address);
        let own = last_counter(code, address, false).filter(|(_, counter)| counter.cache >= start);
        // A sampled copy has no counter; the block that it is a copy of was counted.
        let is_copy = own.is_none() && cache.variants.values().any(|&copy| copy == start);
        let (at, (id, counter)) = match own {
            Some(own) => (address, own),
            None if is_copy => {
                let counted = cache.blocks.get(&code.mark(start)?.pc).copied()?;
                (counted, last_counter(cache.code_at(counted)?.1, counted, false)?)
            }
            None => return None,
        };
        let from = if is_copy { start } else { counter.cache };
        let code = cache.code_after(counter.pc)?;
        let marks: Vec<_> = marks.filter(|mark| mark.cache >= from).collect();
        let block = Block::decode(counter.pc, code, &mut cache.accesses)?;
        let last = block.last()?.ip();
        let lanes_added = marks.last().is_some_and(|mark| matches!(mark.undo, Undo::Lanes | Undo::LanesRax));
        let mut inside = is_copy;
        let mut pc = counter.pc;
        for mark in marks {
            match mark.undo {
                Undo::Counted | Undo::CountedRax | Undo::CountedFlags => inside = true,
                Undo::Return | Undo::Call | Undo::CallRcx | Undo::Jump | Undo::JumpRcx => inside = false,
                // Behind the block's end, or on the way to where it leads.
                _ if mark.pc < pc || mark.pc > last => inside = false,
                _ => {}
            }
            pc = mark.pc;
        }
        let to_come = |decoded: &&Decoded| decoded.instruction.ip() >= pc;
        let mut part = Sums::default();
        block.instructions.iter().filter(to_come).for_each(|decoded| part.add(&decoded.statics));
        let first = block.instructions.iter().find(to_come);
        inside.then_some(Self {
            counter: (at, id),
            part: (pc != counter.pc).then_some(part),
            lanes_counted: first.is_some_and(|decoded| decoded.statics.lanes) && (lanes_added || behind_hook),
        })
    }

    fn take_back(&self, cache: &Cache, thread: &mut Thread) {
        let (address, id) = self.counter;
        match (&self.part, cache.code_at(address)) {
            (Some(part), _) => thread.correct(-1, part),
            // As if it had never begun, so that samples stay where they are, too.
            (None, Some((_, code))) => add(code, thread, id, 1),
            (None, None) => {}
        }
    }
}

/// Whether a hook comes back to `address`.
fn is_behind_hook(code: &Code, address: u64) -> bool {
    if !code.contains(address - HOOK_BYTES) {
        return false;
    }
    let jump = ptr::with_exposed_provenance::<[u8; HOOK_BYTES as usize]>((address - HOOK_BYTES) as usize);
    // SAFETY: within the arena.
    let [opcode, displacement @ ..] = unsafe { jump.read_unaligned() };
    let stub = address.wrapping_add(i32::from_le_bytes(displacement) as u64);
    opcode == HOOK_JUMP && code.stub_at(stub).is_some_and(|record| exit_at(record).back == address)
}

/// Active lanes of an instruction that has not been executed, or not to its end.
fn lanes(cache: &mut Cache, thread: &mut Thread, original: &Original, context: &ucontext_t) {
    let fs_base: u64;
    // SAFETY: reads a register.
    unsafe { asm!("rdfsbase {}", out(reg) fs_base, options(nostack, nomem, preserves_flags)) };
    let registers = Registers {
        gpr: original.gpr,
        rip: original.rip,
        rflags: original.rflags,
        fs_base,
        gs_base: Some(0),
        xsave: extended_state(context),
        known: Known::ALL,
    };
    for access in dispatch::accesses(cache, &registers) {
        thread.correct(-1, &sums(&access));
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

/// The vector registers in the kernel's frame (Linux, arch/x86/include/uapi/asm/sigcontext.h: `_fpx_sw_bytes`).
fn extended_state(context: &ucontext_t) -> &[u8] {
    const LEGACY_BYTES: usize = 512;
    const MAGIC: u32 = 0x4650_5853;
    const MAGIC_OFFSET: usize = 464;
    const SIZE_OFFSET: usize = 480;
    let area = context.uc_mcontext.fpregs.cast::<u8>().cast_const();
    if area.is_null() {
        return &[];
    }
    // SAFETY: the kernel has put at least the legacy area there, aligned.
    let magic = unsafe { area.wrapping_add(MAGIC_OFFSET).cast::<u32>().read() };
    // SAFETY: as above.
    let size = unsafe { area.wrapping_add(SIZE_OFFSET).cast::<u32>().read() };
    let size = if magic == MAGIC { size as usize } else { LEGACY_BYTES };
    // SAFETY: as large as the kernel says.
    unsafe { std::slice::from_raw_parts(area, size) }
}
