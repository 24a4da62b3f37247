//! A binary translator inside the process: the program's code runs from a cache, where every load, store and
//! instruction is counted, and accesses are sampled before they happen.
//!
//! It knows nothing of what is measured: what it sees it tells an [`Observer`].
//!
//! ```text
//!   original code --block--> fragment --> cache: counters, copied instructions, links, landings
//!                                            |  exit (a block not seen yet, a sample, a system call ...)
//!                              switch::dispatch: registers into the slots, signals blocked, stack changed
//!                                            |
//!                                        dispatch: translate, link, sample, or leave to native code
//! ```
//!
//! Order of reading: `block` (what is translated at a time), `fragment` (how), `switch` (in and out), `dispatch` (what
//! an exit does), `sample` (which accesses), `memory` (where everything lies).

mod block;
mod cache;
mod code;
mod countdown;
mod dispatch;
mod emit;
mod engine;
mod exit;
mod fragment;
mod liveness;
mod lock;
mod marks;
mod memory;
mod mode;
mod relocate;
mod repeat;
mod sample;
mod state;
mod switch;
mod system;
mod thread;
mod totals;

pub use engine::{Observer, StartError, aside, attach, detach, is_started, start, tell_totals};
pub use memory::MemoryError;
pub use mode::Mode;
pub use switch::enter;
pub use totals::Totals;
