//! The system calls for signals.

use libc::ucontext_t;

use super::own::Stack;
use crate::memory::{Errno, call, program::Plain};

/// Bytes of a kernel's signal set.
pub const SET_BYTES: u64 = 8;

/// `struct sigaction` in the kernel's layout.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Action {
    /// `SIG_DFL`, `SIG_IGN` or a function.
    pub handler: u64,
    /// `SA_*`.
    pub flags: u64,
    /// The handler's return address.
    pub restorer: u64,
    /// Blocked meanwhile.
    pub mask: u64,
}

/// Sets an action, or only reads it. Returns the one before.
///
/// # Errors
/// The kernel's error number.
///
/// # Safety
/// The kernel may call a handler that is set.
pub unsafe fn rt_sigaction(signal: u64, new: Option<&Action>) -> Result<Action, Errno> {
    let mut old = Action::default();
    let new = new.map_or(0, |new| std::ptr::from_ref(new) as u64);
    // SAFETY: valid pointers; the caller's promise.
    unsafe { call(libc::SYS_rt_sigaction, [signal, new, (&raw mut old) as u64, SET_BYTES, 0, 0]) }
        .map(|_| old)
}

/// Sets the calling thread's mask.
pub fn set_mask(mask: u64) {
    let place = (&raw const mask) as u64;
    // SAFETY: a valid set.
    let _ = unsafe { call(libc::SYS_rt_sigprocmask, [libc::SIG_SETMASK as u64, place, 0, SET_BYTES, 0, 0]) };
}

/// Calls `work` with all signals blocked.
pub fn undisturbed<R>(work: impl FnOnce() -> R) -> R {
    let (every, mut before) = (u64::MAX, 0u64);
    let [every, place] = [(&raw const every) as u64, (&raw mut before) as u64];
    // SAFETY: valid sets.
    let _ =
        unsafe { call(libc::SYS_rt_sigprocmask, [libc::SIG_SETMASK as u64, every, place, SET_BYTES, 0, 0]) };
    let result = work();
    set_mask(before);
    result
}

/// Sets the calling thread's alternate stack.
///
/// # Errors
/// The kernel's error number.
///
/// # Safety
/// Handlers may use that memory.
pub unsafe fn sigaltstack(stack: &Stack) -> Result<(), Errno> {
    let place = std::ptr::from_ref(stack) as u64;
    // SAFETY: a valid pointer; the caller's promise.
    unsafe { call(libc::SYS_sigaltstack, [place, 0, 0, 0, 0, 0]) }.map(|_| ())
}

/// The calling thread's alternate stack.
pub fn alternate_stack() -> Stack {
    let mut stack = Stack::NONE;
    // SAFETY: a valid place.
    let _ = unsafe { call(libc::SYS_sigaltstack, [0, (&raw mut stack) as u64, 0, 0, 0, 0]) };
    stack
}

/// Ends the process by `signal`, now.
pub fn die_of(signal: u64) -> ! {
    // SAFETY: no function.
    let _ = unsafe { rt_sigaction(signal, Some(&Action::default())) };
    // SAFETY: no arguments.
    let process = unsafe { call(libc::SYS_getpid, [0; 6]) };
    // SAFETY: no arguments.
    let thread = unsafe { call(libc::SYS_gettid, [0; 6]) };
    if let (Ok(process), Ok(thread)) = (process, thread) {
        // SAFETY: to the calling thread.
        let _ = unsafe { call(libc::SYS_tgkill, [process, thread, signal, 0, 0, 0]) };
    }
    loop {
        set_mask(!super::set::bit(signal));
    }
}

/// The vector registers in a frame of the kernel (Linux, arch/x86/include/uapi/asm/sigcontext.h: `_fpx_sw_bytes`),
/// and the word behind them, without which the kernel would restore only a part.
pub fn extended_state<'a>(context: &ucontext_t) -> &'a [u8] {
    const LEGACY_BYTES: usize = 512;
    const MAGIC: u32 = 0x4650_5853;
    const MAGIC_OFFSET: usize = 464;
    const SIZE_OFFSET: usize = 468;
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

impl Plain for Action {}
