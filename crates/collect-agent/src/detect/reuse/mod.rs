//! Reuse: how far apart accesses to the same data are, and what happens to it in between.
//!
//! Either all accesses are looked at ([`exact`]), or some are sampled and watched ([`sampled`]): `detector_set` draws what each
//! use is watched for, `thread_table` has the threads of the process, `positions` how far they are, `armed` knows which thread watches what, and `episodes` when. Either
//! translated code looks up `watch_tables`, or `debug_registers` trap.

mod armed;
mod debug_registers;
mod detector_set;
mod episodes;
mod exact;
mod kept;
mod positions;
mod sampled;
pub mod thread_table;
mod watch_tables;

pub use self::{exact::Exact, sampled::Sampled};
