//! Distances and miss ratios, as values.

use carom_base::{DistanceKind, ThreadId};

use crate::Estimate;

/// Whose accesses a curve is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CurveScope {
    /// All threads, each in a cache of its own, weighted by their accesses.
    All,
    /// The threads of a domain, in the cache that they share.
    Shared(u32),
    /// One thread, in a cache of its own.
    Thread(ThreadId),
}

/// By whom a place is reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReusedBy {
    /// The thread that used it (definition 6.2.1 of the thesis).
    SameThread,
    /// Another thread of the domain (definition 6.2.3 of the thesis).
    OtherThread,
    /// Any thread of the domain: what a shared cache is concerned with.
    AnyThread,
}

/// Which reuses a curve is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CurveKind {
    /// Of the very bytes that were used.
    Temporal,
    /// Of other bytes of the same place.
    Spatial,
    /// Of the place, whichever bytes: what a cache is concerned with.
    Any,
}

/// How numbers came about. Never mixed in one curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Basis {
    /// Every access was followed.
    Exact,
    /// A sample of the accesses, or of the places, was followed.
    Sampled,
    /// Computed by a model from what was sampled.
    Modelled(Model),
}

/// How stack distances follow from time distances.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Model {
    /// StatStack (Eklov and Hagersten, ISPASS 2010).
    StatStack,
    /// Average footprint, higher-order theory of locality (Xiang and others, ASPLOS 2013).
    Footprint,
}

/// What a distance is counted in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unit {
    /// Accesses strictly between use and reuse.
    #[default]
    Accesses,
    /// Nanoseconds from one to the other, on an engine that cannot count.
    Nanoseconds,
    /// Different places strictly between, each of the curve's granularity.
    Places,
}

/// Distances of one kind, and the miss ratios that follow.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// Whose accesses.
    pub scope: CurveScope,
    /// By whom a place is reused.
    pub reused_by: ReusedBy,
    /// Which reuses.
    pub kind: CurveKind,
    /// Of which distance.
    pub distance: DistanceKind,
    /// What a distance is counted in.
    pub unit: Unit,
    /// Bytes of a place; 1 is the very range of bytes that was accessed.
    pub granularity: u32,
    /// How the numbers came about.
    pub basis: Basis,
    /// Accesses that the curve stands for: followed, or estimated from the sample.
    pub accesses: f64,
    /// Uses that were watched to their end or until they were given up, or accesses that were followed.
    pub observations: u64,
    /// What became of the accesses, as fractions of all.
    pub outcomes: Outcomes,
    /// Reuses by distance, in ascending order, none empty. Fractions add up to 1, of the reuses alone.
    pub histogram: Vec<Bin>,
    /// Miss ratios of fully associative caches with the least recently used line replaced, ascending in size. Empty
    /// where the distances are no stack distances.
    pub miss_ratio: Vec<MissRatio>,
}

/// What becomes of an access: fractions of all that add up to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Outcomes {
    /// Its place is reused (sampled), or it is itself a reuse (exact).
    pub reused: f64,
    /// Its place is written by another first, or had been.
    pub invalidated: f64,
    /// Its place is not used again (sampled), or had not been used before (exact); in a curve of reuses by other
    /// threads alone, not by another thread.
    pub once: f64,
}

/// A bin of a histogram: distances from `low` on, below `high`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bin {
    /// The smallest distance in it.
    pub low: u64,
    /// One more than the largest; `u64::MAX` for no bound.
    pub high: u64,
    /// Part of the reuses.
    pub fraction: f64,
    /// The same, by kind, in the order of [`carom_base::ReuseKind::ALL`]. Adds up to `fraction`; all 0 where the kinds
    /// are not known.
    pub by_kind: [f64; 4],
}

/// The miss ratio of a cache.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MissRatio {
    /// Its size in bytes.
    pub bytes: u64,
    /// Misses by accesses, with a 95% band; without width where every access was followed.
    pub ratio: Estimate,
}
