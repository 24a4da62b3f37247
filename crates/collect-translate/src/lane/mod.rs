//! The interface between translated code and the engine: a thread's *lane* of 1 MiB, to which GS points.
//!
//! A lane begins with the words that code names ([`slots`]), followed by the engine's stack, the thread's buffer
//! ([`records`]) and its tables of watched places ([`watches`]). An [`exit::Exit`] is the record that code leaves for
//! the dispatcher.

pub mod exit;
pub mod records;
pub mod registers;
pub mod slots;
pub mod watches;
