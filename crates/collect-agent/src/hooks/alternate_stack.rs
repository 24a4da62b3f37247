//! The alternate stack that the kernel knows is ours, with room for our handler. The agent remembers the stack that the
//! program has set, and starts its handlers there.

use carom_collect_translate::{Stack, stack_in_force};

use super::{next::next, signals::fails};
use crate::hooks::signals::{choosing_hook, has_inherited, is_kept};

next!(SIGALTSTACK, c"sigaltstack", __real_sigaltstack,
    fn next_sigaltstack(new: *const libc::stack_t, old: *mut libc::stack_t) -> libc::c_int);

choosing_hook!(sigaltstack, "__wrap_sigaltstack", choose_sigaltstack, change, SIGALTSTACK);

/// # Safety
/// As sigaltstack(2).
unsafe extern "C" fn change(new: *const libc::stack_t, old: *mut libc::stack_t) -> libc::c_int {
    let here = 0u8;
    let sp = (&raw const here).addr() as u64;
    let done = is_kept().then(|| {
        carom_collect_translate::change_stack(
            new.expose_provenance() as u64,
            old.expose_provenance() as u64,
            sp,
        )
    });
    match done.flatten() {
        Some(Ok(())) => 0,
        Some(Err(errno)) => fails(errno),
        None => change_natively(new, old),
    }
}

fn change_natively(new: *const libc::stack_t, old: *mut libc::stack_t) -> libc::c_int {
    // SAFETY: the caller's arguments.
    let result = unsafe { next_sigaltstack(new, old) };
    // SAFETY: the caller's pointer is valid or null.
    if let Some(old) = unsafe { old.cast::<Stack>().as_mut() }.filter(|_| result == 0 && has_inherited()) {
        *old = stack_in_force(*old);
    }
    result
}
