//! A program that sets the trap flag steps through its own instructions, not through those of the cache: it continues
//! natively until it clears the flag.
//!
//! In the cache a `nop` follows each instruction that may set the flag. The first trap comes after that `nop`, so no
//! step of the program is lost or added when the thread continues natively there.

use libc::{REG_EFL, ucontext_t};

use super::{
    frame::Frame,
    own::{OwnSignals, own},
};

/// The trap flag (Intel SDM, volume 1, 3.4.3.3).
pub const TRAP: u64 = 1 << 8;

/// `si_code` of a trap behind one instruction (Linux, include/uapi/asm-generic/siginfo.h).
const TRAP_TRACE: i32 = 2;

/// Whether the thread is stepping when it continues with `context`.
pub fn continues_in(context: &ucontext_t) -> bool {
    context.uc_mcontext.gregs.get(REG_EFL as usize).is_some_and(|&flags| flags as u64 & TRAP != 0)
}

/// A signal of the program has arrived while the embedder was stepping the thread: hides that from its handler and
/// from the code to which it returns.
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
