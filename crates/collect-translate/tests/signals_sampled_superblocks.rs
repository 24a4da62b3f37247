//! As `signals_sampled`, where all branches are taken for such that go one way mostly.
#![allow(clippy::unwrap_used)] // What a test cannot have fails it.

#[path = "signals/basics.rs"]
mod basics;
#[path = "signals/faults.rs"]
mod faults;
#[path = "signals/mix.rs"]
mod mix;
#[path = "signals/steps.rs"]
mod steps;
#[path = "signals/storm.rs"]
mod storm;
mod support;

/// The shortest periods there are: blocks have up to 64 accesses of a kind.
const MODE: carom_collect_translate::Mode = carom_collect_translate::Mode::Sample { loads: 101, stores: 103 };

/// A cache of the usual size.
const BOUND: Option<(usize, usize)> = None;
