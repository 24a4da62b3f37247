//! The answer of `carom diff`: a contract of its own. The doc comments speak to readers of the JSON.

use schemars::{JsonSchema, Schema, generate::SchemaSettings};
use serde::Serialize;

pub use super::count::model::*;
use crate::model::{Carom, Frame, Interval, MatrixUnit, Object, Real, Warning};

/// What a change of a program did to the findings.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Diff {
    /// Who wrote this.
    pub carom: Carom,
    /// The answer in a few sentences.
    pub verdict: String,
    /// The recordings before the change.
    pub before: DiffSide,
    /// The recordings after it.
    pub after: DiffSide,
    /// How differences between runs of one program were taken into account.
    pub spread: Spread,
    /// What was asked to fail, and whether it did.
    pub gate: Gate,
    /// Contended data. Present where both sides recorded sharing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share: Option<ShareDiff>,
    /// Misses. Present where both sides recorded reuse.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reuse: Option<ReuseDiff>,
    /// Counts, and what runs used. Present where both sides counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<CountDiff>,
    /// What to know before trusting the numbers.
    pub warnings: Vec<Warning>,
}

/// The recordings of one side.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DiffSide {
    /// Their directories.
    pub profiles: Vec<String>,
    /// The command line of the first.
    pub argv: Vec<String>,
    /// How many runs they are of: the profiles of all ranks of a program are one.
    pub runs: usize,
}

/// How differences between runs of one program were taken into account.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct Spread {
    /// Whether the recordings tell.
    pub basis: SpreadBasis,
    /// The standard deviation between runs of the logarithm of the odds, where it is assumed.
    pub assumed: Option<Real>,
}

/// Whether the recordings tell how much runs differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SpreadBasis {
    /// A side has several runs.
    Measured,
    /// Each side is one run.
    Assumed,
}

/// What was asked to fail, and whether it did.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Gate {
    /// The largest increase that passes, as a part of all accesses (`--fail-above`).
    pub fail_above: Option<Real>,
    /// Whether a new finding fails (`--fail-if-new`).
    pub fail_if_new: bool,
    /// What counts may be, or grow by (`--fail-if`, `--budget`).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<EventCondition>,
    /// Whether anything failed: the exit status is 124 then.
    pub failed: bool,
    /// For people: what failed.
    pub reasons: Vec<String>,
}

/// A quantity before and after: parts of 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Change {
    /// The mean of the runs before, with its sampling error.
    pub before: Interval,
    /// The mean of the runs after, with its sampling error.
    pub after: Interval,
    /// After less before, with the sampling error and the differences between runs.
    pub difference: Interval,
    /// How likely runs of one program differ as much, corrected for the number of comparisons.
    pub probability: Real,
    /// Whether that is below 5%: whether it is a change.
    pub significant: bool,
}

/// What became of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Fate {
    /// It was there before, and would have been seen after.
    Gone,
    /// It is there after, and would have been seen before.
    New,
    /// It is there on both sides, and smaller after.
    Smaller,
    /// It is there on both sides, and larger after.
    Larger,
    /// It is there on both sides, without a change that is more than chance.
    Left,
    /// It was seen on one side, too seldom to say that it is not on the other.
    Undecided,
}

impl Fate {
    /// The word for people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gone => "gone",
            Self::New => "new",
            Self::Smaller => "smaller",
            Self::Larger => "larger",
            Self::Left => "left",
            Self::Undecided => "undecided",
        }
    }
}

/// Contended data before and after.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ShareDiff {
    /// What volumes count. Shares are of thread time where it is `samples`, else of the sampled accesses.
    pub unit: MatrixUnit,
    /// The share that all contended lines take.
    pub contended_share: Change,
    /// False sharing as a fraction of all sharing; null with too little data on a side.
    pub false_fraction: Option<Change>,
    /// Contended data by name, the largest change first.
    pub findings: Vec<ObjectDiff>,
    /// Findings that were not compared: below `smallest` on both sides.
    pub too_small: usize,
    /// The share of the smallest line that either side would surely have shown.
    pub smallest: Real,
}

/// One contended object before and after.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ObjectDiff {
    /// What became of it.
    pub fate: Fate,
    /// What became of the false sharing on it; null where it is contended on one side only, and where none was seen.
    pub false_sharing_fate: Option<Fate>,
    /// The data: as it is after, else as it was before.
    pub object: Object,
    /// The share that its lines take or, where it is spread over many lines with few samples each, the part of the accesses that
    /// follow another thread's write of it.
    pub share: Change,
    /// Volumes before, the mean of the runs.
    pub before: Volumes,
    /// Volumes after.
    pub after: Volumes,
}

/// Volumes of sharing, in `unit`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Volumes {
    /// True sharing.
    #[serde(rename = "true")]
    pub true_sharing: Real,
    /// False sharing.
    #[serde(rename = "false")]
    pub false_sharing: Real,
}

/// Misses before and after.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ReuseDiff {
    /// Size of the cache that would miss.
    pub cache_bytes: u64,
    /// Misses by accesses, of all threads.
    pub miss_ratio: Change,
    /// Pairs of places in the code, the largest change first.
    pub findings: Vec<PairDiff>,
    /// Pairs that were not compared: they make less than a twentieth of the misses on both sides.
    pub too_small: usize,
}

/// A use and its reuse before and after.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PairDiff {
    /// What became of it.
    pub fate: Fate,
    /// Where the data is used: the call path, innermost first. As it is after, else as it was before.
    #[serde(rename = "use")]
    pub earlier: Vec<Frame>,
    /// Where it is reused.
    pub reuse: Vec<Frame>,
    /// The data, where an address tells.
    pub object: Option<Object>,
    /// Its misses by all accesses of the program.
    pub misses: Change,
}

/// The JSON Schema (draft 2020-12) of [`Diff`] as it is written.
pub fn schema() -> Schema {
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<Diff>()
}
