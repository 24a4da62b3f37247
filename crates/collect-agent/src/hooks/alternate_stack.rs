//! The program's alternate stack goes to the kernel; while it has none, or a very small one, ours is there.

use super::next::next;
use crate::{registry, session, thread::Thread};

next!(SIGALTSTACK, c"sigaltstack", __real_sigaltstack,
    fn next_sigaltstack(new: *const libc::stack_t, old: *mut libc::stack_t) -> libc::c_int);

/// Smaller ones are refused by every kernel (`MINSIGSTKSZ`).
const LEAST_BYTES: usize = 2048;

/// From `linux/auxvec.h`: what a signal frame takes with the state of this processor.
const AT_MINSIGSTKSZ: libc::c_ulong = 51;

/// With AVX-512 state a frame takes 3.3 KiB.
const ASSUMED_FRAME_BYTES: usize = 3584;

/// What a handler of the program may use besides the signal frames.
const HANDLER_BYTES: usize = 4096;

/// A program may set a stack on which no signal frame of this processor fits, and be well as long as no signal
/// comes. Ours would; so the kernel keeps our stack where theirs has no room for a frame of theirs, one of ours and
/// a handler. Handlers of the program then run on our stack, too.
fn is_small(stack: &libc::stack_t) -> bool {
    // SAFETY: integer argument only.
    let frame = unsafe { libc::getauxval(AT_MINSIGSTKSZ) };
    // 0 before Linux 5.14.
    let frame = usize::try_from(frame).unwrap_or(0).max(ASSUMED_FRAME_BYTES);
    stack.ss_flags & libc::SS_DISABLE == 0
        && (LEAST_BYTES..2 * frame + HANDLER_BYTES).contains(&stack.ss_size)
}

/// What the program is to see in place of the kernel's answer, which is about our stack; `None`: the kernel's answer.
fn seen(thread: &Thread, before: Option<libc::stack_t>) -> Option<libc::stack_t> {
    let here = 0u8;
    match before {
        None => Some(libc::stack_t { ss_sp: std::ptr::null_mut(), ss_flags: libc::SS_DISABLE, ss_size: 0 }),
        Some(stack) if is_small(&stack) => {
            let on_ours = thread.handler_stack().holds((&raw const here).addr() as u64);
            Some(libc::stack_t { ss_flags: if on_ours { libc::SS_ONSTACK } else { 0 }, ..stack })
        }
        Some(_) => None,
    }
}

/// # Safety
/// As sigaltstack(2).
#[cfg_attr(feature = "static-link", unsafe(export_name = "__wrap_sigaltstack"))]
#[cfg_attr(not(feature = "static-link"), unsafe(no_mangle))]
pub unsafe extern "C" fn sigaltstack(new: *const libc::stack_t, old: *mut libc::stack_t) -> libc::c_int {
    let thread = session::current().and_then(|_| registry::current());
    let Some(thread) = thread else {
        // SAFETY: the caller's arguments.
        return unsafe { next_sigaltstack(new, old) };
    };
    // Copied, for `old` may be the same place.
    // SAFETY: the caller's pointer is valid or null.
    let wish = unsafe { new.as_ref() }.copied();
    let before = thread.visit(|state| state.program_stack).flatten();
    let small = wish.is_some_and(|wish| is_small(&wish));
    // SAFETY: the caller's arguments.
    let result = unsafe { next_sigaltstack(if small { std::ptr::null() } else { new }, old) };
    // The kernel refuses to change the stack that it runs on, ours or theirs.
    if result != 0 || small && !thread.handler_stack().lend() {
        return -1;
    }
    // SAFETY: the caller's pointer is valid or null.
    if let Some(old) = unsafe { old.as_mut() }
        && let Some(seen) = seen(thread, before)
    {
        *old = seen;
    }
    if let Some(wish) = wish {
        let disabled = wish.ss_flags & libc::SS_DISABLE != 0;
        let stack = libc::stack_t { ss_flags: wish.ss_flags & !libc::SS_ONSTACK, ..wish };
        thread.visit(|state| state.program_stack = (!disabled).then_some(stack));
        if disabled {
            thread.handler_stack().lend();
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_is_what_has_no_room_for_two_frames() {
        let stack =
            |bytes, flags| libc::stack_t { ss_sp: std::ptr::null_mut(), ss_flags: flags, ss_size: bytes };
        // The kernel says ENOMEM to less than 2048; a frame takes 2 KiB to 11 KiB, by processor.
        assert!(!is_small(&stack(LEAST_BYTES - 1, 0)));
        assert!(is_small(&stack(LEAST_BYTES, 0)));
        assert!(!is_small(&stack(LEAST_BYTES, libc::SS_DISABLE)));
        assert!(!is_small(&stack(64 << 10, 0)));
    }
}
