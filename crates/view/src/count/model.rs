//! The answer of `carom count`.

use schemars::JsonSchema;
use serde::Serialize;

use crate::model::Real;

/// What was counted exactly. Whole numbers of up to 64 bits: read them as such where a double will not do.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Counts {
    /// Every event, always in the same order.
    pub events: Vec<CountedEvent>,
    /// How much of the run the counts cover.
    pub coverage: CountCoverage,
}

/// One event in every thread and process.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CountedEvent {
    /// Which: `instructions`, `loads`, `stores`, `loaded-bytes`, `stored-bytes`, `branches`, `branches-taken`,
    /// `calls`, `returns`, `atomics`, `system-calls`.
    pub name: String,
    /// What one of it is: `instructions`, `accesses`, `bytes`, `calls`.
    pub unit: String,
    /// All threads together; null where no thread counted it.
    pub total: Option<u64>,
    /// By thread, in the order of `threads`; null where it was not counted in the thread.
    pub values: Vec<Option<u64>>,
    /// By process, in the order of `processes`; null where no thread of the process counted it.
    pub by_process: Vec<Option<u64>>,
}

/// How much of the run the counts cover.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CountCoverage {
    /// Part of the threads' CPU time that is counted, 0 to 1: the lesser of `books` and `witness`; null where no time was
    /// measured.
    pub fraction: Option<Real>,
    /// That part by the engine's own books: `translated_ns / (translated_ns + native_ns)`.
    pub books: Option<Real>,
    /// That part by a timer that looks where threads are: `(translated_ns - unbooked_ns) / (translated_ns + native_ns)`;
    /// null where it never looked.
    pub witness: Option<Real>,
    /// CPU time during which everything was counted, in nanoseconds.
    pub translated_ns: u64,
    /// CPU time during which nothing was counted, in nanoseconds.
    pub native_ns: u64,
    /// Of `translated_ns`, the time for which the timer found threads in native code all the same.
    pub unbooked_ns: u64,
    /// How often the timer has looked.
    pub ticks: u64,
    /// Counted threads that had no timer, or not to their end.
    pub unwitnessed_threads: u64,
    /// Threads in which nothing was counted.
    pub uncounted_threads: u64,
    /// How often threads left the counted code for native code, by reason.
    pub leaves: Vec<Leave>,
}

/// Leaves for one reason.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Leave {
    /// The reason, stable, in kebab case.
    pub reason: String,
    /// The reason in a few words.
    pub text: String,
    /// How often.
    pub times: u64,
}
