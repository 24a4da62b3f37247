//! Stepping aside: the program is about to do what the agent cannot live with, so that the process goes on natively and
//! unobserved, as if nobody had ever been there. What was learned is written down before; the report says since when, and why.
//!
//! So far that is a seccomp filter that forbids what the agent needs ([`calls`]), which is found by running the filter
//! ([`filter`]).

mod calls;
mod filter;

use std::sync::atomic::{AtomicBool, Ordering::*};

use carom_base_sys::{clock, perf, signal, timer};
use carom_base_wire::Engine;
use filter::{Instruction, MOST_INSTRUCTIONS};

use crate::{
    context::read_through_kernel, hooks, journal::Text, objects, registry, sampler::Mode, session,
    session::Session, thread, translated,
};

/// Set for good when the process steps aside.
static STEPPED: AtomicBool = AtomicBool::new(false);

/// Whether the process has stepped aside: nothing of ours makes a system call any more.
pub fn has_stepped() -> bool {
    STEPPED.load(Relaxed)
}

/// The program is about to make this system call: what the agent needs that it would forbid. Signals must be blocked.
pub fn obstacle(number: i64, arguments: [u64; 6]) -> Option<&'static str> {
    // A `vfork` child has its parent's session, and no part of ours.
    let Some(session) = session::current().filter(|session| session.is_of_this_process()) else {
        session::unprofiled_child_ends();
        return None;
    };
    if !forbids(number) {
        session.reserve_slots();
        return None;
    }
    let obstacle = forbidden(session, number, arguments);
    if obstacle.is_none() {
        // Calls that the agent can do without may be forbidden all the same.
        carom_collect_translate::restrict_calls();
    }
    obstacle
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
        translated::write_all();
        translated::end_reuse(None);
        hidden = step(obstacle);
        carom_collect_translate::step_aside();
    }
    signal::set_mask(libc::SIG_SETMASK, blocked | hidden);
    signal::set_errno(errno);
}

/// Whether a call forbids others, and does not just change what may be opened.
const fn forbids(number: i64) -> bool {
    matches!(number, libc::SYS_prctl | libc::SYS_seccomp)
}

/// What the agent needs and the call would forbid, by name.
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

/// The first call of ours that the filter, a `struct sock_fprog` at `place`, refuses. What cannot be read is no filter: the
/// kernel says so to the program.
fn refused(session: &Session, place: u64) -> Option<&'static str> {
    let (mut length, mut address) = ([0; 2], [0; 8]);
    if read_through_kernel(place, &mut length) < 2 || read_through_kernel(place + 8, &mut address) < 8 {
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
    if read_through_kernel(address, bytes) < whole {
        return None;
    }
    let timers = if session.mode == Mode::PosixTimer { calls::POSIX } else { calls::PERF };
    let translate = session.settings.engine == Engine::Translate;
    let engine = if translate { calls::TRANSLATE } else { calls::BURST };
    [calls::ALWAYS, timers, engine]
        .into_iter()
        .find_map(|calls| filter::refused(&filter, calls))
        .map(|call| call.name)
}

/// Steps aside: nothing of ours is left in the kernel for this process. What was counted has been written. Returns the
/// signals that the calling thread is to block because the program believes that it does. With all signals blocked.
pub fn step(obstacle: &str) -> signal::Mask {
    let Some(session) = session::current() else { return 0 };
    let mut text = Text::<256>::new();
    let (time, cpu) = (clock::now().0, clock::process_cpu());
    let line = text.line("aside").number(time, 10).number(cpu, 10);
    session.append(line.name(b"seccomp").name(obstacle.as_bytes()));
    objects::stop();
    let mut hidden = 0;
    if let Some(thread) = registry::current() {
        thread::close();
        hidden = thread.signals().hidden();
        thread.give_back_stack();
    }
    session.end();
    STEPPED.store(true, Release);
    session::publish(None);
    perf::close_all();
    timer::delete_all();
    // Where there were other threads, a signal of ours may be on its way to one.
    if session.has_been_alone() {
        carom_collect_translate::give_back_reserved_signals();
    }
    registry::clear();
    hooks::stop_keeping_signals();
    hidden
}
