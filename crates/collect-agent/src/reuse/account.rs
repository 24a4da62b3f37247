//! How many of the samples are followed: as many as the thread's budget allows.
//!
//! What a sample costs depends on the program: on how many accesses it makes to what is watched, and how many threads it
//! has. So whether a sample is followed is left to a chance that follows the balance. What is followed weighs as much
//! more as it was less likely (Horvitz and Thompson, J. Am. Stat. Assoc. 47, 1952): the chance is settled before the access
//! is known, so that no kind of reuse is favoured.

use carom_base::Nanos;
use carom_base_sys::clock;

use crate::{budget::Budget, thread::State};

/// What it takes to leave translated code and to come back, which is not seen from here: two system calls, all registers
/// saved and restored, and the operands found. An estimate for a virtual machine.
const EXIT_NS: u64 = 1_000;

/// Credit is kept for some stretches of so much thread CPU time (`Budget`).
const STRETCH_NS: u64 = 1_000_000;

/// The least chance: no sample weighs more than so many.
const LEAST_CHANCE: f64 = 1.0 / 64.0;

/// Longer than anything here computes: beyond this the thread was preempted.
const LONGEST_NS: u64 = 200_000;

/// Opens the calling thread's account. At first there is credit.
pub fn open(state: &mut State) {
    state.budget = Budget::full(state.session.settings.budget_ppm, STRETCH_NS, clock::thread_cpu());
}

/// By how much more a sample weighs that is followed now; `None` where none is.
pub fn follows(state: &mut State) -> Option<f32> {
    state.budget.earn_until(clock::thread_cpu());
    let chance = state.budget.chance().max(LEAST_CHANCE);
    let random = state.random() as f64 / u64::MAX as f64;
    (random < chance).then_some((1.0 / chance) as f32)
}

/// Something was done from `begin` on, for which the thread has left translated code so many times.
pub fn pay(state: &mut State, begin: Nanos, exits: u64) {
    let own = clock::now().0.saturating_sub(begin.0).min(LONGEST_NS);
    state.budget.pay(own.saturating_add(exits * EXIT_NS));
}
