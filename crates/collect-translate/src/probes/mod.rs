//! What is observed, as data that emitted code, the dispatcher and readers of records share.
//!
//! - **Modes** ([`mode`]): off, translation alone, counts, samples, streams, watches, times. A [`filter`] limits samples,
//!   streams and times to a set of instructions.
//! - **Counts** ([`counter`], [`totals`]). One counter per block and thread counts *down*: executions = what was
//!   loaded - its value. The effects of one execution (instructions, loads, bytes, calls) are known when it is
//!   translated, so totals are a dot product that any thread can compute at any time. Iterations of string
//!   instructions and active lanes of vectors have counters of their own, from which their number is subtracted.
//! - **Counts by instruction** ([`by_instruction`]): the same effects, divided among the instructions of a block when somebody asks.
//! - **Samples** ([`strata`], [`countdown`]). The same counter passes zero at the next sample, so counts and samples
//!   together cost one instruction. (A single countdown for all accesses, literally every 1000th, put 6000 samples on
//!   the store of a loop and none on its load. And counting in one place made prototypes 1.2-4.6 times slower than
//!   native, counting by block 1.0-2.9 times.)
//! - **Hooks** ([`hook`]): what exits are for that come back.
//! - **Records** ([`templates`], [`batch`], [`timed`]): the meaning of the words in a thread's buffer.
//! - **Coverage** ([`coverage`]): the part of a thread's time that it spent in the cache.

pub mod batch;
pub mod by_instruction;
pub mod countdown;
pub mod counter;
pub mod coverage;
pub mod filter;
pub mod hook;
pub mod mode;
pub mod split;
pub mod strata;
pub mod templates;
pub mod timed;
pub mod totals;
pub mod units;
