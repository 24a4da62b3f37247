//! The one door to the kernel: perf events, debug registers, timers, signals, probes.
//!
//! Everything that carom asks of the kernel beyond files passes through [`door`]; all other modules speak
//! typed values. Functions marked *signal-safe* neither allocate nor lock nor format.

pub mod clock;
pub mod door;
mod error;
pub mod lock;
pub mod machine;
pub mod own_room;
pub mod perf;
pub mod probe;
pub mod process;
pub mod signal;
pub mod timer;
pub mod user_memory;

pub use error::SysError;
