//! Streams of accesses: what each thread of a program did to memory, access by access.
//!
//! Threads hand their accesses over in batches ([`Batch`]); an [`Interleaver`] puts the batches of several threads in the
//! order of time.
//!
//! No clock, no threads and no I/O here: times and accesses are arguments.
#![forbid(unsafe_code)]

mod interleave;
mod slices;

pub use interleave::{Batch, Interleaver, Limits, Sink, Stamp};
