//! SIGTRAP is ours with the kernel; the program keeps the illusion that it is its own.

use std::{
    arch::naked_asm,
    ffi::c_void,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

use carom_base_sys::{SysError, signal};

use super::next::{Next, next};
use crate::{
    handler::{self, ProgramAction},
    registry, session, translated,
};

next!(SIGACTION, c"sigaction", __real_sigaction,
    fn next_sigaction(
        signal: libc::c_int,
        new: *const libc::sigaction,
        old: *mut libc::sigaction
    ) -> libc::c_int);
next!(SIGNAL, c"signal", __real_signal,
    fn next_signal(signal: libc::c_int, handler: libc::sighandler_t) -> libc::sighandler_t);
next!(SIGPROCMASK, c"sigprocmask", __real_sigprocmask,
    fn next_sigprocmask(
        how: libc::c_int,
        new: *const libc::sigset_t,
        old: *mut libc::sigset_t
    ) -> libc::c_int);
next!(PTHREAD_SIGMASK, c"pthread_sigmask", __real_pthread_sigmask,
    fn next_pthread_sigmask(
        how: libc::c_int,
        new: *const libc::sigset_t,
        old: *mut libc::sigset_t
    ) -> libc::c_int);

/// The C library's sigaction, for ourselves.
///
/// # Errors
/// As sigaction(2).
pub fn real_sigaction(
    signal: libc::c_int,
    new: Option<&libc::sigaction>,
) -> Result<libc::sigaction, SysError> {
    // SAFETY: all zeroes is a valid place for the answer.
    let mut old: libc::sigaction = unsafe { std::mem::zeroed() };
    let new = new.map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: valid pointers or null.
    if unsafe { next_sigaction(signal, new, &raw mut old) } < 0 {
        return Err(SysError::last("sigaction"));
    }
    Ok(old)
}

fn kernel_mask(set: &libc::sigset_t) -> signal::Mask {
    // SAFETY: a `sigset_t` begins with the kernel's 8 bytes.
    unsafe { std::ptr::from_ref(set).cast::<signal::Mask>().read() }
}

/// A kernel mask as the C library has it.
pub fn library_set(mask: signal::Mask) -> libc::sigset_t {
    // SAFETY: all zeroes is a valid `sigset_t`.
    let mut set: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: a `sigset_t` begins with the kernel's 8 bytes.
    unsafe { (&raw mut set).cast::<signal::Mask>().write(mask) };
    set
}

const TRAP: signal::Mask = signal::bit(libc::SIGTRAP);

/// Signals during whose handlers the program wants SIGTRAP blocked, by bit.
static TRAP_IN_MASK: AtomicU64 = AtomicU64::new(0);

/// Where a hook goes on.
#[repr(C)]
struct Way {
    function: *const c_void,
    /// 1 where the function is to run from the code cache, which then sees to the program's handlers; else 0.
    in_cache: u64,
}

/// SIGTRAP is kept from the program; what else it wants is the C library's and, in the cache, the translator's business.
fn way(number: libc::c_int, ours: *const c_void, library: &Next) -> Way {
    let in_cache = number != libc::SIGTRAP && carom_collect_translate::is_attached();
    Way { function: if in_cache { library.address() } else { ours }, in_cache: u64::from(in_cache) }
}

/// Declares the hook `$name` with up to three arguments, which goes the way that `$choose` tells.
macro_rules! choosing_hook {
    ($name:ident, $wrap:literal, $choose:ident) => {
        /// # Safety
        /// As the C function of this name.
        #[cfg_attr(feature = "static-link", unsafe(export_name = $wrap))]
        #[cfg_attr(not(feature = "static-link"), unsafe(no_mangle))]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            naked_asm!(
                "push rdi",
                "push rsi",
                "push rdx",
                "call {choose}",
                "mov rcx, rdx",
                "pop rdx",
                "pop rsi",
                "pop rdi",
                "test rcx, rcx",
                "jnz {enter}",
                "jmp rax",
                choose = sym $choose,
                enter = sym carom_collect_translate::enter,
            )
        }
    };
}

choosing_hook!(sigaction, "__wrap_sigaction", choose_sigaction);
choosing_hook!(signal, "__wrap_signal", choose_signal);

extern "C" fn choose_sigaction(number: libc::c_int) -> Way {
    way(number, change_action as *const c_void, &SIGACTION)
}

extern "C" fn choose_signal(number: libc::c_int) -> Way {
    way(number, change_handler as *const c_void, &SIGNAL)
}

/// # Safety
/// As sigaction(2).
unsafe extern "C" fn change_action(
    number: libc::c_int,
    new: *const libc::sigaction,
    old: *mut libc::sigaction,
) -> libc::c_int {
    if session::current().is_none() {
        // SAFETY: the caller's arguments.
        return unsafe { next_sigaction(number, new, old) };
    }
    // SAFETY: the caller's pointer is valid or null.
    let wish = unsafe { new.as_ref() };
    if number == libc::SIGTRAP {
        let before = handler::program_action();
        if let Some(wish) = wish {
            let mask = kernel_mask(&wish.sa_mask);
            handler::set_program_action(ProgramAction {
                handler: wish.sa_sigaction,
                flags: wish.sa_flags,
                mask,
            });
        }
        // SAFETY: the caller's pointer is valid or null.
        if let Some(old) = unsafe { old.as_mut() } {
            old.sa_sigaction = before.handler;
            old.sa_flags = before.flags;
            old.sa_mask = library_set(before.mask);
        }
        return 0;
    }
    // A handler of the program may run in the middle of a burst: it must not block our steps.
    let cleared = wish.map(|wish| {
        let mut wish = *wish;
        wish.sa_mask = library_set(kernel_mask(&wish.sa_mask) & !TRAP);
        wish
    });
    // SAFETY: all zeroes is a valid place for the answer.
    let mut told: libc::sigaction = unsafe { std::mem::zeroed() };
    let cleared = cleared.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: our copy or null, and our own place.
    let result = unsafe { next_sigaction(number, cleared, &raw mut told) };
    if result == 0
        && let Some(before) = translated::action_changed(number, told.sa_sigaction)
    {
        told.sa_sigaction = before.handler as usize;
        told.sa_flags = before.flags as libc::c_int;
        told.sa_mask = library_set(before.mask);
    }
    // SAFETY: the caller's pointer is valid or null.
    let mut old = unsafe { old.as_mut() };
    if result == 0
        && let Some(old) = &mut old
    {
        **old = told;
    }
    if result == 0 && (1..=signal::Mask::BITS as i32).contains(&number) {
        let bit = signal::bit(number);
        let before = match wish {
            Some(wish) if kernel_mask(&wish.sa_mask) & TRAP != 0 => TRAP_IN_MASK.fetch_or(bit, Relaxed),
            Some(_) => TRAP_IN_MASK.fetch_and(!bit, Relaxed),
            None => TRAP_IN_MASK.load(Relaxed),
        };
        if let Some(old) = old
            && before & bit != 0
        {
            old.sa_mask = library_set(kernel_mask(&old.sa_mask) | TRAP);
        }
    }
    result
}

/// # Safety
/// As signal(2).
unsafe extern "C" fn change_handler(number: libc::c_int, new: libc::sighandler_t) -> libc::sighandler_t {
    if number != libc::SIGTRAP || session::current().is_none() {
        // SAFETY: the caller's arguments.
        let told = unsafe { next_signal(number, new) };
        let before = translated::action_changed(number, told).filter(|_| told != libc::SIG_ERR);
        return before.map_or(told, |before| before.handler as usize);
    }
    let before = handler::program_action().handler;
    handler::set_program_action(ProgramAction { handler: new, flags: libc::SA_RESTART, mask: 0 });
    before
}

/// The new mask as the kernel may have it, and what the program is to believe about SIGTRAP afterwards.
fn shown_and_hidden(
    how: libc::c_int,
    wish: signal::Mask,
    hidden: signal::Mask,
) -> (signal::Mask, signal::Mask) {
    let hidden = match how {
        libc::SIG_BLOCK => hidden | wish & TRAP,
        libc::SIG_UNBLOCK => hidden & !wish,
        _ => wish & TRAP,
    };
    // Unblocking SIGTRAP in the kernel as well heals a mask that was set behind our back.
    (if how == libc::SIG_UNBLOCK { wish } else { wish & !TRAP }, hidden)
}

/// # Safety
/// `new` and `old` as for sigprocmask(2); `set` is that function.
unsafe fn change_mask(
    how: libc::c_int,
    new: *const libc::sigset_t,
    old: *mut libc::sigset_t,
    set: unsafe fn(libc::c_int, *const libc::sigset_t, *mut libc::sigset_t) -> libc::c_int,
) -> libc::c_int {
    let thread = session::current().and_then(|_| registry::current());
    let Some(thread) = thread else {
        // SAFETY: the caller's arguments.
        return unsafe { set(how, new, old) };
    };
    // SAFETY: the caller's pointer is valid or null.
    let wish = unsafe { new.as_ref() }.map(kernel_mask);
    let before = thread.visit(|state| state.hidden_mask).unwrap_or(0);
    let changed = wish.map(|wish| shown_and_hidden(how, wish, before));
    let shown = changed.map(|(shown, _)| library_set(shown));
    // Before the kernel's mask: a SIGTRAP that was held back comes as soon as that one changes.
    if let Some((_, hidden)) = changed {
        thread.visit(|state| state.hidden_mask = hidden);
    }
    // SAFETY: our copy or null, and the caller's place.
    let result = unsafe { set(how, shown.as_ref().map_or(std::ptr::null(), std::ptr::from_ref), old) };
    if result != 0 {
        thread.visit(|state| state.hidden_mask = before);
        return result;
    }
    // SAFETY: the caller's pointer is valid or null.
    if let Some(old) = unsafe { old.as_mut() } {
        *old = library_set(kernel_mask(old) | before);
    }
    result
}

/// # Safety
/// As sigprocmask(2).
#[cfg_attr(feature = "static-link", unsafe(export_name = "__wrap_sigprocmask"))]
#[cfg_attr(not(feature = "static-link"), unsafe(no_mangle))]
pub unsafe extern "C" fn sigprocmask(
    how: libc::c_int,
    new: *const libc::sigset_t,
    old: *mut libc::sigset_t,
) -> libc::c_int {
    // SAFETY: the caller's arguments.
    unsafe { change_mask(how, new, old, next_sigprocmask) }
}

/// # Safety
/// As pthread_sigmask(3).
#[cfg_attr(feature = "static-link", unsafe(export_name = "__wrap_pthread_sigmask"))]
#[cfg_attr(not(feature = "static-link"), unsafe(no_mangle))]
pub unsafe extern "C" fn pthread_sigmask(
    how: libc::c_int,
    new: *const libc::sigset_t,
    old: *mut libc::sigset_t,
) -> libc::c_int {
    // SAFETY: the caller's arguments.
    unsafe { change_mask(how, new, old, next_pthread_sigmask) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_never_blocks_our_signal() {
        let other = signal::bit(libc::SIGINT);
        for how in [libc::SIG_BLOCK, libc::SIG_SETMASK] {
            assert_eq!(shown_and_hidden(how, TRAP | other, 0), (other, TRAP));
        }
        assert_eq!(shown_and_hidden(libc::SIG_UNBLOCK, TRAP | other, TRAP), (TRAP | other, 0));
        assert_eq!(shown_and_hidden(libc::SIG_UNBLOCK, other, TRAP), (other, TRAP));
        assert_eq!(shown_and_hidden(libc::SIG_BLOCK, other, TRAP), (other, TRAP));
        assert_eq!(shown_and_hidden(libc::SIG_SETMASK, other, TRAP), (other, 0));
    }
}
