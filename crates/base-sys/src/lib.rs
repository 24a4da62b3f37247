//! The one door to the kernel: all system calls of carom, behind typed functions.
//!
//! - [`calls`]: system calls that handlers and hooks make inside the program. *Signal-safe* functions neither allocate nor
//!   lock nor format; most of these are.
//! - [`lock`]: the lock of the code inside the program.
//! - [`host`]: calls of the `carom` process: facts about the machine, probes of its facilities, children and signals.
//!   Allocates and reads files.
//!
//! `host` uses the others, and they never use it.

pub mod calls;
mod error;
pub mod host;
pub mod lock;

pub use calls::{
    clock, descriptor, door, file, loader, map, map_query, maps, own_room, perf, process, raw, signal, timer,
    user_memory,
};
pub use error::SysError;
pub use host::{child, latency, machine, memory, probe};
