//! The state that a signal has interrupted, as the program sees it.

use std::{mem::offset_of, ptr};

use libc::{
    REG_EFL, REG_R8, REG_R9, REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RAX, REG_RBP, REG_RBX,
    REG_RCX, REG_RDI, REG_RDX, REG_RIP, REG_RSI, REG_RSP, mcontext_t, ucontext_t,
};

use super::passage::{self, End};
use crate::{
    blocks::{cache::Cache, passages},
    emit::HOOK_BYTES,
    encode::marks::{Mark, Spilled, Undo},
    engine::{self, calling},
    lane::{
        exit::{Exit, Reason},
        registers::{
            Gpr,
            number::{R11, RAX, RCX, RDX, RSI, RSP},
        },
        slots::Slots,
    },
    probes::counter::Unit,
    threads::thread::Thread,
};

/// The offset of the instruction pointer in a context.
pub const RIP_OFFSET: u64 =
    (offset_of!(ucontext_t, uc_mcontext) + offset_of!(mcontext_t, gregs) + REG_RIP as usize * 8) as u64;

/// Where the kernel's context has the registers, by hardware number.
const PLACES: [i32; 16] = [
    REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI, REG_R8, REG_R9, REG_R10, REG_R11,
    REG_R12, REG_R13, REG_R14, REG_R15,
];

/// The program's registers in front of one of its own instructions, as they would be natively.
///
/// Flags that the code from there on overwrites before it reads them may differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Original {
    /// By hardware number: rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8 to r15.
    pub gpr: [u64; 16],
    /// The next instruction.
    pub rip: u64,
    /// The flags.
    pub rflags: u64,
}

impl Original {
    /// The registers in `context`.
    pub fn of(context: &ucontext_t) -> Self {
        let word = |place: i32| context.uc_mcontext.gregs.get(place as usize).map_or(0, |word| *word as u64);
        Self { gpr: PLACES.map(word), rip: word(REG_RIP), rflags: word(REG_EFL) }
    }

    /// Writes them to `context`.
    pub fn put(&self, context: &mut ucontext_t) {
        let all = PLACES.into_iter().zip(self.gpr).chain([(REG_RIP, self.rip), (REG_EFL, self.rflags)]);
        for (place, value) in all {
            if let Some(word) = context.uc_mcontext.gregs.get_mut(place as usize) {
                *word = value as i64;
            }
        }
    }

    /// Takes the arithmetic flags from AX, where `lahf; seto al` has put them. `add al, 127` may have begun to
    /// restore them.
    pub fn flags_from_ax(&mut self) {
        const IN_AH: u64 = 0xd5;
        const OVERFLOW: u64 = 1 << 11;
        const SETO: u64 = 1;
        const SETO_AND_ADDED: u64 = 128;
        let ax = self.gpr[RAX];
        let overflow = if matches!(ax & 0xff, SETO | SETO_AND_ADDED) { OVERFLOW } else { 0 };
        self.rflags = self.rflags & !(IN_AH | OVERFLOW) | ax >> 8 & IN_AH | overflow;
    }
}

/// Where in the cache a thread is, which determines what was counted and not executed yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Outside. The registers are the program's.
    Native,
    /// Between two blocks.
    Between,
    /// At this address in a fragment.
    Fragment(u64),
    /// In front of a block that was counted, with the counter's number and an address in its arena.
    Counted(u64, u64),
}

/// The state that a signal has interrupted.
#[derive(Clone, Copy, Debug)]
pub struct Found {
    pub original: Original,
    pub place: Place,
}

/// The calling thread's registers as the program would have them, for a handler of the embedder that was installed
/// without the engine ([`crate::reserve_signals`]) and has been given `context`. `None` where they are those in
/// `context`, because the thread runs native code.
///
/// The thread then continues unchanged; `context` must not be changed by what this returns. May be called in signal
/// handlers: it waits for a lock whose holder has all signals blocked, and does not allocate.
pub fn original_registers(context: &ucontext_t) -> Option<Original> {
    let thread = calling::current()?;
    // SAFETY: the calling thread's own, and not in the dispatcher, where no signal arrives.
    let thread = unsafe { &mut *thread };
    let mut found = None;
    engine::with(|engine| found = Some(find(&engine.cache, thread, Original::of(context))));
    found.filter(|found| found.place != Place::Native).map(|found| found.original)
}

/// The calling thread was interrupted at `context`: its counts and its position include what only registers hold until now
/// (loops count in registers, `emit::loops`). May be called like [`original_registers`].
pub fn catch_up(context: &ucontext_t) {
    let _ = original_registers(context);
}

/// What a thread with these registers was doing. What it counts in a register goes to memory.
pub fn find(cache: &Cache, thread: &mut Thread, registers: Original) -> Found {
    let at = registers.rip;
    let ours = if let Some(mark) = cache.mark(at) {
        write_counter(cache, thread, &registers, mark);
        in_fragment(thread.slots(), registers, mark)
    } else if cache.arenas.at(at).is_some() || passages::passages().contains(&at) {
        in_passage(thread, registers)
    } else {
        None
    };
    ours.unwrap_or(Found { original: registers, place: Place::Native })
}

/// Where a register holds a counter, memory gets its value: whoever reads the thread's counts next finds all of them. The
/// thread may go on as it is, for the register remains what counts.
fn write_counter(cache: &Cache, thread: &Thread, registers: &Original, mark: Mark) {
    if let Some(counting) = mark.counting
        && let Some(&value) = registers.gpr.get(usize::from(counting.0))
        && let Some((_, code)) = cache.arenas.at(registers.rip)
        && let Some((id, _)) = code.last_counter(registers.rip, Unit::Execution)
    {
        code.windows().set(thread.lane, id as usize, value as i64);
    }
}

fn in_fragment(slots: &Slots, registers: Original, mark: Mark) -> Option<Found> {
    let [a, b, c, p, t, l] = slots.scratch;
    let mut original = Original { rip: mark.pc, ..registers };
    if matches!(mark.undo, Undo::Stamp | Undo::StampFlags) {
        [original.gpr[RAX], original.gpr[RCX], original.gpr[RDX]] = slots.stamping;
    }
    let gpr = &mut original.gpr;
    match mark.undo {
        Undo::Nothing
        | Undo::Counted
        | Undo::Repeat
        | Undo::Spared
        | Undo::Lanes
        | Undo::Fallen
        | Undo::Left
        | Undo::Streamed
        | Undo::Stamp => {}
        Undo::FallenRax
        | Undo::LeftRax
        | Undo::Rax
        | Undo::CountedRax
        | Undo::RepeatRax
        | Undo::SparedRax
        | Undo::LanesRax => gpr[RAX] = c,
        Undo::Flags
        | Undo::FallenFlags
        | Undo::CountedFlags
        | Undo::RepeatFlags
        | Undo::SparedFlags
        | Undo::LanesFlags
        | Undo::StampFlags => {
            original.flags_from_ax();
            original.gpr[RAX] = c;
        }
        Undo::Return => {
            original.rip = gpr[RSI];
            gpr[RSI] = a;
            gpr[RCX] = b;
            gpr[RSP] = gpr[RSP].wrapping_add(bytes_to_drop(registers.rip));
        }
        Undo::CallR11 => gpr[R11] = a,
        Undo::Jump => {
            original.rip = gpr[R11];
            gpr[R11] = a;
            gpr[RCX] = b;
        }
        Undo::NumberInRcx => gpr[RAX] = gpr[RCX],
        Undo::NumberInR11 => gpr[RAX] = gpr[R11],
        Undo::RaxAndRdx => {
            if let Spilled::Two(rax, rdx) = mark.spilled {
                let of =
                    |register: Gpr| registers.gpr.get(usize::from(register.0)).copied().unwrap_or_default();
                [gpr[RAX], gpr[RDX]] = [of(rax), of(rdx)];
            }
        }
    }
    let spilled = match mark.spilled {
        Spilled::None => [None, None],
        Spilled::One(address) => [None, Some((address, t))],
        Spilled::Two(position, address) => [Some((position, p)), Some((address, t))],
    };
    let counting = mark.counting.map(|register| (register, l));
    for (register, value) in spilled.into_iter().flatten().chain(counting) {
        if let Some(place) = original.gpr.get_mut(usize::from(register.0)) {
            *place = value;
        }
    }
    Some(Found { original, place: Place::Fragment(registers.rip) })
}

/// How many bytes of arguments a return still has to drop, at this address after its `pop`.
fn bytes_to_drop(at: u64) -> u64 {
    // lea rsp, [rsp+imm32]
    const LEA_RSP: [u8; 4] = [0x48, 0x8d, 0xa4, 0x24];
    let code = ptr::with_exposed_provenance::<[u8; 8]>(at as usize);
    // SAFETY: code in the cache, followed by a jump.
    let [o, p, q, r, bytes @ ..] = unsafe { code.read_unaligned() };
    if [o, p, q, r] == LEA_RSP { u64::from(u32::from_le_bytes(bytes)) } else { 0 }
}

fn in_passage(thread: &mut Thread, registers: Original) -> Option<Found> {
    let mut slots = *thread.slots();
    let mut original = registers;
    match passage::finish(&mut original, &mut slots)? {
        End::Dispatcher => {
            original.gpr = slots.regs;
            at_exit(thread, &slots, original)
        }
        End::Next => {
            original.rip = slots.pc;
            let native = slots.next == slots.pc;
            let place = if native { left_at(&slots) } else { Place::Fragment(slots.next) };
            Some(Found { original, place })
        }
        End::Resume => {
            original.rip = slots.resume_pc;
            Some(Found { original, place: Place::Fragment(slots.resume) })
        }
    }
}

/// The exit with its record at an address that code names.
pub fn exit_at(record: u64) -> Exit {
    let record = ptr::with_exposed_provenance::<Exit>(record as usize);
    // SAFETY: exits that code names are made together with it, and never change.
    unsafe { record.read_unaligned() }
}

/// The place of a thread that is about to continue natively at `slots.pc`.
fn left_at(slots: &Slots) -> Place {
    let exit = exit_at(slots.exit);
    match exit.reason {
        Reason::Instruction if exit.pc == slots.pc => Place::Fragment(exit.detail),
        _ => Place::Between,
    }
}

/// A thread on its way to the dispatcher, which has not begun.
fn at_exit(thread: &Thread, slots: &Slots, registers: Original) -> Option<Found> {
    let exit = exit_at(slots.exit);
    let (pc, place) = match exit.reason {
        Reason::Link | Reason::Full | Reason::Switch => (exit.pc, Place::Between),
        Reason::Sample => (exit.pc, Place::Counted(exit.detail, slots.exit)),
        Reason::Hook => (exit.pc, Place::Fragment(exit.back - HOOK_BYTES)),
        Reason::SystemCall => (exit.pc, Place::Fragment(exit.back)),
        Reason::Instruction => (exit.pc, Place::Fragment(exit.detail)),
        Reason::Return | Reason::Call | Reason::Jump | Reason::Enter => (slots.target, Place::Between),
        Reason::Back => {
            let at = slots.regs[RSP].wrapping_sub(8);
            let call = thread.native_calls.iter().rev().find(|call| call.at == at)?;
            (call.back, Place::Between)
        }
    };
    Some(Found { original: Original { rip: pc, ..registers }, place })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CF, PF, AF, ZF, SF are bits 0, 2, 4, 6 and 7 of AH; OF is AL, and bit 11 of the flags.
    #[test]
    fn flags_come_back_from_ax() {
        let mut registers = Original { gpr: [0; 16], rip: 0, rflags: 0x202 };
        registers.gpr[RAX] = 0xd701;
        registers.flags_from_ax();
        assert_eq!(registers.rflags, 0x202 | 0xd5 | 0x800);
        registers.gpr[RAX] = 0x427f;
        registers.flags_from_ax();
        assert_eq!(registers.rflags, 0x202 | 0x40);
    }

    #[test]
    fn a_context_keeps_what_is_put_into_it() {
        // SAFETY: plain data.
        let mut context: ucontext_t = unsafe { std::mem::zeroed() };
        let original = Original { gpr: std::array::from_fn(|n| n as u64 + 1), rip: 100, rflags: 200 };
        original.put(&mut context);
        assert_eq!(Original::of(&context), original);
        let rip = (&raw const context).cast::<u8>().wrapping_add(RIP_OFFSET as usize).cast::<u64>();
        // SAFETY: within the context.
        assert_eq!(unsafe { rip.read() }, 100);
    }
}
