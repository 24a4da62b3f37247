//! The signal mask: the kernel does not block SIGTRAP while the program believes that it is blocked.

use carom_base_sys::signal;

use super::{super::next::next, TRAP, is_kept, kernel_mask, library_set, way::choosing_hook};
use crate::registry;

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

choosing_hook!(sigprocmask, "__wrap_sigprocmask", choose_sigprocmask, change_process_mask, SIGPROCMASK);
choosing_hook!(
    pthread_sigmask,
    "__wrap_pthread_sigmask",
    choose_pthread_sigmask,
    change_thread_mask,
    PTHREAD_SIGMASK
);

/// # Safety
/// As sigprocmask(2).
pub unsafe extern "C" fn change_process_mask(
    how: libc::c_int,
    new: *const libc::sigset_t,
    old: *mut libc::sigset_t,
) -> libc::c_int {
    // SAFETY: the caller's arguments.
    unsafe { change_mask(how, new, old, next_sigprocmask) }
}

/// # Safety
/// As pthread_sigmask(3).
unsafe extern "C" fn change_thread_mask(
    how: libc::c_int,
    new: *const libc::sigset_t,
    old: *mut libc::sigset_t,
) -> libc::c_int {
    // SAFETY: the caller's arguments.
    unsafe { change_mask(how, new, old, next_pthread_sigmask) }
}

/// The new mask for the kernel, and whether the program believes that SIGTRAP is blocked.
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
    let Some(thread) = is_kept().then(registry::current).flatten() else {
        // SAFETY: the caller's arguments.
        return unsafe { set(how, new, old) };
    };
    let own = thread.signals();
    // SAFETY: the caller's pointer is valid or null.
    let wish = unsafe { new.as_ref() }.map(kernel_mask);
    let before = own.hidden();
    let changed = wish.map(|wish| shown_and_hidden(how, wish, before));
    let shown = changed.map(|(shown, _)| library_set(shown));
    // Before the kernel's mask: a SIGTRAP that was held back comes as soon as that one changes.
    if let Some((_, hidden)) = changed {
        own.set_hidden(hidden);
    }
    // SAFETY: our copy or null, and the caller's place.
    let result = unsafe { set(how, shown.as_ref().map_or(std::ptr::null(), std::ptr::from_ref), old) };
    if result != 0 {
        own.set_hidden(before);
        return result;
    }
    // SAFETY: the caller's pointer is valid or null.
    if let Some(old) = unsafe { old.as_mut() } {
        *old = library_set(kernel_mask(old) | before);
    }
    result
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
