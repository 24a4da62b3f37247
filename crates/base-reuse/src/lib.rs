//! Reuse distance: sampled, by watching single accesses until they are reused, and exact, over all accesses.
//!
//! No clock, no threads and no I/O here: time, positions and accesses are arguments.
#![forbid(unsafe_code)]

pub mod exact;
pub mod sampled;

pub use carom_base::Domain;
