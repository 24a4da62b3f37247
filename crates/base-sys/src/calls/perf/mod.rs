//! Task-clock timers and data watchpoints through perf_event_open.
//!
//! Facts and costs: `docs/algorithms.md`. Both kinds of event belong to one thread, count in user mode only and are
//! closed by exec.

mod event;
mod open;

pub use event::{Delivery, Event, Watch, close_all};
