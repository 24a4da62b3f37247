//! The agent: the library inside the profiled process.
//!
//! It observes, and carries out the decisions of the detectors' cores (`carom-base-detect`, `carom-base-reuse`). Its
//! rules:
//!
//! - It is a guest. Output, exit status, signals and memory behaviour of the program stay what they were. A failure
//!   of ours means "not profiled, and the report says so", never a broken program.
//! - Nothing in a signal handler allocates, frees, waits for a lock, formats, touches `thread_local!` or calls the C
//!   library beyond async-signal-safe functions. Handlers run on a stack of ours with all signals blocked and keep errno.
//!   `handler` tells what holds these rules.
//! - Its records lie in files that the host can read however the process ends.
//!
//! Order of reading: [`init`] (how recording begins), `hooks` (what is interposed), `handler` (what a sample does).

mod account;
#[cfg(not(test))]
mod alloc;
mod aside;
mod budget;
mod calibrate;
mod context;
mod detect;
mod eh_frame;
mod ending;
mod extent;
mod frames;
mod handler;
mod handler_stack;
mod hooks;
pub mod init;
mod journal;
mod led_on;
#[cfg(feature = "static-link")]
mod linked;
mod mappings;
mod modules;
mod objects;
#[cfg_attr(test, allow(dead_code))]
mod own_heap;
mod own_pages;
mod pace;
mod pack;
mod progress;
mod registry;
mod ring;
mod sampler;
mod scene;
mod session;
mod shared;
mod stack;
mod thread;
mod threads;
mod translated;
mod trim;
mod unwind;
mod window;

use carom_base_sys::lock;
