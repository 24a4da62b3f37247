//! How far apart the uses of data are, what a cache of each size would miss, and which code is to blame.
//!
//! [`analyse`] reads a recording ([`ReuseInput`]) and names ([`crate::recording::Names`]) and returns
//! [`ReuseFindings`].
//!
//! A distance is the number of accesses *strictly between* a use and its reuse (time distance), or of the different
//! places among them (stack distance): the thesis' example. Its tables 6.4 to 6.7 are one more.
//!
//! Two kinds of row go in, and never into the same curve. Cells are counts of the exact mode, in which every access was
//! followed, or every access to a sample of the places (SHARDS). Events are sampled uses, each with what became of it;
//! stack distances follow from them by models only. [`Basis`] says which it is.

mod analyse;
mod bins;
mod cost;
mod curve;
mod exact;
mod false_sharing;
mod findings;
mod fits;
pub mod format;
mod input;
mod models;
mod pairs;
mod prefetch;
mod recording;
mod sampled;
mod sizes;
mod tally;
#[cfg(test)]
mod testing;
mod weights;

pub use analyse::analyse;
pub use bins::Bins;
pub use cost::Cost;
pub use curve::*;
pub use findings::*;
pub use input::{Cache, Latencies, ReuseInput, ReuseOptions};
pub use sizes::at;

use crate::recording::{Combine, Recordings, Window, Windowed};
use crate::{Study, StudyOfWindow};

impl Study for ReuseOptions {
    type Findings = ReuseFindings;

    /// Runs of one program add up.
    fn combine(&self, recordings: &Recordings<'_>) -> Combine {
        recordings.combine()
    }

    fn study(&self, recordings: &mut Recordings<'_>) -> ReuseFindings {
        let combine = self.combine(recordings);
        let (input, mut names) = recordings.merged(combine);
        analyse(&input, &mut names, self)
    }
}

impl StudyOfWindow for ReuseOptions {
    fn study_window(&self, recordings: &mut Recordings<'_>, window: Window) -> ReuseFindings {
        let combine = self.combine(recordings);
        let (input, mut names) = recordings.merged(combine);
        analyse(&Windowed::new(&input, window), &mut names, self)
    }
}

/// Fewer uses whose end was seen than this support no curve: a tenth of them is known within 0.05 to 0.20.
pub const ENOUGH_USES: u64 = 100;

/// Pairs that a report holds at most.
pub const MAX_PAIRS: usize = 200;

/// Threads with curves of their own at most, those with most accesses; the others are in the curves of all.
pub const MAX_THREAD_CURVES: usize = 64;

/// Objects with false sharing that a report holds at most.
pub const MAX_FALSE_SHARING: usize = 50;
