//! Reuse distance: sampled, by watching what becomes of single accesses, and exact, over all of them.
//!
//! No clock, no threads and no I/O here: time, positions and accesses are arguments.
#![forbid(unsafe_code)]

pub mod exact;
pub mod sampled;

pub use carom_base::Domain;
