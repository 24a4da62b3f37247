//! Which threads bounce which cache lines.
//!
//! [`analyse`] reads a recording ([`ShareInput`]) and names ([`crate::recording::Names`]) and returns
//! [`ShareFindings`].
//!
//! Where every N-th access is sampled (`translate`), there is one kind of sample, and all volumes are estimated numbers of
//! accesses ([`Unit::Accesses`]).
//!
//! Where samples are taken by time (`burst`), there are two kinds of sample, and no estimate mixes them. Last-instruction
//! samples are weighted by thread time and give shares and ranks of lines and sites. Step samples stand for executed
//! instructions and give fractions of true and false sharing, matrices, kinds and distances. A sharing event that began
//! with a last-instruction sample is evidence that a line is shared, and by accesses to which bytes. It describes a line's
//! own mix only where there is nothing better ([`LineFinding::basis`]).

mod analyse;
mod c_library;
mod check;
mod extent;
mod findings;
mod handover;
mod input;
mod known_code;
mod layout;
mod lines;
mod matrix;
mod naive;
mod objects;
mod order;
mod own_count;
mod own_lock;
mod parts;
mod pattern;
mod periods;
mod pieces;
mod primitive;
mod protected;
mod ranges;
mod recording;
mod remedy;
mod repeated;
mod scale;
mod tally;
#[cfg(test)]
pub(crate) mod testing;
mod together;
mod transfers;
mod volumes;
mod whole;

pub use analyse::analyse;
pub use check::{Check, Simulated, Waiting};
pub use findings::*;
pub use input::ShareInput;
pub use periods::Periods;
pub use primitive::Primitive;

use crate::recording::{Recordings, Window, Windowed};
use crate::{Study, StudyOfWindow};

/// Which threads bounce which cache lines.
#[derive(Clone, Copy, Debug, Default)]
pub struct ShareStudy;

impl Study for ShareStudy {
    type Findings = ShareFindings;

    fn study(&self, recordings: &mut Recordings<'_>) -> ShareFindings {
        let combine = self.combine(recordings);
        let manifests = recordings.manifests();
        let (input, mut names) = recordings.merged(combine);
        let mut found = analyse(&input, &mut names);
        check::add_checks(&mut found, &manifests, &mut names);
        found
    }
}

impl StudyOfWindow for ShareStudy {
    fn study_window(&self, recordings: &mut Recordings<'_>, window: Window) -> ShareFindings {
        let combine = self.combine(recordings);
        let (input, mut names) = recordings.merged(combine);
        analyse(&Windowed::new(&input, window), &mut names)
    }
}

/// Fewer events than this support no fraction and no matrix.
pub const ENOUGH_EVENTS: usize = 30;

/// A line with fewer sharing events than this is not contended by itself: one or two may be a lock taken at start-up or a
/// buffer handed over once. Many such lines of one object may be contended together (`objects.rs`).
pub const MIN_LINE_EVENTS: u64 = 3;

/// A line that two threads share equally is sampled in both with 95% probability when it is expected to be
/// sampled this often altogether: (1 - exp(-x/2))^2 = 0.95, samples being independent (Poisson).
pub const SAMPLES_TO_SEE_A_LINE: f64 = 7.35;

/// The most contended lines in a report; a reader looks at ten, a script at some hundred.
pub const MAX_LINES: usize = 1000;

/// The most sites of a line in a report: with 1,000 threads at one counter the first ones tell it all.
pub const MAX_SITES: usize = 256;

/// The most functions named as users of a lock.
pub const MAX_USERS: usize = 3;

/// The most rows of a matrix: 1,000 threads are promised, and three dense matrices of them take 25 MB.
pub const MAX_MATRIX_LABELS: usize = 1024;
