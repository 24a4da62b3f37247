//! The two system calls that signal handling cannot do without, and access to the program's memory that cannot fault,
//! made of the second one: a program that forbids itself most system calls (seccomp) allows these.

use crate::memory::{Errno, call};

/// Bytes of a kernel's signal set.
pub const SET_BYTES: u64 = 8;

/// `struct sigaction` as the kernel has it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Action {
    /// `SIG_DFL`, `SIG_IGN` or a function.
    pub handler: u64,
    /// `SA_*`.
    pub flags: u64,
    /// Where the handler returns to.
    pub restorer: u64,
    /// Blocked meanwhile.
    pub mask: u64,
}

/// Sets an action, or only tells it. Returns the one before.
///
/// # Errors
/// The kernel's error number.
///
/// # Safety
/// A handler to be set is one for the kernel to call.
pub unsafe fn rt_sigaction(signal: u64, new: Option<&Action>) -> Result<Action, Errno> {
    let mut old = Action::default();
    let new = new.map_or(0, |new| std::ptr::from_ref(new) as u64);
    // SAFETY: valid pointers; the caller's promise.
    unsafe { call(libc::SYS_rt_sigaction, [signal, new, (&raw mut old) as u64, SET_BYTES, 0, 0]) }
        .map(|_| old)
}

/// Whether 8 bytes at `place` can be read. All signals must be blocked: blocking more then changes nothing.
fn is_readable(place: u64) -> bool {
    // SAFETY: the kernel checks the pointer.
    unsafe { call(libc::SYS_rt_sigprocmask, [libc::SIG_BLOCK as u64, place, 0, SET_BYTES, 0, 0]) }.is_ok()
}

/// Whether 8 bytes at `place` can be written; then they are. All signals must be blocked.
fn is_writable(place: u64) -> bool {
    // SAFETY: the kernel checks the pointer; the caller overwrites what it writes.
    unsafe { call(libc::SYS_rt_sigprocmask, [libc::SIG_BLOCK as u64, 0, place, SET_BYTES, 0, 0]) }.is_ok()
}

/// The last of the 8-byte words in a `T` at `place`. A `T` is smaller than a page, so that the first word and this
/// one tell whether all of it is accessible.
fn last_word<T>(place: u64) -> u64 {
    place.wrapping_add((size_of::<T>() as u64).saturating_sub(8))
}

/// What the program has at `place`; `None` where nothing can be read. All signals must be blocked.
pub fn read<T: Plain>(place: u64) -> Option<T> {
    let readable = place != 0 && is_readable(place) && is_readable(last_word::<T>(place));
    // SAFETY: readable a moment ago, and any bytes are a `T`.
    readable.then(|| unsafe { std::ptr::with_exposed_provenance::<T>(place as usize).read_unaligned() })
}

/// Gives the program a value. False where nothing can be written. All signals must be blocked.
pub fn write<T: Plain>(place: u64, value: T) -> bool {
    let writable = place != 0 && is_writable(place) && is_writable(last_word::<T>(place));
    if writable {
        // SAFETY: writable a moment ago; the program asked for it.
        unsafe { std::ptr::with_exposed_provenance_mut::<T>(place as usize).write_unaligned(value) };
    }
    writable
}

/// Types of 8-byte words, any value of which is valid.
pub trait Plain: Copy {}
impl Plain for u64 {}
impl Plain for Action {}
