//! How many of the samples of translated code are followed, or may set watchpoints: as many as the thread's budget allows.
//!
//! What it costs to follow one depends on the program: on how many accesses it makes to what is watched, and how many
//! threads it has. So whether a sample is followed is left to a chance that follows the balance. What is followed weighs
//! as much more as it was less likely (Horvitz and Thompson, J. Am. Stat. Assoc. 47, 1952): the chance is settled before
//! the access is known, so that nothing is favoured.

use carom_base::Nanos;
use carom_base_sys::clock;

use crate::{budget::Budget, session::Session, thread::State};

/// What it takes to leave translated code and to come back, which is not seen from here: two system calls, all registers
/// saved and restored, and the operands found. An estimate for a virtual machine.
const EXIT_NS: u64 = 1_000;

/// How often translated code is left for a sample: at the end of its countdown, and in front of the access; and for a
/// touch of what is watched: where it is found, and in front of the access.
pub const EXITS_OF_A_SAMPLE: u64 = 2;
pub const EXITS_OF_A_TOUCH: u64 = 2;

/// Credit is kept for some stretches of so much thread CPU time (`Budget`).
const STRETCH_NS: u64 = 1_000_000;

/// The least chance: no sample weighs more than so many.
const LEAST_CHANCE: f64 = 1.0 / 64.0;

/// Longer than anything here computes: beyond this the thread was preempted.
const LONGEST_NS: u64 = 200_000;

/// The calling thread's account, in which there is credit at first.
pub fn open(session: &Session) -> Budget {
    Budget::full(session.settings.budget_ppm, STRETCH_NS, clock::thread_cpu())
}

/// By how much more a sample weighs that is followed `now`; `None` where none is.
pub fn follows(state: &mut State, now: Nanos) -> Option<f32> {
    state.budget.keep_up(now.0, clock::thread_cpu);
    let chance = state.budget.chance().max(LEAST_CHANCE);
    let random = state.random() as f64 / u64::MAX as f64;
    (random < chance).then_some((1.0 / chance) as f32)
}

/// Something was done from `begin` on, for which the thread has left translated code so many times.
pub fn pay(state: &mut State, begin: Nanos, exits: u64) {
    let own = clock::now().0.saturating_sub(begin.0).min(LONGEST_NS);
    state.budget.pay(own);
    pay_exits(state, exits);
}

/// The thread has left translated code so many times, and nothing else was done.
pub fn pay_exits(state: &mut State, exits: u64) {
    state.budget.pay(exits.saturating_mul(EXIT_NS));
}
