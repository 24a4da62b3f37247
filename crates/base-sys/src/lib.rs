//! The one door to the kernel: whatever carom asks of it lies here, behind typed values.
//!
//! - [`calls`]: system calls that handlers and hooks make inside the program. *Signal-safe* functions neither allocate nor
//!   lock nor format; most of these are.
//! - [`lock`]: the lock of the code inside the program.
//! - [`host`]: what the `carom` process asks: facts about the machine, probes of what it can do, its children and
//!   signals. Allocates and reads files.
//!
//! The host's part uses the others, and these never use it.

pub mod calls;
mod error;
pub mod host;
pub mod lock;

pub use calls::{
    clock, door, file, map, map_query, own_room, perf, process, raw, signal, timer, user_memory,
};
pub use error::SysError;
pub use host::{child, machine, probe};
