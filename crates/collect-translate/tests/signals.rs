//! Signals of a program in the cache.

#[path = "signals/basics.rs"]
mod basics;
#[path = "signals/faults.rs"]
mod faults;
#[path = "signals/mix.rs"]
mod mix;
#[path = "signals/storm.rs"]
mod storm;
mod support;
