//! Getting into the handler and onto a stack of ours.

use std::arch::naked_asm;

use carom_base_sys::{SysError, signal};

use super::{foreign, handle};
use crate::{context::Context, registry};

/// Installs the handler for SIGTRAP and returns what was there before.
///
/// # Errors
/// As sigaction(2).
pub fn install() -> Result<libc::sigaction, SysError> {
    // SAFETY: all zeroes is a valid `sigaction`.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = handler_address();
    // SA_RESTART: the program does not expect its calls to be interrupted.
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
    // Every signal waits until the handler is done, also the two that `sigfillset` leaves out: the C library cancels
    // threads with one of them, and would unwind them out of the handler.
    action.sa_mask = crate::hooks::library_set(signal::Mask::MAX);
    crate::hooks::real_sigaction(libc::SIGTRAP, Some(&action))
}

/// The handler, as a `sighandler_t`.
fn handler_address() -> libc::sighandler_t {
    on_sigtrap as *const () as libc::sighandler_t
}

/// What `on_sigtrap` passes across the change of stacks.
struct Arguments {
    info: *const libc::siginfo_t,
    ucontext: *mut libc::c_void,
}

extern "C" fn on_sigtrap(_signal: libc::c_int, info: *mut libc::siginfo_t, ucontext: *mut libc::c_void) {
    let arguments = Arguments { info, ucontext };
    // Where the program has an alternate stack of its own, the kernel's frame lies there; the rest of the
    // handler goes to ours, because theirs may be as small as 2 KiB.
    let here = (&raw const arguments).addr() as u64;
    match registry::current().map(|thread| (thread, thread.handler_stack(here))) {
        Some((thread, (top, false))) => {
            // SAFETY: the kernel's argument, used before anybody else has it.
            let interrupted = unsafe { Context::new(ucontext) }.sp();
            // A SIGTRAP handler of the program was running there.
            let nested = thread.handler_stack(interrupted).1;
            let top = if nested { (interrupted - RED_ZONE_BYTES) & !(STACK_ALIGNMENT - 1) } else { top };
            // SAFETY: the thread's own handler stack, below what is in use of it.
            unsafe { call_on(top, run, (&raw const arguments).cast_mut().cast()) };
        }
        _ => run((&raw const arguments).cast_mut().cast()),
    }
}

/// What a function may use below its stack pointer, and how that is aligned at a call (x86-64 ABI).
const RED_ZONE_BYTES: u64 = 128;
const STACK_ALIGNMENT: u64 = 16;

extern "C" fn run(arguments: *mut libc::c_void) {
    // SAFETY: the `Arguments` of `on_sigtrap`, which waits for us.
    let Arguments { info, ucontext } = *unsafe { &*arguments.cast_const().cast::<Arguments>() };
    let errno = signal::errno();
    // SAFETY: the kernel's argument.
    let ours = handle(unsafe { signal::TrapInfo::new(info) }, ucontext);
    if !ours {
        foreign::forward(info, ucontext);
    }
    signal::set_errno(errno);
}

/// Calls `function(argument)` on the stack that ends at `top`.
///
/// # Safety
/// `top` is 16-byte aligned, one past the end of a writable region large enough for the call, in use by nobody.
#[unsafe(naked)]
pub unsafe extern "C" fn call_on(
    top: u64,
    function: extern "C" fn(*mut libc::c_void),
    argument: *mut libc::c_void,
) {
    naked_asm!(
        "push rbp",
        "mov rbp, rsp",
        "mov rsp, rdi",
        "mov rdi, rdx",
        "call rsi",
        "mov rsp, rbp",
        "pop rbp",
        "ret",
    )
}
