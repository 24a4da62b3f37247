//! A program that sets the trap flag steps through its own instructions, not through those of the cache: it goes on
//! natively until it clears the flag.
//!
//! In the cache a `nop` stands behind each instruction that may set the flag. The first trap comes behind that `nop`, so
//! that no step of the program's is lost and none is added when the thread goes on natively there.

use libc::{REG_EFL, ucontext_t};

use super::{
    frame::Frame,
    own::{OwnSignals, own},
};

/// The trap flag (Intel SDM, volume 1, 3.4.3.3).
pub const TRAP: u64 = 1 << 8;

/// `si_code` of a trap behind one instruction (Linux, include/uapi/asm-generic/siginfo.h).
const TRAP_TRACE: i32 = 2;

/// Whether the thread steps when it goes on with `context`.
pub fn continues_in(context: &ucontext_t) -> bool {
    context.uc_mcontext.gregs.get(REG_EFL as usize).is_some_and(|&flags| flags as u64 & TRAP != 0)
}

/// A signal of the program's has come while the embedder stepped the thread: its handler, and what it returns to, know
/// nothing of that.
pub fn end_embedders(context: &mut ucontext_t) {
    if own().is_some_and(OwnSignals::end_steps)
        && let Some(flags) = context.uc_mcontext.gregs.get_mut(REG_EFL as usize)
    {
        *flags &= !(TRAP as i64);
    }
}

/// Whether the kernel has made `frame` because the trap flag was set.
pub fn caused(signal: u64, frame: Frame, context: &ucontext_t) -> bool {
    let info = std::ptr::with_exposed_provenance::<libc::siginfo_t>(frame.info() as usize);
    // SAFETY: part of the kernel's frame.
    signal == libc::SIGTRAP as u64 && unsafe { (*info).si_code } == TRAP_TRACE && continues_in(context)
}
