//! Accesses to watched lines are reported before they happen, with the number of accesses before them.
#![allow(clippy::unwrap_used)] // What a test cannot have fails it.

#[path = "sampling/kernels.rs"]
#[allow(dead_code)]
mod kernels;
#[path = "sampling/lanes.rs"]
#[allow(dead_code)]
mod lanes;
#[path = "watching/recorder.rs"]
mod recorder;
mod support;
#[path = "watching/touches.rs"]
mod touches;
#[path = "sampling/zoo.rs"]
#[allow(dead_code)]
mod zoo;

/// Periods as short as can be.
const MODE: carom_collect_translate::Mode = carom_collect_translate::Mode::Watch { loads: 101, stores: 103 };

/// Nothing has to be done beforehand.
fn ready() {}
