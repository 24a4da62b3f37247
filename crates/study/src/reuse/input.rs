use carom_base::{LINE_BYTES, ReuseCell, ReuseEvent, ThreadId};

use super::Unit;
use crate::recording::Input;

/// What the study needs to know of a recording, beyond what every study does. Filled from a store in `recording.rs`, by hand in tests.
///
/// Events and cells are read front to back, so that a recording never has to fit in memory.
pub trait ReuseInput: Input {
    /// The thread of the first run that this thread of any run is added to.
    fn in_first_run(&self, thread: ThreadId) -> ThreadId {
        thread
    }

    /// The machine's data and unified caches, in any order.
    fn caches(&self) -> Vec<Cache>;

    /// What the time distances of events are in: accesses or nanoseconds.
    fn unit(&self) -> Unit;

    /// Loads and stores that a thread executed, where they were counted.
    fn accesses(&self, thread: ThreadId) -> Option<u64>;

    /// The group of threads that share a cache with this one.
    fn domain(&self, thread: ThreadId) -> u32;

    /// Accesses that an event of weight 1 stands for; 1 where samples stand for something else.
    fn period(&self) -> f64;

    /// Share of the places that the exact mode followed: 1, or the rate of SHARDS.
    fn place_rate(&self) -> f64;

    /// Whether accesses were looked up in episodes, after the beginning of each process.
    fn in_episodes(&self) -> bool {
        false
    }

    /// Latencies of this machine, where they are known.
    fn latencies(&self) -> Option<Latencies>;

    /// Every sampled use with what became of it, in any order.
    fn events(&self) -> Box<dyn Iterator<Item = ReuseEvent> + '_>;

    /// Counts of the exact mode, in any order; equal keys add up.
    fn cells(&self) -> Box<dyn Iterator<Item = ReuseCell> + '_>;
}

/// A data or unified cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cache {
    /// 1 is the closest to the core.
    pub level: u32,
    /// Its size.
    pub bytes: u64,
    /// Bytes of a line; 0 where not known.
    pub line_bytes: u32,
    /// Lines of a set; 0 where not known.
    pub ways: u32,
    /// Logical processors that share one.
    pub shared_by: u32,
    /// True where processors of several cores share it.
    pub shared: bool,
}

/// What moving a line costs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Latencies {
    /// From memory, in nanoseconds.
    pub memory_ns: f64,
    /// From another core's cache, in nanoseconds.
    pub transfer_ns: f64,
}

/// The parameters of the study.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ReuseOptions {
    /// Bins of the histograms.
    pub bins: super::Bins,
    /// The cache that shares of misses are for, in bytes; `None`: see [`super::ReuseFindings::chosen_bytes`].
    pub cache_bytes: Option<u64>,
    /// Whether to predict what fetching neighbouring lines would do.
    pub prefetch: bool,
}

/// Assumed where the recording does not have the machine's caches.
pub(super) const USUAL_L2_BYTES: u64 = 1 << 20;

/// The cache that shares of misses are for unless those of the first level cost more: the largest private one, else a usual
/// one.
pub(super) fn chosen(caches: &[Cache], options: &ReuseOptions) -> u64 {
    let private = caches.iter().filter(|cache| !cache.shared);
    let largest = private.max_by_key(|cache| cache.bytes).map(|cache| cache.bytes);
    options.cache_bytes.or(largest).unwrap_or(USUAL_L2_BYTES).max(LINE_BYTES)
}
