//! The state of each thread that runs in the cache.
//!
//! A [`thread::Thread`] belongs to its dispatcher alone. Its [`books`] (counts, countdowns, clock), which other
//! threads read or change, lie apart and are used under the engine's lock.

pub mod books;
pub mod buffer;
pub mod calls;
pub mod draw;
pub mod explicit;
pub mod next;
pub mod note;
pub mod pending;
pub mod signals;
pub mod spent;
pub mod stamp;
pub mod thread;
pub mod turn;
pub mod vectors;
