//! SIGTRAPs that are the program's own: its breakpoints, its `raise`, its handler.

use carom_base_sys::signal;
use carom_collect_translate::{calls_are_restricted, program_action};

use crate::{context::Context, hooks::signals::real_sigaction, registry, sampler::Origin, thread::State};

/// Does what would have happened natively. False where a handler of the program must run, which the caller does.
pub fn is_settled(info: *const libc::siginfo_t, ucontext: *mut libc::c_void) -> bool {
    let own = signal::bit(libc::SIGTRAP);
    let handler = program_action(libc::SIGTRAP as u64).handler as libc::sighandler_t;
    // SAFETY: the kernel's argument.
    let sent = unsafe { (*info).si_code } <= 0;
    let blocked = registry::current().is_some_and(|thread| thread.signals().hidden() & own != 0);
    if sent && blocked {
        hold_back(info, ucontext);
    } else if !sent && blocked || handler == libc::SIG_DFL || handler == libc::SIG_IGN && !sent {
        // The kernel lets a thread neither block nor ignore its own trap: it dies of it.
        die();
    } else {
        return handler == libc::SIG_IGN;
    }
    true
}

/// Has a SIGTRAP that was sent wait, where the program believes that it blocks SIGTRAP: until it unblocks it, or takes
/// it by `sigwait`. From now on the kernel blocks SIGTRAP in this thread.
///
/// Samples would wait as well, and the program would take them for its own signal. So this thread is not sampled any
/// more.
fn hold_back(info: *const libc::siginfo_t, ucontext: *mut libc::c_void) {
    let stop = |state: &mut State| {
        state.burst = None;
        state.sampler.stop();
    };
    registry::current().and_then(|thread| thread.visit(stop));
    // SAFETY: the kernel's argument.
    let mut context = unsafe { Context::new(ucontext) };
    // A trap that is blocked ends the process.
    context.end_steps();
    context.block(signal::bit(libc::SIGTRAP));
    // Of one number, one signal waits for a thread: a sample that came meanwhile would take the place of the program's signal.
    let waiting =
        if calls_are_restricted() { None } else { signal::take_waiting(libc::SIGTRAP).filter(is_foreign) };
    send_on(info);
    if let Some(waiting) = waiting {
        send_on(&raw const waiting);
    }
}

fn is_foreign(info: &libc::siginfo_t) -> bool {
    // SAFETY: what the kernel has filled in.
    Origin::of(unsafe { signal::TrapInfo::new(info) }) == Origin::Foreign
}

fn send_on(info: *const libc::siginfo_t) {
    // Where it was sent to the process, another thread may be waiting for it.
    // SAFETY: what the kernel has filled in.
    let to_process = unsafe { (*info).si_code } == libc::SI_USER;
    // SAFETY: as above.
    unsafe { signal::pass_on(libc::SIGTRAP, info, to_process) };
}

/// The default action: the process ends by SIGTRAP as soon as this handler returns.
fn die() {
    // SAFETY: all zeroes is `SIG_DFL` without flags.
    let default: libc::sigaction = unsafe { std::mem::zeroed() };
    let _ = real_sigaction(libc::SIGTRAP, Some(&default));
    signal::raise(libc::SIGTRAP);
}
