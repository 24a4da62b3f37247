//! Signals of a program in the cache.

mod support;
#[path = "signals/basics.rs"]
mod basics;
#[path = "signals/faults.rs"]
mod faults;
#[path = "signals/storm.rs"]
mod storm;
