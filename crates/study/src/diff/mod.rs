//! What a change of a program did to the findings: gone, left, new, and by how much.
//!
//! Each run is studied by itself. [`Change`] compares one quantity over the runs of either side; [`share`] and [`reuse`] say
//! which quantities, and put findings of two builds together. Everything that is compared counts for the correction.

mod change;
mod count;
mod known;
mod rate;
mod reuse;
mod share;
mod subject;

pub use change::{ASSUMED_SPREAD, Change, Test, Trend};
pub use count::{CountDiff, EventChange, Outcome, Probability, count};
pub use rate::RateChange;
pub use reuse::{PairChange, ReuseDiff, reuse};
pub use share::{ObjectChange, ShareDiff, Volumes, share};

/// A change is one below this probability, that runs of an unchanged program differ as much.
pub const SIGNIFICANT: f64 = 0.05;

/// Why two sides cannot be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Incomparable {
    /// A side has no run.
    NoRun,
    /// Shares are of thread time on one side and of accesses on the other.
    Units,
    /// Misses are those of caches of different sizes.
    Caches,
    /// Misses were followed exactly on one side and sampled, or modelled in another way, on the other.
    Bases,
    /// A side has the ranks of one program, whose counts belong together.
    Ranks,
    /// A side has too few uses for a miss ratio.
    TooFewUses,
}

/// What became of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    /// Of a finding that was seen before, or after, and whose size goes there.
    const fn of(before: bool, after: bool, size: Trend) -> Self {
        match (before, after, size) {
            (true, false, Trend::Down) => Self::Gone,
            (false, true, Trend::Up) => Self::New,
            (true, true, Trend::Down) => Self::Smaller,
            (true, true, Trend::Up) => Self::Larger,
            (true, true, Trend::Steady) => Self::Left,
            _ => Self::Undecided,
        }
    }
}
