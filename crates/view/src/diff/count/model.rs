//! Counts before and after: the JSON.

use schemars::JsonSchema;
use serde::Serialize;

use crate::model::Real;

/// What runs counted and used, before and after.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CountDiff {
    /// Every quantity that a side knows: the largest change first, then what changed by no more than chance, then what is the
    /// same in all runs.
    pub events: Vec<EventDiff>,
    /// What decides whether a change is one.
    pub decided_by: DecidedBy,
}

/// What decides whether a change is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DecidedBy {
    /// Welch's test and the rank-sum test, which both must find it.
    WelchAndRanks,
    /// Welch's test alone, which assumes normal distributions: with so few runs, ranks cannot tell.
    Welch,
}

/// A quantity before and after.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct EventDiff {
    /// Which, as `carom count --list` has it.
    pub name: String,
    /// What one of it is.
    pub unit: String,
    /// How it is known.
    pub basis: EventBasis,
    /// What became of it.
    pub outcome: EventOutcome,
    /// The values of the runs before.
    pub before: Vec<Real>,
    /// The values of the runs after.
    pub after: Vec<Real>,
    /// The mean after by the mean before, less 1; null where the mean before is 0.
    pub relative_change: Option<Real>,
    /// Lower end of its 95% interval; null where it has none.
    pub low: Option<Real>,
    /// Upper end of its 95% interval.
    pub high: Option<Real>,
    /// The difference in standard deviations, without the bias of small samples (Hedges' g); null where values do not vary.
    pub hedges_g: Option<Real>,
    /// How likely runs of one program differ as much; null with fewer than two runs on a side, and where all values are
    /// equal.
    pub p: Option<Real>,
    /// The same, corrected for the number of quantities (Holm): below 0.05 it is a change.
    pub p_adjusted: Option<Real>,
    /// The same, corrected more mildly, for exploring (Benjamini and Hochberg).
    pub p_exploratory: Option<Real>,
    /// By Welch's test alone, uncorrected.
    pub p_welch: Option<Real>,
    /// By the rank-sum test alone (Mann and Whitney), uncorrected.
    pub p_ranks: Option<Real>,
}

/// A limit that was set by `--fail-if` or a budget file.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct EventCondition {
    /// The event.
    pub event: String,
    /// The condition for people: what fails.
    pub text: String,
    /// Whether `limit` and `observed` are parts of what was before, else they are in the unit of the event.
    pub relative: bool,
    /// The most that passes.
    pub limit: Real,
    /// The growth, or the mean of the runs (of those after, in a comparison); null where it is not known, and where it grew
    /// from 0.
    pub observed: Option<Real>,
    /// What became of it.
    pub state: LimitState,
    /// Why it is not known.
    pub reason: Option<String>,
}

/// What became of a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LimitState {
    /// It is kept, or broken by no more than chance.
    Passed,
    /// It is broken by more than chance: the exit status is 124.
    Failed,
    /// The runs do not tell: the exit status is 125, if nothing failed.
    Unknown,
}

/// How a quantity is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EventBasis {
    /// Counted exactly in runs under carom.
    Counted,
    /// Modelled: counted by simulated caches, with the accesses of runs under carom.
    Simulated,
    /// Measured by the kernel in runs without carom in the program.
    Native,
    /// The same, but what the whole machine did meanwhile, whoever did it.
    Machine,
}

/// What became of a quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EventOutcome {
    /// There is more of it, by more than chance.
    More,
    /// There is less of it, by more than chance.
    Less,
    /// It did not change by more than chance.
    Steady,
    /// It has one value in all runs of both sides.
    Constant,
    /// It differs, and a side has only one run: nothing tells how much runs differ.
    Untested,
    /// Only one side knows it.
    OneSided,
}

impl EventOutcome {
    /// The word for people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::More => "more",
            Self::Less => "less",
            Self::Steady => "steady",
            Self::Constant => "constant",
            Self::Untested => "untested",
            Self::OneSided => "one side",
        }
    }

    /// Whether it is a change by more than chance.
    pub const fn is_change(self) -> bool {
        matches!(self, Self::More | Self::Less)
    }
}
