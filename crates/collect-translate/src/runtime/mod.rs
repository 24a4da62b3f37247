//! The run of a program: the engine starts, threads are attached, enter the dispatcher from the cache, and return.
//!
//! Code in memory that is writable or of no file (just-in-time compilers) is not translated: a thread leaves for it,
//! and a timer brings it back as soon as it finds it in code that can be translated ([`reentry`]).
//!
//! *Coverage* is the part of a thread's CPU time in the cache, as the engine's books have it. The timer checks them:
//! time for which it finds the thread outside unexpectedly counts as outside. Restartable sequences run natively,
//! too, from the instruction that names their descriptor, because the kernel knows them by their addresses.

pub mod arrive;
pub mod attach;
pub mod dispatch;
pub mod position;
pub mod reentry;
pub mod start;
