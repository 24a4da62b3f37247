//! Stepping aside: where the program is about to do something that the agent cannot work with, the process goes on
//! natively and unobserved, without a trace of the agent. Everything learned is written down before. The report says
//! since when, and why.
//!
//! The reasons are: a seccomp filter that forbids a call of the agent's ([`calls`]), which is found by running the
//! filter ([`filter`]); delivery of system calls as signals (PR_SET_SYSCALL_USER_DISPATCH); time stamps that fault
//! (PR_SET_TSC); and a parent that traces the process, because it would see the code cache instead of the program.

mod calls;
mod filter;

use std::sync::atomic::{AtomicBool, Ordering::*};

use carom_base_sys::{clock, maps, perf, signal, timer, user_memory};
use carom_base_wire::Engine;
use carom_collect_translate::Obstacle;
use filter::{Instruction, MOST_INSTRUCTIONS};

use crate::{
    ending, hooks::signals::stop_keeping, journal::Text, lock, objects, registry, sampler::Mode, session,
    session::Session, translated,
};

/// Set for good when the process steps aside.
static STEPPED: AtomicBool = AtomicBool::new(false);

/// Whether the process has stepped aside. Then no code of ours makes a system call any more.
pub fn has_stepped() -> bool {
    STEPPED.load(Relaxed)
}

/// The reason why the agent could not go on after this system call, which the program is about to make. Signals must be
/// blocked.
pub fn obstacle(number: i64, arguments: [u64; 6]) -> Option<Obstacle> {
    // A `vfork` child shares its parent's memory and session; nothing is undone for it.
    let Some(session) = session::current().filter(|session| session.is_of_this_process()) else {
        session::unprofiled_child_ends();
        if forbids(number) {
            // The engine's handler may still be the kernel's there.
            carom_collect_translate::restrict_calls();
        }
        return None;
    };
    if !forbids(number) {
        session.reserve_slots();
        if !carom_collect_translate::calls_are_restricted() {
            maps::keep();
        }
        return None;
    }
    if let Some(code) = other(number, arguments) {
        return Some(Obstacle { code, detail: "" });
    }
    let detail = forbidden(session, number, arguments);
    if detail.is_none() {
        // Only calls that the agent needs matter.
        carom_collect_translate::restrict_calls();
    }
    detail.map(|detail| Obstacle { code: "seccomp", detail })
}

/// For hooks: the program is about to make this system call, natively.
pub fn before(number: i64, arguments: [u64; 6]) {
    if has_stepped() {
        return;
    }
    let errno = signal::errno();
    let blocked = signal::set_mask(libc::SIG_SETMASK, signal::Mask::MAX);
    let mut hidden = 0;
    if let Some(obstacle) = obstacle(number, arguments) {
        translated::life::write_all();
        translated::life::end_process(None);
        hidden = step(obstacle);
        carom_collect_translate::step_aside();
    }
    signal::set_mask(libc::SIG_SETMASK, blocked | hidden);
    signal::set_errno(errno);
}

/// Whether a call does more than change what may be opened.
const fn forbids(number: i64) -> bool {
    matches!(number, libc::SYS_prctl | libc::SYS_seccomp | libc::SYS_ptrace)
}

/// Waits until handlers of ours on other threads have ended: their system calls may be forbidden after the program's
/// next one. No new signal of ours comes.
fn let_handlers_end() {
    /// The last steps of a handler, and a signal that is being delivered, cannot be observed.
    const AT_LEAST: usize = 20;
    /// A second: a thread may have to wait for a processor.
    const AT_MOST: usize = 20_000;
    let mut quiet = 0;
    for _ in 0..AT_MOST {
        if quiet > AT_LEAST {
            return;
        }
        quiet = if registry::handles_elsewhere() { 0 } else { quiet + 1 };
        lock::sleep();
    }
}

/// The obstacle of a call that installs no filter.
fn other(number: i64, [first, second, ..]: [u64; 6]) -> Option<&'static str> {
    // Linux, include/uapi/linux/prctl.h.
    const PR_SET_SYSCALL_USER_DISPATCH: i32 = 59;
    const PR_SYS_DISPATCH_ON: u64 = 1;
    const TRACE_ME: i32 = libc::PTRACE_TRACEME as i32;
    match (number, first as i32, second) {
        (libc::SYS_prctl, PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON) => Some("dispatch"),
        (libc::SYS_prctl, libc::PR_SET_TSC, SIGSEGV_BY_TSC) => Some("tsc"),
        (libc::SYS_ptrace, TRACE_ME, _) => Some("traced"),
        _ => None,
    }
}

/// `PR_TSC_SIGSEGV`.
const SIGSEGV_BY_TSC: u64 = libc::PR_TSC_SIGSEGV as u64;

/// The name of a call that the agent needs and the filter would forbid.
fn forbidden(session: &Session, number: i64, arguments: [u64; 6]) -> Option<&'static str> {
    const SET_MODE_STRICT: u64 = libc::SECCOMP_SET_MODE_STRICT as u64;
    const SET_MODE_FILTER: u64 = libc::SECCOMP_SET_MODE_FILTER as u64;
    const MODE_STRICT: u64 = libc::SECCOMP_MODE_STRICT as u64;
    const MODE_FILTER: u64 = libc::SECCOMP_MODE_FILTER as u64;
    /// In strict mode four calls are left.
    const STRICT: &str = "rt_sigprocmask";
    let [first, second, third, ..] = arguments;
    match (number, first, second) {
        // Libraries ask whether the call is known, in a way that the kernel refuses.
        (libc::SYS_seccomp, SET_MODE_STRICT, _) if second != 0 || third != 0 => None,
        (libc::SYS_seccomp, SET_MODE_STRICT, _) | (libc::SYS_prctl, _, MODE_STRICT) => Some(STRICT),
        (libc::SYS_seccomp, SET_MODE_FILTER, _) | (libc::SYS_prctl, _, MODE_FILTER) => {
            refused(session, third)
        }
        _ => None,
    }
}

/// The first call of ours that the filter, a `struct sock_fprog` at `place`, refuses. One that cannot be read is no
/// filter: the kernel returns the error to the program.
fn refused(session: &Session, place: u64) -> Option<&'static str> {
    let (mut length, mut address) = ([0; 2], [0; 8]);
    if user_memory::copy(place, &mut length) < 2 || user_memory::copy(place + 8, &mut address) < 8 {
        return None;
    }
    let (length, address) = (usize::from(u16::from_le_bytes(length)), u64::from_le_bytes(address));
    if length > MOST_INSTRUCTIONS {
        return None;
    }
    let mut filter = vec![Instruction::default(); length];
    // SAFETY: plain numbers, any bytes of which are valid.
    let bytes =
        unsafe { std::slice::from_raw_parts_mut(filter.as_mut_ptr().cast::<u8>(), size_of_val(&*filter)) };
    let whole = bytes.len();
    if user_memory::copy(address, bytes) < whole {
        return None;
    }
    let timers = if session.mode == Mode::PosixTimer { calls::POSIX } else { calls::PERF };
    let translate = session.settings.engine == Engine::Translate;
    let engine = if translate { calls::TRANSLATE } else { calls::BURST };
    let clocks = if clock::without_vdso() { calls::CLOCKS } else { &[] };
    [calls::ALWAYS, clocks, timers, engine]
        .into_iter()
        .find_map(|calls| filter::refused(&filter, calls))
        .map(|call| call.name)
}

/// Steps aside: removes everything of ours from the kernel for this process. Counts must have been written before, and
/// all signals be blocked. Returns the signals that the calling thread must block because the program believes that it
/// does.
pub fn step(obstacle: Obstacle) -> signal::Mask {
    let Some(session) = session::current() else { return 0 };
    let mut text = Text::<256>::new();
    let (time, cpu) = (clock::now().0, clock::process_cpu());
    let line = text.line("aside").number(time, 10).number(cpu, 10);
    session.append(line.name(obstacle.code.as_bytes()).name(obstacle.detail.as_bytes()));
    objects::stop();
    ending::end(session);
    let mut hidden = 0;
    if let Some(thread) = registry::current() {
        hidden = thread.signals().hidden();
        thread.give_back_stack();
    }
    STEPPED.store(true, Release);
    session::publish(None);
    perf::close_all();
    timer::delete_all();
    // A signal of ours may still be on its way to another thread.
    if session.has_been_alone() {
        carom_collect_translate::give_back_reserved_signals();
    } else {
        let_handlers_end();
    }
    registry::clear();
    stop_keeping();
    hidden
}
