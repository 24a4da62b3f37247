//! Decides which samples of translated code are followed, or may set watchpoints, within the thread's budget.
//!
//! The cost of following a sample depends on the program: on its accesses to watched data, and on its number of
//! threads. So a sample is followed with a probability that depends on the balance, and weighs the inverse of that
//! probability (Horvitz and Thompson, J. Am. Stat. Assoc. 47, 1952). The probability is fixed before the access is
//! known, so that no access is favoured.
//!
//! Where the session's period follows the program ([`crate::pace`]), it is also told here what observation took.

use std::sync::atomic::Ordering::Relaxed;

use carom_base::Nanos;
use carom_base_sys::clock;
use carom_collect_translate as engine;

use crate::{
    budget::Budget,
    detect,
    pace::{Clocks, Pace},
    session::Session,
    thread::State,
};

/// The time to leave translated code and to come back, which cannot be measured from here: saving and restoring registers,
/// and finding the operands. What a sample without a call path takes (docs/techniques.md).
const EXIT_NS: u64 = 400;

/// Exits from translated code for a sample: at the end of its countdown, and in front of the access. For a touch of
/// watched data: where it is found, and in front of the access.
pub const EXITS_OF_A_SAMPLE: u64 = 2;
pub const EXITS_OF_A_TOUCH: u64 = 2;

/// The thread CPU time of a stretch. Credit is kept for some of them (`Budget`).
const STRETCH_NS: u64 = 1_000_000;

/// The same where uses are sampled in parts of the run: these may spend what the budget allows for the time between them. A thread
/// begins with the credit of the shorter one, since programs may begin thousands of threads.
const LONG_STRETCH_NS: u64 = 20_000_000;

/// The least probability; its inverse is the largest weight of a sample.
const LEAST_CHANCE: f64 = 1.0 / 64.0;

/// A longer time than any work here takes: the thread was preempted.
const LONGEST_NS: u64 = 200_000;

/// An account for the calling thread, with full credit.
pub fn open(session: &Session) -> Budget {
    let in_parts = detect::current().is_some_and(|detectors| detectors.needs().episodes);
    let begun = Budget::full(session.settings.budget_ppm, STRETCH_NS, clock::thread_cpu());
    if in_parts { begun.keeping(LONG_STRETCH_NS) } else { begun }
}

/// The factor by which a sample that is followed `now` weighs more; `None` where it is not followed.
pub fn follows(state: &mut State, now: Nanos) -> Option<f32> {
    state.budget.keep_up(now.0, clock::thread_cpu);
    let chance = state.budget.chance().max(LEAST_CHANCE);
    let random = state.random() as f64 / u64::MAX as f64;
    (random < chance).then_some((1.0 / chance) as f32)
}

/// Pays for work that began at `begin`, and for this number of exits from translated code.
pub fn pay(state: &mut State, begin: Nanos, exits: u64) {
    let own = clock::now().0.saturating_sub(begin.0).min(LONGEST_NS);
    state.budget.pay(own);
    pay_exits(state, exits);
}

/// Pays for this number of exits from translated code alone.
pub fn pay_exits(state: &mut State, exits: u64) {
    state.budget.pay(exits.saturating_mul(EXIT_NS));
}

/// Whether the session's period follows the program.
fn follows_program(session: &Session) -> bool {
    session.settings.doublings > 0
}

/// Uses the session's period in this process.
pub fn adopt_period(session: &Session) {
    if follows_program(session) {
        let most = session.settings.doublings;
        engine::double_periods(session.control().doublings.load(Relaxed).min(most) as u8);
    }
}

/// The pace of the calling thread, which begins to be observed.
pub fn pace(session: &Session) -> Pace {
    if follows_program(session) { Pace::begin(clocks(clock::now().0)) } else { Pace::default() }
}

/// What the calling thread's reports go by.
fn clocks(now: u64) -> Clocks {
    Clocks { now, ticks: engine::ticks(), cpu: clock::thread_cpu(), spent: engine::spent() }
}

/// The calling thread ends: what it spent since its last report counts, too.
pub fn close(state: &mut State) {
    if follows_program(state.session) {
        tell(state, clock::now());
    }
}

/// The calling thread has had a sample whose period was doubled this often. From time to time it tells what samples take.
pub fn sampled(state: &mut State, now: Nanos, doublings: u8) {
    if !follows_program(state.session) {
        return;
    }
    state.pace.add_sample(doublings);
    if state.pace.is_due(now.0) {
        tell(state, now);
        adopt_period(state.session);
    }
}

/// What was watched because of a sample has trapped, at `begin`.
pub fn trapped(state: &mut State, begin: Nanos) {
    if follows_program(state.session) {
        let delivery = state.session.control().trap_ns.load(Relaxed);
        let own = clock::now().0.saturating_sub(begin.0);
        state.pace.add_trap(delivery.saturating_add(own), engine::doublings());
    }
}

fn tell(state: &mut State, now: Nanos) {
    let session = state.session;
    state.pace.tell(clocks(now.0), session.control(), &session.settings);
}
