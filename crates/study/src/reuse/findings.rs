//! What the reuse study concludes. Plain values: `carom-view` lays them out.

use carom_base::{Addr, LINE_BYTES, ProcessId, Scope, ThreadId};

use super::{Basis, Cache, Cost, Curve, CurveKind, CurveScope, ReusedBy, Unit};
use crate::{
    Estimate,
    recording::Losses,
    symbols::{DataObject, Frame, Loop},
};

/// Everything that `carom reuse` has to say about a recording.
#[derive(Clone, Debug, Default)]
pub struct ReuseFindings {
    /// Numbers of followed uses, and losses.
    pub quality: Quality,
    /// The machine's data caches, the smallest first.
    pub caches: Vec<Cache>,
    /// What the misses of each level cost, the first one first; empty where no curve tells.
    pub costs: Vec<Cost>,
    /// The cache that shares of misses are for, in bytes: the one asked for; else that of the first level, where its misses
    /// cost a third of all; else the machine's private cache of the second level.
    pub chosen_bytes: u64,
    /// Distances and miss ratios, by whose accesses, in which cache, at which granularity: first the curves of all
    /// threads, then those of shared caches, then those of each thread.
    pub curves: Vec<Curve>,
    /// Uses with their reuses, the pair with the largest share of the misses first, at most [`super::MAX_PAIRS`].
    pub pairs: Vec<Pair>,
    /// Pairs beyond that.
    pub other_pairs: usize,
    /// Working sets of all threads, of each thread and of each shared cache, the one with most misses first.
    pub fits: Vec<Fit>,
    /// Lines and objects that threads of one shared cache reuse at different addresses, one of them writing.
    pub false_sharing: Vec<FalseSharing>,
    /// Whether fetching the neighbouring line would pay; `None` where it was not asked for, or nothing tells.
    pub prefetch: Option<Prefetch>,
    /// Present where too few uses were followed up.
    pub not_enough: Option<NotEnough>,
}

impl ReuseFindings {
    /// The curve from which miss ratios of this scope are read: any reuse, stack distances, lines.
    pub fn main_curve(&self, scope: CurveScope) -> Option<&Curve> {
        main_curve(&self.curves, scope)
    }
}

/// See [`ReuseFindings::main_curve`].
pub(super) fn main_curve(curves: &[Curve], scope: CurveScope) -> Option<&Curve> {
    let fits = |curve: &&Curve| {
        let lines = u64::from(curve.granularity) == LINE_BYTES && curve.reused_by != ReusedBy::OtherThread;
        curve.scope == scope && curve.kind == CurveKind::Any && lines && !curve.miss_ratio.is_empty()
    };
    // Exact numbers go before modelled ones, whatever the order in the list.
    curves.iter().filter(fits).min_by_key(|curve| curve.basis != Basis::Exact)
}

/// Too few uses for a curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NotEnough {
    /// Uses whose end was seen.
    pub seen: u64,
    /// Run at least this long, in seconds; `None` where nothing was seen to extrapolate from.
    pub run_seconds: Option<f64>,
}

/// Counts that say how far the numbers can be trusted.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Quality {
    /// Sampled uses that were watched.
    pub uses: u64,
    /// Those that were reused.
    pub reused: u64,
    /// Those that another thread's write ended.
    pub invalidated: u64,
    /// Those whose watch was given to another use. Their distances are lower bounds.
    pub replaced: u64,
    /// Those that neither ended nor were replaced. Their distances are lower bounds.
    pub ended: u64,
    /// Accesses that were followed exactly, at the granularity of a line.
    pub exact_accesses: u64,
    /// Share of the places that were followed in exact mode: 1 is all of them.
    pub place_rate: f64,
    /// Uses were followed in episodes alone, after the beginning of each process.
    pub in_episodes: bool,
    /// What was lost while recording.
    pub losses: Losses,
}

/// An instruction that uses and one that reuses.
#[derive(Clone, Debug)]
pub struct Pair {
    /// Where the instructions are.
    pub process: ProcessId,
    /// In which cache.
    pub scope: Scope,
    /// The call path of the use, innermost function first. In exact mode the instruction alone.
    pub earlier: Vec<Frame>,
    /// The call path of the reuse.
    pub later: Vec<Frame>,
    /// Threads whose reuses they are.
    pub threads: Vec<ThreadId>,
    /// Its share of the misses of each cache that it is in, of the chosen size: of the threads' own ones, or of those of
    /// domains.
    pub share_by_cache: Vec<(CurveScope, f64)>,
    /// The data of most of the reuses, where an address tells.
    pub object: Option<DataObject>,
    /// The innermost loop around the reuse, where some of its reuses miss.
    pub around: Option<Loop>,
    /// Parts of the pair's reuses by kind, in the order of [`carom_base::ReuseKind::ALL`].
    pub by_kind: [f64; 4],
    /// Part of the pair's reuses that are of the very bytes used; `None` where that is not known.
    pub temporal: Option<f64>,
    /// Share of all accesses.
    pub share: f64,
    /// Share of the misses in the chosen cache.
    pub share_of_misses: f64,
    /// Part of the pair's own reuses that miss in the chosen cache.
    pub miss_ratio: f64,
    /// Time distances, in the unit beside; `None` where only stack distances were followed.
    pub time: Option<Quantiles>,
    /// What time distances are counted in.
    pub unit: Unit,
    /// Stack distances in bytes.
    pub stack_bytes: Option<Quantiles>,
    /// The median of those that miss in the chosen cache.
    pub missing_bytes: Option<f64>,
    /// How stack distances came about.
    pub basis: Basis,
    /// Reuses seen.
    pub seen: u64,
}

/// Where most of a distribution lies.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Quantiles {
    /// A tenth is below.
    pub low: f64,
    /// Half is below.
    pub median: f64,
    /// A tenth is above.
    pub high: f64,
}

/// A working set: what would have to fit into a cache to avoid the misses that size can avoid.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// Whose misses.
    pub scope: CurveScope,
    /// The chosen cache, in bytes.
    pub cache_bytes: u64,
    /// Misses by accesses in it.
    pub ratio: Estimate,
    /// Misses by accesses that no size avoids: first accesses and invalidated ones.
    pub compulsory: f64,
    /// The smallest cache that avoids nine in ten of the avoidable misses, in bytes. `None` where there are none to
    /// avoid.
    pub enough_bytes: Option<u64>,
    /// The pair with most of these misses, as an index into [`ReuseFindings::pairs`].
    pub worst_pair: Option<usize>,
    /// Its part of these misses.
    pub worst_share: f64,
    /// Misses in the machine's caches with the sets that they have, modelled. Without those whose sets are not known.
    pub by_geometry: Vec<ByGeometry>,
}

/// What a cache with sets misses, by Smith's model ([`carom_study_stats::reuse::part_missing`]) from stack distances.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ByGeometry {
    /// The size of the cache.
    pub bytes: u64,
    /// Lines of a set.
    pub ways: u32,
    /// Misses by accesses.
    pub ratio: f64,
}

/// An object that threads of one shared cache use and reuse at different addresses of one line, one of them writing
/// (thesis 6.5.6).
#[derive(Clone, Debug)]
pub struct FalseSharing {
    /// The process whose address this is.
    pub process: ProcessId,
    /// First byte of the line with most such reuses.
    pub line: Addr,
    /// What lies there.
    pub object: DataObject,
    /// Reads after another thread's write to other bytes of the line, and writes after one; in accesses where a sample
    /// stands for a number of them, else weighted samples.
    pub read_after_write: f64,
    /// Writes after another thread's write to other bytes of the line.
    pub write_after_write: f64,
    /// Part of the reuses by another thread after a write, of which each moves a line between cores.
    pub share: f64,
    /// Part of all accesses.
    pub share_of_accesses: f64,
    /// Median of the time distances.
    pub distance: f64,
    /// Threads that take part.
    pub threads: Vec<ThreadId>,
    /// Call path of the most frequent use.
    pub earlier: Vec<Frame>,
    /// Call path of its reuse.
    pub later: Vec<Frame>,
    /// Bytes of that use, and of its reuse: what should lie on lines of their own.
    pub parts: [Part; 2],
    /// Events seen.
    pub seen: u64,
}

/// Bytes of a line that are accessed as one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// First byte, from the start of the line.
    pub offset: u32,
    /// Bytes.
    pub width: u32,
    /// The variable or field there, where known.
    pub field: Option<String>,
}

/// The predictor of thesis 6.5.7: fetching the neighbouring line pays where G = Tm - Tfs is not negative.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prefetch {
    /// Tm - Tfs, in seconds of the accesses' latencies.
    pub gain_s: f64,
    /// Reuses of the other line of a 128-byte pair by the same thread that reach memory.
    pub memory_reuses: f64,
    /// Latency of memory, in nanoseconds.
    pub memory_ns: f64,
    /// Reuses by another thread at another address of the pair, close enough to be false sharing.
    pub sharing_reuses: f64,
    /// Latency of a line's way between cores, in nanoseconds.
    pub transfer_ns: f64,
    /// Reuses up to this time distance were taken for false sharing.
    pub cut_off: u64,
    /// A cache of this many bytes was taken to be the last before memory.
    pub last_cache_bytes: u64,
    /// Events that the numbers are from.
    pub events: u64,
}
