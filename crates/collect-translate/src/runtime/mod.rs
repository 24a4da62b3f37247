//! The run of a program: the engine starts, threads are attached, come from the cache to the dispatcher, and go back.
//!
//! Memory that is writable or of no file (just-in-time compilers) is never translated: a thread leaves for it, and a timer
//! brings it back as soon as it finds it in code that can be ([`reentry`]).
//!
//! *Coverage* is the part of a thread's CPU time between such leaves, by the books that the engine keeps. The timer is their
//! witness: what it finds outside against them counts as outside. Restartable sequences run natively, too, from the
//! instruction that names their descriptor: the kernel knows them by their addresses.

pub mod arrive;
pub mod attach;
pub mod dispatch;
pub mod position;
pub mod reentry;
pub mod start;
