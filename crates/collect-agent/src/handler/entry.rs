//! Getting into the handler and onto a stack of ours.

use std::arch::{asm, naked_asm};

use carom_base_sys::{SysError, signal};

use super::{foreign, handle};
use crate::{
    context::Context,
    handler_stack::call_on,
    hooks::signals::{library_set, real_sigaction},
    registry,
    thread::Thread,
};

/// Installs the handler for SIGTRAP and returns the action before.
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
    action.sa_mask = library_set(signal::Mask::MAX);
    real_sigaction(libc::SIGTRAP, Some(&action))
}

/// The handler, as a `sighandler_t`.
fn handler_address() -> libc::sighandler_t {
    on_sigtrap as *const () as libc::sighandler_t
}

/// The kernel's handler. A SIGTRAP of the program's own goes on like its other signals, with the kernel's frame. One that
/// arrives while a sample is taken is deferred by the translator.
///
/// # Safety
/// Called by the kernel only.
#[unsafe(naked)]
unsafe extern "C" fn on_sigtrap() {
    naked_asm!(
        // The kernel gives the registers that are used here back from its frame.
        "mov r12, rdi",
        "mov r13, rsi",
        "mov r14, rdx",
        "sub rsp, 8",
        "mov rdi, rsi",
        "mov rsi, rdx",
        "call {take}",
        "add rsp, 8",
        "test al, al",
        "jz 2f",
        "ret",
        "2:",
        "mov rdi, r12",
        "mov rsi, r13",
        "mov rdx, r14",
        "jmp {forward}",
        take = sym take,
        forward = sym carom_collect_translate::deliver_signal,
    )
}

/// What [`take`] passes across the change of stacks, and gets back.
struct Arguments {
    info: *const libc::siginfo_t,
    ucontext: *mut libc::c_void,
    done: bool,
}

/// False where the program's own handler is to run.
extern "C" fn take(info: *const libc::siginfo_t, ucontext: *mut libc::c_void) -> bool {
    access_words_anywhere();
    let thread = registry::current();
    // It was on its way while the thread unmapped what it would need, whether we know of that or not.
    if thread.is_some_and(Thread::is_bare) || !signal::has_control_block() {
        return true;
    }
    if carom_collect_translate::defer_signal(libc::SIGTRAP, ucontext.cast(), handler_address() as u64) {
        return true;
    }
    let errno = signal::errno();
    let mut arguments = Arguments { info, ucontext, done: true };
    // The kernel's frame lies elsewhere while a thread begins, or where the program changed its alternate stack behind our
    // back: that one may be small.
    let place = &raw mut arguments;
    let stack = thread.map(Thread::handler_stack);
    match stack.filter(|stack| !stack.holds(place.addr() as u64)) {
        Some(stack) => {
            // SAFETY: the kernel's argument.
            let interrupted = unsafe { Context::new(ucontext) }.sp();
            let top = stack.free_below(interrupted);
            // SAFETY: the thread's own handler stack, below what was interrupted on it; another handler would be on it
            // now.
            unsafe { call_on(top, run, place.cast()) };
        }
        None => run(place.cast()),
    }
    signal::set_errno(errno);
    arguments.done
}

/// Ends alignment checks: the program may have them switched on, the kernel leaves them on for handlers, and compiled
/// code would fault. (Bit 18 of the flags: Intel SDM volume 1, 3.4.3.)
fn access_words_anywhere() {
    // SAFETY: clears a flag; behind the handler the kernel gives the program its flags back.
    unsafe { asm!("pushfq", "and dword ptr [rsp], ~(1 << 18)", "popfq") };
}

extern "C" fn run(arguments: *mut libc::c_void) {
    // SAFETY: the `Arguments` of `take`, which waits for us.
    let arguments = unsafe { &mut *arguments.cast::<Arguments>() };
    // SAFETY: the kernel's argument.
    let ours = handle(unsafe { signal::TrapInfo::new(arguments.info) }, arguments.ucontext);
    arguments.done = ours || foreign::is_settled(arguments.info, arguments.ucontext);
}
