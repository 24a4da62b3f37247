//! SIGTRAPs that are the program's own: its breakpoints, its `raise`, its handler.

use std::sync::atomic::{AtomicU64, Ordering::*};

use carom_base_sys::signal;

use crate::{context::Context, registry, thread::State};

/// What the program wants done on SIGTRAP; the kernel has our handler instead.
#[derive(Clone, Copy)]
pub struct ProgramAction {
    /// `SIG_DFL`, `SIG_IGN` or a function.
    pub handler: libc::sighandler_t,
    /// `SA_*`.
    pub flags: libc::c_int,
    /// Blocked meanwhile.
    pub mask: signal::Mask,
}

static HANDLER: AtomicU64 = AtomicU64::new(libc::SIG_DFL as u64);
static FLAGS: AtomicU64 = AtomicU64::new(0);
static MASK: AtomicU64 = AtomicU64::new(0);

/// What the program asked for last.
pub fn program_action() -> ProgramAction {
    ProgramAction {
        handler: HANDLER.load(Acquire) as libc::sighandler_t,
        flags: FLAGS.load(Relaxed) as libc::c_int,
        mask: MASK.load(Relaxed),
    }
}

/// Remembers what the program asks for.
pub fn set_program_action(action: ProgramAction) {
    FLAGS.store(action.flags as u64, Relaxed);
    MASK.store(action.mask, Relaxed);
    // ATOMICS: the handler is read first, so it never meets older flags.
    HANDLER.store(action.handler as u64, Release);
}

/// Does what would have happened without us.
pub fn forward(info: *const libc::siginfo_t, ucontext: *mut libc::c_void) {
    let action = program_action();
    // SAFETY: the kernel's argument.
    let sent = unsafe { (*info).si_code } <= 0;
    if sent && hold_back(info, ucontext) {
        return;
    }
    if action.handler == libc::SIG_IGN && sent {
        return;
    }
    // The kernel does not let a thread ignore its own trap: it dies of it.
    if action.handler == libc::SIG_DFL || action.handler == libc::SIG_IGN {
        return die();
    }
    if action.flags & libc::SA_RESETHAND != 0 {
        set_program_action(ProgramAction { handler: libc::SIG_DFL, ..action });
    }
    // SAFETY: the kernel's argument.
    let context = unsafe { Context::new(ucontext) };
    let own = if action.flags & libc::SA_NODEFER != 0 { 0 } else { signal::bit(libc::SIGTRAP) };
    // Our own handler keeps SIGTRAP open where it can: a burst cannot be going on here.
    signal::set_mask(libc::SIG_SETMASK, context.mask() | action.mask | own);
    if action.flags & libc::SA_SIGINFO != 0 {
        // SAFETY: the program registered a handler of this type.
        let handler = unsafe {
            std::mem::transmute::<
                libc::sighandler_t,
                extern "C" fn(libc::c_int, *const libc::siginfo_t, *mut libc::c_void),
            >(action.handler)
        };
        handler(libc::SIGTRAP, info, ucontext);
    } else {
        // SAFETY: the program registered a handler of this type.
        let handler =
            unsafe { std::mem::transmute::<libc::sighandler_t, extern "C" fn(libc::c_int)>(action.handler) };
        handler(libc::SIGTRAP);
    }
}

/// Where the program believes that it blocks SIGTRAP, a SIGTRAP that was sent waits until it no longer does, or takes
/// it by `sigwait`: from now on the kernel blocks it in this thread. True where that was done.
///
/// Samples would wait with it and be taken for it, so there are no more in this thread.
fn hold_back(info: *const libc::siginfo_t, ucontext: *mut libc::c_void) -> bool {
    let own = signal::bit(libc::SIGTRAP);
    let stop = |state: &mut State| {
        let blocked = state.hidden_mask & own != 0;
        if blocked {
            state.burst = None;
            state.sampler.stop();
        }
        blocked
    };
    if registry::current().and_then(|thread| thread.visit(stop)) != Some(true) {
        return false;
    }
    // SAFETY: the kernel's argument.
    let mut context = unsafe { Context::new(ucontext) };
    context.block(own);
    // SAFETY: no arguments.
    let process = unsafe { libc::getpid() };
    // SAFETY: what the kernel itself passed, sent on to the same thread.
    unsafe { libc::syscall(libc::SYS_rt_tgsigqueueinfo, process, signal::thread_id(), libc::SIGTRAP, info) };
    true
}

/// The default action: the process ends by SIGTRAP as soon as this handler returns.
fn die() {
    // SAFETY: all zeroes is `SIG_DFL` without flags.
    let default: libc::sigaction = unsafe { std::mem::zeroed() };
    let _ = crate::hooks::real_sigaction(libc::SIGTRAP, Some(&default));
    signal::raise(libc::SIGTRAP);
}
