use std::ops::AddAssign;

use carom_base::{Nanos, ProcessId, ThreadId};
use serde::{Deserialize, Serialize};

use super::{ThreadCounts, plain};

/// One thread of the recording.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadInfo {
    /// Its number, which is its index in [`crate::Manifest::threads`].
    #[serde(with = "plain")]
    pub id: ThreadId,
    /// Its process.
    #[serde(with = "plain")]
    pub process: ProcessId,
    /// Its number in the kernel's eyes. The kernel may have given it to another thread before or since.
    pub tid: u32,
    /// Its number in its process, in the order in which the agent met them.
    pub serial: u32,
    /// Its name when it was last looked at.
    pub name: String,
    /// True for the thread that runs `main`.
    pub main: bool,
    /// When it was met.
    #[serde(with = "plain")]
    pub started: Nanos,
    /// When it ended, where that was seen.
    #[serde(with = "plain::option", default)]
    pub ended: Option<Nanos>,
    /// CPU time that it used while it was observed, in nanoseconds.
    pub cpu_ns: u64,
    /// First byte of its stack; 0 where not known.
    pub stack_low: u64,
    /// One past the last byte of its stack; 0 where not known.
    pub stack_high: u64,
    /// What was done in it, and what was lost.
    pub counters: ThreadCounters,
    /// What was counted exactly in it; `None` where nothing was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counts: Option<ThreadCounts>,
    /// The domain of shared caches that it was in, where reuse was looked for. 255: one that no group names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain: Option<u32>,
}

/// Declares the counters once, for the struct and for the sum.
macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// What the agent did in a thread, and what it lost. Every loss has a counter of its own.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(default)]
        pub struct ThreadCounters {
            $($(#[$doc])* pub $name: u64,)*
        }

        impl AddAssign for ThreadCounters {
            fn add_assign(&mut self, other: Self) {
                // Counters come from memory that the profiled program could have scribbled over.
                $(self.$name = self.$name.saturating_add(other.$name);)*
            }
        }
    };
}

counters! {
    /// Timer interrupts.
    timer_samples,
    /// Bursts begun.
    bursts,
    /// Instructions stepped over by trap.
    steps,
    /// Instructions walked without a trap.
    walked,
    /// Addresses looked up on the bulletin board.
    lookups,
    /// Writes published on the bulletin board.
    published,
    /// Writes that found their slot taken.
    collisions,
    /// Watchpoints set.
    armed,
    /// Watchpoints that trapped.
    traps,
    /// Traps of watchpoints that had been moved or disarmed by then.
    traps_stale,
    /// Records that did not fit the ring.
    dropped_records,
    /// Call paths that were cut.
    stacks_truncated,
    /// Call paths that found no room and were not kept.
    stacks_dropped,
    /// 1 where the program closed the sampler's descriptors.
    sampler_lost,
    /// Samples of memory accesses whose address could not be told.
    unaddressed,
    /// What the budget left out: step samples (`burst`), or watchpoints of sharing (`translate`). Before `uses_skipped` was
    /// counted also samples of reuse.
    budget_skipped,
    /// Watchpoints that could not be set.
    arm_failures,
    /// Look-ups of heap objects that found the table locked.
    objects_unknown,
    /// Interrupted system calls made again on the program's behalf (POSIX timers).
    calls_restarted,
    /// Interrupted system calls that the program saw fail with EINTR (POSIX timers).
    calls_interrupted,
    /// Sampled uses that the reuse detector was shown.
    uses,
    /// Those of them that a watch was set for.
    uses_armed,
    /// Time from samples to when their watches were set, all together, in nanoseconds: what happened in it is missed.
    arm_ns,
    /// Other threads' watches set for uses of this thread.
    threads_armed,
    /// Other threads' watches that could not be set for uses of this thread.
    threads_unarmed,
    /// Counts of the exact mode that could not be written.
    cells_lost,
    /// Uses that were given up because too many accesses to other bytes of their line came in between.
    undecided,
    /// Uses that another thread touched while their own stood in the profiler, and their own would have touched before.
    early_touches,
    /// 1 where no timer witnessed that the thread ran counted code, or not to its end.
    unwitnessed,
    /// Samples that the budget kept from becoming uses (`translate`).
    uses_skipped,
    /// Touches of watched uses.
    uses_touched,
}
