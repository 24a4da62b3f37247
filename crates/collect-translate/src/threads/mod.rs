//! The state of each thread that runs in the cache.
//!
//! A [`thread::Thread`] is its dispatcher's alone. What others read or change of it, its [`books`] (counts, countdowns,
//! clock), lies apart and is used under the engine's lock.

pub mod books;
pub mod buffer;
pub mod calls;
pub mod draw;
pub mod explicit;
pub mod next;
pub mod stamp;
pub mod thread;
pub mod turn;
