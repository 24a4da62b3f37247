//! As `signals_evicted`, while episodes begin and end in which accesses are looked up.
#![allow(clippy::unwrap_used)] // What a test cannot have fails it.

#[path = "signals/basics.rs"]
mod basics;
#[path = "signals/faults.rs"]
mod faults;
#[allow(dead_code)] // Code to be stepped through, which other tests do.
#[path = "signals/mix.rs"]
mod mix;
#[path = "signals/storm.rs"]
mod storm;
mod support;

/// The shortest periods there are: blocks have up to 64 accesses of a kind.
const MODE: carom_collect_translate::Mode =
    carom_collect_translate::Mode::Episodes { loads: 101, stores: 103 };

/// An arena is full when it has less room than is reserved for a fragment, 1024 blocks: so two arenas of 50 blocks
/// each.
const BOUND: Option<(usize, usize)> = Some((2, 1024 + 50));
