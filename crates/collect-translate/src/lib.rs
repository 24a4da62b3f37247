//! A binary translator inside the process. The program's code runs from a code cache, where every load, store and
//! instruction is counted, and accesses are sampled before they happen.
//!
//! It knows nothing of what is measured: it reports to an [`Observer`]. The code runs with the program's own
//! registers, stack and return addresses, so unwinding, exceptions and `longjmp` need no support.
//!
//! ```text
//!   original code --decode--> block --analyse, emit--> fragment --> cache: counters, copied instructions, links, landings
//!                                            |  exit (a block not seen yet, a sample, a system call ...)
//!                              arrive::dispatch: registers into the slots, signals blocked, stack changed
//!                                            |
//!                                        dispatch: translate, link, sample, or leave to native code
//! ```
//!
//! # Order of reading
//!
//! Each folder uses those above it in this list and none below, which `cargo run -p xtask -- tidy` checks.
//!
//! - `memory`: where code, counters, stacks and tables lie, and which of the program's memory is code.
//! - `lane`: the interface of translated code and the engine: the words behind GS, exits, records, watched places.
//! - `decode`: the program's instructions: basic blocks, operands, restartable sequences.
//! - `encode`: machine code, and marks by which a cache address is translated back to the program's registers.
//! - `probes`: what is observed, as data: modes, counters, countdowns, hooks, templates of records.
//! - `analyse`: liveness of flags, and groups of accesses that are looked up together.
//! - `blocks`: the code cache: arenas, links, landings, exit stubs, invalidation and retiring of code.
//! - `emit`: from a block to a fragment, and `lookup`, which translates what is not in the cache.
//! - `threads`: the state of a thread: its own part, and its *books*, which others use under the engine's lock.
//! - `engine`: the process's cache and threads under one lock, and the observer.
//! - `observe`: what is done at exits for the observer: samples, streams, watches, timed loads.
//! - `signal`: signals of the program, and contexts translated back for them.
//! - `system`: system calls that concern the translator.
//! - `runtime`: start, attach, the dispatcher, and the way back into the cache.
//!
//! # Words
//!
//! | here | elsewhere |
//! | --- | --- |
//! | fragment | trace, superblock: up to 16 basic blocks that follow each other |
//! | link | direct branch linking: a jump that is patched once its target is translated |
//! | landing, table | inline cache and look-up table of indirect branches (IBL) |
//! | exit, stub | exit stub: the way out of the cache to the dispatcher |
//! | mark | translation point: how to recreate the program's registers at a cache address |
//! | lane, slots | thread-local storage of the engine, spill slots |
//! | hook | clean call |
//! | version, switch, episode | duplicated code, checks and bursts of bursty tracing |
//! | retire, forget | flush of an arena, of fragments |

mod analyse;
mod blocks;
mod decode;
mod emit;
mod encode;
mod engine;
mod lane;
mod memory;
mod observe;
mod probes;
mod runtime;
mod signal;
mod system;
mod threads;

pub use blocks::passages::enter;
#[cfg(debug_assertions)]
#[doc(hidden)]
pub use engine::calling::lose_thread;
#[doc(hidden)]
pub use engine::room::bound_cache;
#[doc(hidden)]
pub use engine::superblocks::{assume_superblocks, biased_branches, look_at_branches_always};
pub use engine::{
    begin_episode,
    calling::{
        aside, goes_back_to, is_attached, is_called_from_cache, is_on_engine_stack, runs_in_cache, set_name,
        spent, totals,
    },
    count_by_instruction, count_in_memory, end_episode, lead_on, leave_uncounted, mappings_changed,
    observer::Observer,
    process::is_started,
    set_filter, set_mode, tell_totals,
};
pub use lane::watches::{Watched, Watches};
pub use memory::{
    CODE_NAME, MemoryError,
    program::{calls_are_restricted, restrict_calls},
};
pub use observe::{
    hold::{Held, Hold, hold, ticks},
    notes::note,
    streams::flush_streams,
    timing::calibrate::{Calibration, Spread, calibrate},
    watch::{watches, watches_of},
};
pub use probes::{
    batch::{Batch, BatchReader, Block, Repeated},
    coverage::{Coverage, Leave},
    filter::IpSet,
    mode::Mode,
    strata::{DrawnAs, double_periods, doublings},
    timed::Timed,
    totals::{Counts, Totals},
};
pub use runtime::{
    attach::{attach, detach},
    position::{accesses, accesses_at, accesses_of},
    reentry::witness,
    start::{StartError, after_fork, start},
};
pub use signal::{
    actions::{
        adopt as adopt_actions, change_natively as change_action,
        give_back_reserved as give_back_reserved_signals, inherited as inherited_action, kernel_action,
        program_action, reserve_signals, set_program_action,
    },
    context::{Original, catch_up, original_registers},
    defer::defer_signal,
    deliver::entry as deliver_signal,
    kernel::Action as SignalAction,
    own::{OwnSignals, Stack, find_own_signals},
    stacks::{change_natively as change_stack, in_force as stack_in_force},
};
pub use system::aside::{may_end_here, step_aside};
pub use threads::{
    calls::Obstacle,
    spent::Spent,
    stamp::{is_invariant as stamps_are_invariant, now as stamp_now},
};
