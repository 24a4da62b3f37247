//! Distances and miss ratios, in the answer of `carom reuse`.

use schemars::JsonSchema;
use serde::Serialize;

use crate::model::Real;

/// Distances of one kind, and the miss ratios that follow.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ReuseCurve {
    /// Whose accesses.
    pub scope: ReuseScope,
    /// Id of the thread, where `scope` is `thread`.
    pub thread: Option<u32>,
    /// Number of the group of threads that share the cache, where `scope` is `shared`.
    pub domain: Option<u32>,
    /// By whom a place is reused.
    pub reused_by: ReusedBy,
    /// Which reuses.
    pub kind: ReuseKinds,
    /// Which distance.
    pub distance: ReuseDistance,
    /// What `low` and `high` of the histogram count.
    pub unit: ReuseUnit,
    /// Bytes of a place. 1: the very range of bytes that was accessed.
    pub granularity_bytes: u32,
    /// How the numbers came about.
    pub basis: ReuseBasis,
    /// The model, where `basis` is `modelled`.
    pub model: Option<ReuseModel>,
    /// Accesses that the curve stands for: counted where `basis` is `exact`, else estimated.
    pub accesses: Real,
    /// Uses or accesses that were followed.
    pub observations: u64,
    /// Part of the accesses that are reused (sampled) or are reuses (exact).
    pub reused: Real,
    /// Part of the accesses whose place another thread's write took away before the next access.
    pub invalidated: Real,
    /// Part of the accesses whose place is not used again (sampled) or had not been used before (exact).
    pub once: Real,
    /// Reuses by distance, ascending; bins without reuses are left out. Fractions are of the reuses and add up to 1.
    pub histogram: Vec<ReuseBin>,
    /// Miss ratios of fully associative caches that replace the least recently used line, ascending in size. Empty where
    /// distances are not stack distances of lines.
    pub miss_ratio: Vec<MissRatioPoint>,
}

/// Whose accesses a curve is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReuseScope {
    /// One thread, in a cache of its own.
    Thread,
    /// All threads, each in a cache of its own, weighted by their accesses.
    All,
    /// A group of threads, in the cache that they share.
    Shared,
}

/// By whom a place is reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReusedBy {
    /// The thread that used it.
    SameThread,
    /// Another thread of the group.
    OtherThread,
    /// Any thread of the group: what a shared cache is concerned with.
    AnyThread,
}

/// Which reuses a curve is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReuseKinds {
    /// Of the very bytes that were used.
    Temporal,
    /// Of other bytes of the same line.
    Spatial,
    /// Of the place, whichever bytes.
    Any,
}

/// Which distance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReuseDistance {
    /// Accesses strictly between use and reuse.
    Time,
    /// Different places strictly between.
    Stack,
}

/// What a distance counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReuseUnit {
    /// Accesses strictly between.
    Accesses,
    /// Nanoseconds from use to reuse.
    Ns,
    /// Different places strictly between, of `granularity_bytes` each.
    Places,
}

impl ReuseUnit {
    /// The plural noun.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Accesses => "accesses",
            Self::Ns => "ns",
            Self::Places => "places",
        }
    }

    /// The noun for this number.
    pub const fn name_of(self, number: u64) -> &'static str {
        match (self, number) {
            (Self::Accesses, 1) => "access",
            (Self::Places, 1) => "place",
            _ => self.name(),
        }
    }
}

/// How numbers came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReuseBasis {
    /// Every access was followed.
    Exact,
    /// A sample of the accesses, or of the places, was followed.
    Sampled,
    /// Computed by a model from samples.
    Modelled,
}

impl ReuseBasis {
    /// The adjective.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Sampled => "sampled",
            Self::Modelled => "modelled",
        }
    }
}

/// How stack distances follow from time distances.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReuseModel {
    /// StatStack.
    Statstack,
    /// Average footprint (higher-order theory of locality).
    Footprint,
}

impl ReuseModel {
    /// The name for people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Statstack => "StatStack",
            Self::Footprint => "average footprint",
        }
    }
}

/// Reuses with distances from `low` on, below `high`.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct ReuseBin {
    /// The smallest distance in it.
    pub low: u64,
    /// One more than the largest; null where there is no bound.
    pub high: Option<u64>,
    /// Part of the reuses.
    pub fraction: Real,
    /// The same for read after read, read after write, write after write, write after read. They add up to `fraction`.
    pub by_kind: [Real; 4],
}

/// The miss ratio of a cache.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct MissRatioPoint {
    /// Its size.
    pub bytes: u64,
    /// Misses by accesses.
    pub ratio: Real,
    /// Lower end of the 95% band; equal to `ratio` where `basis` is `exact`.
    pub low: Real,
    /// Upper end of the 95% band.
    pub high: Real,
}
