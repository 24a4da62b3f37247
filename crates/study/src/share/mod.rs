//! Which threads bounce which cache lines.
//!
//! [`analyse`] reads a recording ([`ShareInput`]) and names ([`crate::recording::Names`]) and returns
//! [`ShareFindings`].
//!
//! Where every N-th access is sampled (`translate`), there is one kind of sample, and everything is in accesses: an
//! estimate of how many there were ([`Unit::Accesses`]).
//!
//! Where samples are taken by time (`burst`), two kinds of sample go in, and never into the same estimate. Last-instruction samples are weighted by thread
//! time: shares and ranks of lines and sites. Step samples stand for executed instructions: fractions of true
//! and false sharing, matrices, kinds, distances. A sharing event that began with a last-instruction sample is
//! evidence that a line is shared and of who touches which bytes of it, and describes a line's own mix only
//! where there is nothing better ([`LineFinding::basis`]).

mod analyse;
mod extent;
mod findings;
mod input;
mod layout;
mod lines;
mod matrix;
mod naive;
mod order;
mod pattern;
mod periods;
mod recording;
mod remedy;
mod scale;
mod tally;
#[cfg(test)]
mod testing;
mod transfers;
mod volumes;

pub use analyse::analyse;
pub use findings::*;
pub use input::ShareInput;
pub use periods::Periods;

use crate::Study;
use crate::recording::Recordings;

/// Which threads bounce which cache lines.
#[derive(Clone, Copy, Debug, Default)]
pub struct ShareStudy;

impl Study for ShareStudy {
    type Findings = ShareFindings;

    fn study(&self, recordings: &mut Recordings<'_>) -> ShareFindings {
        let combine = self.combine(recordings);
        let (input, mut names) = recordings.merged(combine);
        analyse(&input, &mut names)
    }
}

/// Fewer events than this support no fraction and no matrix.
pub const ENOUGH_EVENTS: usize = 30;

/// A line with fewer sharing events than this is not called contended: one or two may be a lock taken at
/// start-up or a buffer handed over once.
pub const MIN_LINE_EVENTS: u64 = 3;

/// Contended lines that a report holds at most; a reader looks at ten, a script at some hundred.
pub const MAX_LINES: usize = 1000;

/// Sites of a line that a report holds at most: with 1,000 threads at one counter the first ones tell it all.
pub const MAX_SITES: usize = 256;

/// Rows of a matrix at most: 1,000 threads are promised, and three dense matrices of them take 25 MB.
pub const MAX_MATRIX_LABELS: usize = 1024;
