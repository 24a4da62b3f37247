//! What translated code and the engine agree on: a thread's *lane* of 1 MiB, to which GS points.
//!
//! In front lie the words that code names ([`slots`]), further on the engine's stack, the thread's buffer ([`records`]) and
//! its tables of watched places ([`watches`]). An [`exit::Exit`] is what code leaves for the dispatcher.

pub mod exit;
pub mod records;
pub mod registers;
pub mod slots;
pub mod watches;
