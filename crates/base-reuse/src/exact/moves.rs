//! What passes between the [top](super::top) and the stacks below it.

use carom_base::{Addr, Ip, ThreadId};

use super::{grid::Key, hits::Hits, sequence::Source};

/// A place comes from the stacks: a touch that the top could not answer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Enter {
    pub key: Key,
    /// The clock of the top before the access.
    pub begin: u64,
    pub ip: Ip,
    pub addr: Addr,
    pub writes: bool,
    /// Places that are in the top, all of them more recent.
    pub above: u32,
}

/// A place goes to the stacks, and is the most recent one there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leave {
    pub key: Key,
    /// The clock of the top after the last access.
    pub end: u64,
    /// Its instruction, and whether it wrote.
    pub ip: Ip,
    pub wrote: bool,
    /// An access has written since the one with which it came.
    pub wrote_since: bool,
}

/// See [`Enter`] and [`Leave`].
#[derive(Clone, Copy, Debug)]
pub(super) enum Move {
    Enter(Enter),
    Leave(Leave),
}

/// Moves of several threads in order, which [`Exact`](super::Exact) takes, and the accesses that caused none.
#[derive(Clone, Debug, Default)]
pub struct Moves {
    pub(super) sources: Sources,
    /// By granularity.
    pub(super) grids: Vec<OfGrid>,
}

/// The threads that made the accesses, with their domains.
#[derive(Clone, Debug, Default)]
pub(super) struct Sources(pub Vec<Source>);

/// The moves of one granularity.
#[derive(Clone, Debug, Default)]
pub(super) struct OfGrid {
    runs: Vec<Run>,
    moves: Vec<Move>,
    /// Accesses that the top answered.
    pub hits: Vec<(ThreadId, Hits)>,
    /// Moves that are in no run yet.
    open: u32,
}

/// Consecutive accesses of one source.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    /// Which of the sources.
    pub source: u32,
    moves: u32,
    /// The clock of the top at its ends.
    pub begin: u64,
    pub end: u64,
}

impl Moves {
    /// Nothing, for so many granularities.
    pub(super) fn new(grids: usize) -> Self {
        Self { sources: Sources::default(), grids: vec![OfGrid::default(); grids] }
    }

    /// Removes everything; the memory stays.
    pub fn clear(&mut self) {
        self.sources.0.clear();
        for grid in &mut self.grids {
            grid.runs.clear();
            grid.moves.clear();
            grid.hits.clear();
        }
    }
}

impl Sources {
    /// The number of a source among them.
    #[inline]
    pub fn number(&mut self, source: Source) -> u32 {
        let found = self.0.iter().position(|other| *other == source);
        found.unwrap_or_else(|| {
            self.0.push(source);
            self.0.len() - 1
        }) as u32
    }
}

impl OfGrid {
    #[inline(always)]
    pub fn enter(&mut self, enter: Enter) {
        self.moves.push(Move::Enter(enter));
        self.open += 1;
    }

    #[inline(always)]
    pub fn leave(&mut self, leave: Leave) {
        self.moves.push(Move::Leave(leave));
        self.open += 1;
    }

    /// The moves since the last call belong to a run of accesses.
    #[inline]
    pub fn end_run(&mut self, source: u32, begin: u64, end: u64) {
        let moves = std::mem::take(&mut self.open);
        match self.runs.last_mut() {
            Some(run) if run.source == source && run.moves.checked_add(moves).is_some() => {
                run.moves += moves;
                run.end = end;
            }
            _ => self.runs.push(Run { source, moves, begin, end }),
        }
    }

    /// All runs with their moves.
    #[inline(always)]
    pub fn runs(&self) -> impl Iterator<Item = (Run, &[Move])> {
        let mut moves = self.moves.as_slice();
        self.runs.iter().map(move |run| {
            let (these, rest) = moves.split_at_checked(run.moves as usize).unwrap_or_default();
            moves = rest;
            (*run, these)
        })
    }
}
