use serde::{Deserialize, Serialize};

/// Exact counts of one thread, as its engine last stored them. `None`: the engine does not count this event.
///
/// None of them includes the kernel's accesses, or what ran natively (`native_ns`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ThreadCounts {
    /// Instructions executed.
    pub instructions: Option<u64>,
    /// Loads.
    pub loads: Option<u64>,
    /// Stores.
    pub stores: Option<u64>,
    /// Bytes loaded.
    pub loaded_bytes: Option<u64>,
    /// Bytes stored.
    pub stored_bytes: Option<u64>,
    /// Branches: jumps, taken or not, calls and returns.
    pub branches: Option<u64>,
    /// Branches that did not fall through.
    pub branches_taken: Option<u64>,
    /// Calls.
    pub calls: Option<u64>,
    /// Returns.
    pub returns: Option<u64>,
    /// Atomic instructions.
    pub atomics: Option<u64>,
    /// Entries into the kernel.
    pub system_calls: Option<u64>,
    /// CPU time during which everything was counted, in nanoseconds.
    pub translated_ns: u64,
    /// CPU time during which nothing was counted, since carom first saw the thread, in nanoseconds.
    pub native_ns: u64,
    /// The part of `translated_ns` for which a timer found the thread in native code nevertheless, in nanoseconds.
    pub unbooked_ns: u64,
    /// How often that timer looked.
    pub ticks: u64,
    /// How often counting paused, and why.
    pub leaves: Leaves,
}

/// How often a thread left the counted code for native code, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Leaves {
    /// Code that cannot be translated, such as a just-in-time compiler's.
    pub foreign_code: u64,
    /// An instruction that is not translated.
    pub instruction: u64,
    /// A function that always runs natively.
    pub native_call: u64,
    /// A new thread, until it reached translated code.
    pub thread_start: u64,
    /// A signal whose frame could not be translated between the cache and the original code.
    pub signal_frame: u64,
    /// No room for more translated code.
    pub no_memory: u64,
    /// Counting ended before the thread did.
    pub ended: u64,
    /// Anything else.
    pub other: u64,
    /// The program's own use of GS, in this thread.
    pub program_gs: u64,
    /// The process stepped aside, and this thread with it.
    pub stepped_aside: u64,
}
