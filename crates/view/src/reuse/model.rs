//! The answer of `carom reuse`.

use schemars::JsonSchema;
use serde::Serialize;

pub use super::curve::*;
use crate::model::{Frame, Interval, Object, Real};

/// How far apart the uses of data are, and what caches would miss.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Reuse {
    /// Present where too few uses were followed to their end.
    pub not_enough: Option<NotEnoughUses>,
    /// The machine's data caches, the smallest first.
    pub caches: Vec<DataCache>,
    /// The cache that shares of misses are for, in bytes.
    pub cache_bytes: u64,
    /// Distances and miss ratios: those of all threads first, then of shared caches, then of each thread.
    pub curves: Vec<ReuseCurve>,
    /// The working sets of all threads, of each thread and of each shared cache, the one with most misses in that cache
    /// first.
    pub fits: Vec<ReuseFit>,
    /// Uses with their reuses by instruction, the pair with the largest share of the misses first.
    pub pairs: Vec<ReusePair>,
    /// Pairs that are not in `pairs`.
    pub other_pairs: usize,
    /// Data that threads of one shared cache reuse at different addresses of one line, after a write.
    pub false_sharing: Vec<ReuseFalseSharing>,
    /// Whether fetching neighbouring lines would pay; null where it was not asked for, or nothing tells.
    pub prefetch: Option<PrefetchAdvice>,
    /// Numbers of followed uses, and losses.
    pub quality: ReuseQuality,
}

/// Too few uses for curves.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct NotEnoughUses {
    /// Uses whose end was seen.
    pub uses: u64,
    /// Uses needed.
    pub needed: u64,
    /// Run at least this long, in seconds. Null where nothing was seen to extrapolate from.
    pub run_s: Option<Real>,
}

/// A data or unified cache of the machine.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct DataCache {
    /// 1 is the closest to the core.
    pub level: u32,
    /// Its size.
    pub bytes: u64,
    /// Bytes of a line; null where not known.
    pub line_bytes: Option<u32>,
    /// Lines of a set; null where not known.
    pub ways: Option<u32>,
    /// Logical processors that share one.
    pub shared_by: u32,
    /// True where processors of several cores share it.
    pub shared: bool,
    /// What the misses of all threads in it that size avoids cost by usual latencies, in cycles by access; null where no
    /// curve tells.
    pub miss_cycles: Option<Real>,
}

/// A working set: what would have to fit into a cache to avoid the misses that size can avoid.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ReuseFit {
    /// Whose misses.
    pub scope: ReuseScope,
    /// Id of the thread, where `scope` is `thread`.
    pub thread: Option<u32>,
    /// Number of the group, where `scope` is `shared`.
    pub domain: Option<u32>,
    /// Misses by accesses in a cache of `cache_bytes`.
    pub miss_ratio: Interval,
    /// Misses by accesses that no size avoids: first accesses and invalidated ones.
    pub compulsory: Real,
    /// The smallest cache that avoids nine in ten of the misses that size can avoid; null where there are next to none.
    pub enough_bytes: Option<u64>,
    /// Index into `pairs` of the pair with most of the misses.
    pub worst_pair: Option<usize>,
    /// Its share of the misses.
    pub worst_share: Real,
    /// Misses by accesses in those of the machine's caches whose sets are known, by Smith's model from the stack
    /// distances: modelled, whatever these are.
    pub by_geometry: Vec<ReuseGeometry>,
}

/// What a cache with sets misses, modelled.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct ReuseGeometry {
    /// The size of the cache.
    pub bytes: u64,
    /// Lines of a set.
    pub ways: u32,
    /// Misses by accesses.
    pub ratio: Real,
}

/// An instruction that uses and one that reuses.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ReusePair {
    /// Id of the process.
    pub process: u32,
    /// In which cache: `thread` or `shared`.
    pub scope: ReuseScope,
    /// The use.
    #[serde(rename = "use")]
    pub earlier: ReuseSite,
    /// The reuse.
    pub reuse: ReuseSite,
    /// Ids of the threads that reuse.
    pub threads: Vec<u32>,
    /// The data that is reused, where an address tells.
    pub object: Option<Object>,
    /// The innermost loop around the reuse, where known.
    #[serde(rename = "loop", skip_serializing_if = "Option::is_none")]
    pub around: Option<ReuseLoop>,
    /// Parts of its reuses: read after read, read after write, write after write, write after read.
    pub by_kind: [Real; 4],
    /// Part of its reuses that are of the very bytes used; null where that is not known.
    pub temporal: Option<Real>,
    /// Share of all accesses.
    pub share: Real,
    /// Share of the misses in a cache of `cache_bytes`.
    pub share_of_misses: Real,
    /// Part of its own reuses that miss there.
    pub miss_ratio: Real,
    /// Time distances; null where they were not followed.
    pub time: Option<ReuseQuantiles>,
    /// What `time` counts.
    pub time_unit: ReuseUnit,
    /// Stack distances in bytes: what a cache would have to hold.
    pub stack_bytes: Option<ReuseQuantiles>,
    /// The median of those that miss in a cache of `cache_bytes`; null where none does.
    pub missing_bytes: Option<Real>,
    /// How `stack_bytes` and the shares of misses came about.
    pub basis: ReuseBasis,
    /// Reuses seen.
    pub seen: u64,
    /// What makes its reuses hit, where it has misses that matter and something is known to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

/// A loop around an instruction that accesses memory.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ReuseLoop {
    /// Its source file.
    pub file: Option<String>,
    /// Its source line.
    pub line: Option<u32>,
    /// Bytes by which the instruction's operand moves from round to round, read from the code; null where that is not always
    /// the same, or not told by this loop alone.
    pub step_bytes: Option<i64>,
}

/// Where an instruction is.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ReuseSite {
    /// Innermost function, where known.
    pub function: Option<String>,
    /// Its source file.
    pub file: Option<String>,
    /// Its source line.
    pub line: Option<u32>,
    /// The call path, innermost first.
    pub call_path: Vec<Frame>,
}

/// Where most of a distribution lies.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct ReuseQuantiles {
    /// A tenth is below.
    pub p10: Real,
    /// Half is below.
    pub median: Real,
    /// A tenth is above.
    pub p90: Real,
}

/// Data that threads of one shared cache reuse at different addresses of one line, after a write: lines move.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ReuseFalseSharing {
    /// Id of the process.
    pub process: u32,
    /// First byte of the line with most of it, in hexadecimal.
    pub address: String,
    /// What lies there.
    pub object: Object,
    /// Reads after a write of another thread beside, in accesses, estimated.
    pub raw: Real,
    /// Writes after one.
    pub waw: Real,
    /// Share of the reuses by another thread after a write, of which each moves a line between cores.
    pub share: Real,
    /// Share of all accesses.
    pub share_of_accesses: Real,
    /// Median time distance.
    pub distance: Real,
    /// Ids of the threads.
    pub threads: Vec<u32>,
    /// The most frequent use.
    #[serde(rename = "use")]
    pub earlier: ReuseSite,
    /// Its reuse.
    pub reuse: ReuseSite,
    /// Bytes of that use.
    pub use_bytes: ReusePart,
    /// Bytes of that reuse.
    pub reuse_bytes: ReusePart,
    /// Events seen.
    pub seen: u64,
}

/// Bytes of a line that are accessed as one.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ReusePart {
    /// First byte, from the start of the line.
    pub offset_bytes: u32,
    /// How many.
    pub width_bytes: u32,
    /// The variable or field there, where known.
    pub field: Option<String>,
}

/// The predictor G = Tm - Tfs: fetching neighbouring lines is predicted to pay where it is not negative.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct PrefetchAdvice {
    /// True where `gain_s` is not negative.
    pub pays: bool,
    /// G, in seconds of latencies.
    pub gain_s: Real,
    /// G divided by the program's CPU time. A value near 0 makes no difference, whatever its sign.
    pub gain_by_cpu_time: Real,
    /// Spatial reuses by the same thread that reach memory.
    pub memory_reuses: Real,
    /// Latency of memory.
    pub memory_ns: Real,
    /// Spatial reuses by another thread after a write that are close enough to be false sharing.
    pub sharing_reuses: Real,
    /// Latency from another core's cache.
    pub transfer_ns: Real,
    /// Accesses: a reuse below this distance was taken to be false sharing.
    pub cut_off: u64,
    /// The cache taken to be the last before memory.
    pub last_cache_bytes: u64,
}

/// Numbers of followed uses, and losses.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct ReuseQuality {
    /// Accesses that were followed exactly; 0 where uses were sampled.
    pub exact_accesses: u64,
    /// Share of the places that were followed in exact mode.
    pub place_rate: Real,
    /// Accesses were looked up at the beginning of each process, and later in episodes, a tenth of the run; false: all the
    /// time.
    pub in_episodes: bool,
    /// Sampled uses that were offered to the detector.
    pub offered: u64,
    /// Those that were watched.
    pub watched: u64,
    /// Those that were reused.
    pub reused: u64,
    /// Those that another thread's write ended.
    pub invalidated: u64,
    /// Those whose watch was given to another use.
    pub replaced: u64,
    /// Those that were never used again while they were watched.
    pub ended: u64,
    /// From sample to watch, on average; null where none was set. An invalidation in it is missed.
    pub window_ns: Option<Real>,
    /// Watches of other threads that were set.
    pub threads_armed: u64,
    /// Watches of other threads that could not be set.
    pub threads_unarmed: u64,
    /// Uses that another thread touched while their own was held by the profiler, and that their own would have touched
    /// before: the former is left out.
    pub early_touches: u64,
    /// Counts of the exact mode that found no room.
    pub cells_lost: u64,
}
