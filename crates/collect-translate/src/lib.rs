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
//! Order of reading: `block` (what is translated at a time), `fragment` (how), `landings` (indirect transfers),
//! `switch` (in and out), `dispatch` (what an exit does), `sample` (which accesses), `early` (those told at once), `countdown` (when),
//! `units`, `repeat` and `vector` (those of iterations and lanes), `stream` (all of them), `watch` (those to
//! some lines), `hold` (how long threads stand for all that), `system` (processes, threads and mappings), `ahead` (what
//! their children run first), `invalidate` (code that changes), `evict` (full
//! arenas), `reentry` and `coverage` (threads outside), `memory` (where everything lies).

mod ahead;
mod block;
mod books;
mod cache;
mod closer;
mod code;
mod countdown;
mod coverage;
mod dispatch;
mod early;
mod emit;
mod engine;
mod evict;
mod exit;
mod filter;
mod fragment;
mod hold;
mod invalidate;
mod landings;
mod linkage;
mod links;
mod liveness;
mod marks;
mod memory;
mod mode;
mod operand;
mod position;
mod reentry;
mod relocate;
mod repeat;
mod restartable;
mod sample;
mod signal;
mod spare;
mod state;
mod stream;
mod switch;
mod system;
mod thread;
mod timing;
mod totals;
mod units;
mod vector;
mod watch;

pub use coverage::{Coverage, Leave};
#[cfg(debug_assertions)]
#[doc(hidden)]
pub use engine::lose_thread;
pub use engine::{
    Observer, StartError, after_fork, aside, attach, detach, goes_back_to, is_attached, is_called_from_cache,
    is_on_engine_stack, is_started, lead_on, mappings_changed, runs_in_cache, set_mode, set_name, start,
    tell_totals, totals,
};
#[doc(hidden)]
pub use evict::bound_cache;
pub use filter::{IpSet, set_filter};
pub use hold::{Held, Hold, hold, ticks};
pub use memory::{CODE_NAME, MemoryError};
pub use mode::Mode;
pub use position::{accesses, accesses_at, accesses_of};
pub use reentry::witness;
pub use signal::{
    Action as SignalAction, Original, OwnSignals, Stack, adopt as adopt_actions,
    change_natively as change_action, change_stack_natively as change_stack, entry as deliver_signal,
    find_own_signals, give_back_reserved as give_back_reserved_signals, kernel_action, original_registers,
    program_action, reserve_signals, restrict_calls, set_program_action,
};
pub use stream::{Batch, Event, flush_streams, is_invariant as stamps_are_invariant, now as stamp_now};
pub use switch::enter;
pub use system::{Obstacle, may_end_here, step_aside};
pub use timing::{Calibration, Spread, Timed, calibrate};
pub use totals::Totals;
pub use watch::{Watched, Watches, watches, watches_of};
