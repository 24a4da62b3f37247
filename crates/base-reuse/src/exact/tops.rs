//! The tops at all granularities.

use carom_base::{Access, ThreadId};

use super::{
    config::{Config, ConfigError, Sampling},
    grid::Grid,
    hits::Hits,
    moves::Moves,
    sequence::{Sequence, Source},
    top::{DEPTH, Top},
};

/// Answers most accesses, and makes [`Moves`] of the others, in the order in which they come.
///
/// Where places are sampled there are none: all accesses go to the stacks.
#[derive(Clone, Debug)]
pub struct Tops {
    tops: Vec<TopHits>,
}

/// A top, and what it has counted for each thread since that was handed over.
#[derive(Clone, Debug)]
struct TopHits {
    top: Top,
    hits: Vec<(ThreadId, Hits)>,
}

impl Tops {
    /// Empty ones.
    ///
    /// # Errors
    /// As [`Exact::new`](super::Exact::new).
    pub fn new(config: &Config) -> Result<Self, ConfigError> {
        config.check()?;
        let granularities = config.all_granularities().into_iter();
        let granularities = granularities.filter(|_| config.sampling == Sampling::All);
        let tops = granularities.map(|granularity| {
            // Nearer pairs are told apart by nobody.
            let pairs = config.pairs.filter(|pairs| pairs.granularity == granularity);
            let capacity = pairs.map_or(DEPTH as u64, |pairs| pairs.nearest_power());
            TopHits { top: Top::new(Grid::new(granularity), capacity), hits: Vec::new() }
        });
        Ok(Self { tops: tops.collect() })
    }

    /// Whether accesses are to go through these.
    pub fn are_used(&self) -> bool {
        !self.tops.is_empty()
    }

    /// Empty moves, for these granularities.
    pub fn no_moves(&self) -> Moves {
        Moves::new(self.tops.len())
    }

    /// Takes consecutive accesses of one thread.
    #[inline(always)]
    pub fn accesses(&mut self, source: Source, batch: &[Access], moves: &mut Moves) {
        let Moves { sources, grids } = moves;
        for (TopHits { top, hits }, of_grid) in self.tops.iter_mut().zip(grids) {
            top.accesses(source, batch, of_thread(hits, source.0), (sources, of_grid));
        }
    }

    /// Takes accesses of several threads.
    ///
    /// As [`Exact::sequence`](super::Exact::sequence), this is inlined into the calling function.
    #[inline(always)]
    pub fn sequence(&mut self, sequence: &Sequence, moves: &mut Moves) {
        let Moves { sources, grids } = moves;
        for (TopHits { top, hits }, of_grid) in self.tops.iter_mut().zip(grids) {
            for (source, batch) in sequence.runs() {
                top.accesses(source, batch, of_thread(hits, source.0), (sources, of_grid));
            }
        }
    }

    /// Hands over everything that is here.
    pub fn empty(&mut self, moves: &mut Moves) {
        let Moves { sources, grids } = moves;
        for (TopHits { top, hits }, of_grid) in self.tops.iter_mut().zip(grids) {
            top.empty(sources, of_grid);
            of_grid.hits.append(hits);
        }
    }
}

/// The counts of this thread.
#[inline]
fn of_thread(all: &mut Vec<(ThreadId, Hits)>, thread: ThreadId) -> &mut Hits {
    let at = all.iter().position(|(other, _)| *other == thread).unwrap_or_else(|| {
        all.push((thread, Hits::NONE));
        all.len() - 1
    });
    &mut all[at].1
}
