//! What x86-64 instructions access: from a machine context to memory accesses, inside a signal handler.
//!
//! [`Decoder`] answers three questions about a thread between two instructions: which accesses the next instruction
//! will make, which ones the last instruction made, and where the thread will be `k` instructions from now. A fourth
//! needs no thread: the properties of an instruction that follow from its code ([`Statics`]). It executes nothing and
//! touches the program only through [`Memory`]. Hosts also ask for the loop around an instruction
//! ([`innermost`]), and for what its basic block accessed before it ([`preceding`]).
//!
//! **Invariant**: but for these two, after [`Decoder::new`] nothing here allocates, locks, calls libc, panics or runs unbounded.
//! Every limit is a constant of this crate.
#![deny(unsafe_code)]

mod accesses;
mod code;
mod decoder;
mod frequent;
mod implied;
mod info;
mod loops;
mod operands;
mod plain;
mod preceding;
mod predecessor;
mod recover;
mod registers;
mod shape;
mod statics;
mod string;
mod vector;
mod walk;
mod xsave;

pub use accesses::{MAX_ACCESSES, Operands, StaticAccess};
pub use code::{MAX_INSTRUCTION_BYTES, Memory};
pub use decoder::{Decoder, Draw};
pub use loops::{InnerLoop, MOST_FUNCTION_BYTES, innermost};
pub use plain::access_kind;
pub use preceding::{Preceding, preceding};
pub use registers::{Known, Registers};
pub use statics::{Iteration, Statics};
pub use vector::{Lanes, Mask};
pub use walk::{Obstacle, Walk};
