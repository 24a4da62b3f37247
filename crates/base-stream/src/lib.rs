//! Streams of accesses: what each thread of a program did to memory, access by access.
//!
//! A stream is a sequence of [`Record`]s. People write it as [`text`], other tools print it ([`import`]), and it is kept as
//! [`frame`]s.
//!
//! Threads hand their accesses over in batches ([`Batch`]); an [`Interleaver`] puts the batches of several threads in the
//! order of time. [`Turns`] give them another order in which threads wait for each other as they did.
//!
//! No clock, no threads and no I/O here: times and accesses are arguments.
#![forbid(unsafe_code)]

pub mod frame;
pub mod import;
mod interleave;
mod record;
mod reduce;
mod slices;
mod synchronisation;
pub mod text;
mod turns;

pub use interleave::{Batch, Interleaver, Limits, Sink, Stamp};
pub use record::{Event, Record, Streamed, sort_by_time};
pub use reduce::Sieve;
pub use synchronisation::{Act, Mark, Synchronisation};
pub use turns::{Matched, Turns};
