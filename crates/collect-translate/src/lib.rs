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
//! an exit does), `sample` (which accesses), `system` (processes, threads and mappings), `invalidate` (code that changes),
//! `reentry` and `coverage` (threads outside), `memory` (where everything lies).

mod block;
mod cache;
mod code;
mod countdown;
mod coverage;
mod dispatch;
mod emit;
mod engine;
mod exit;
mod fragment;
mod invalidate;
mod liveness;
mod lock;
mod marks;
mod memory;
mod mode;
mod reentry;
mod relocate;
mod repeat;
mod sample;
mod signal;
mod state;
mod switch;
mod system;
mod thread;
mod totals;

pub use coverage::{Coverage, Leave};
pub use engine::{
    Observer, StartError, after_fork, aside, attach, detach, is_attached, is_started, lead_on,
    mappings_changed, runs_in_cache, set_name, start, tell_totals, totals,
};
pub use memory::MemoryError;
pub use mode::Mode;
pub use reentry::reenter;
pub use signal::{Original, original_registers, reserve_signals};
pub use switch::enter;
pub use totals::Totals;
