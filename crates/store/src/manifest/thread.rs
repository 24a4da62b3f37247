use std::ops::AddAssign;

use carom_base::{Counter, Nanos, ProcessId, ThreadId};
use serde::{Deserialize, Serialize};

use super::{SimulatedCounts, ThreadCounts, plain};

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
    /// The thread pointer, below which thread-local variables lie; 0 where not known.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub thread_pointer: u64,
    /// Where the frames on its stack lay when it made other threads, innermost first, without repetition.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub frames: Vec<Vec<FrameInfo>>,
    /// Work of the profiler in it, and losses.
    pub counters: ThreadCounters,
    /// Its exact counts; `None` where nothing was counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counts: Option<ThreadCounts>,
    /// What simulated caches did with its accesses; `None` where none were simulated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulated: Option<SimulatedCounts>,
    /// The domain of shared caches that it was in, where reuse was looked for. 255: one that no group names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain: Option<u32>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// A frame on a stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrameInfo {
    /// An instruction of its function: behind the innermost frame a return address.
    pub ip: u64,
    /// One past its last byte, where the caller's frame begins: the canonical frame address.
    pub end: u64,
}

/// Declares the counters once: each field with the [`Counter`] of the agent that it has.
macro_rules! counters {
    ($($name:ident = $counter:ident,)*) => {
        /// What the agent did in a thread, and what it lost, each as the [`Counter`] of that name.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(default)]
        pub struct ThreadCounters {
            $(#[doc = concat!("[`Counter::", stringify!($counter), "`].")] pub $name: u64,)*
        }

        impl ThreadCounters {
            /// The counters of a thread, each of which `of` reads.
            pub fn read(of: impl Fn(Counter) -> u64) -> Self {
                Self { $($name: of(Counter::$counter),)* }
            }
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
    timer_samples = TimerSamples,
    bursts = Bursts,
    steps = Steps,
    walked = Walked,
    lookups = Lookups,
    published = Published,
    collisions = Collisions,
    armed = Armed,
    traps = Traps,
    traps_stale = StaleTraps,
    dropped_records = DroppedRecords,
    stacks_truncated = TruncatedStacks,
    sampler_lost = SamplerLost,
    budget_skipped = BudgetSkipped,
    arm_failures = ArmFailures,
    objects_unknown = ObjectsUnknown,
    calls_restarted = RestartedCalls,
    calls_interrupted = InterruptedCalls,
    uses = Uses,
    uses_armed = UsesArmed,
    arm_ns = ArmNanos,
    threads_armed = ThreadsArmed,
    threads_unarmed = ThreadsUnarmed,
    cells_lost = CellsLost,
    undecided = Undecided,
    early_touches = EarlyTouches,
    unwitnessed = Unwitnessed,
    uses_skipped = UsesSkipped,
    uses_touched = UsesTouched,
}
