//! All caches of one kind at one granularity.

use carom_base::{Access, ReuseCell, Scope, ThreadId};

use super::{
    config::{Pairs, Sampling},
    error::SamplingError,
    grid::Grid,
    hits::Hits,
    holders::Holders,
    moves::OfGrid,
    pairs::PairTable,
    sequence::Sequence,
    sieve::Sieve,
    sites::Sites,
    stack::{AHEAD, Stack},
    tally::Tally,
    walk::{Walk, read_ahead},
};

/// The caches of all threads ([`Scope::Private`]), or of all domains ([`Scope::Shared`]).
#[derive(Clone, Debug)]
pub(super) struct Layer {
    scope: Scope,
    grid: Grid,
    pairs: Option<Pairs>,
    sampled: bool,
    sieve: Sieve,
    holders: Holders,
    /// By the number of the thread.
    tallies: Vec<Tally>,
}

/// Who makes a run of accesses.
#[derive(Clone, Copy, Debug)]
pub(super) struct Origin {
    /// The thread.
    pub thread: ThreadId,
    /// Its number, which is that of its stack in private layers.
    pub number: usize,
    /// The number of the domain, which is that of its stack in shared layers.
    pub domain: usize,
}

impl Layer {
    pub fn new(scope: Scope, granularity: u32, pairs: Option<Pairs>, sampling: Sampling) -> Self {
        let grid = Grid::new(granularity);
        Self {
            scope,
            grid,
            pairs: pairs.filter(|pairs| pairs.granularity == granularity),
            sampled: sampling != Sampling::All,
            sieve: Sieve::new(sampling),
            holders: Holders::new(grid),
            tallies: Vec::new(),
        }
    }

    /// Whether it has this scope and granularity.
    pub fn is(&self, scope: Scope, granularity: u32) -> bool {
        (self.scope, self.grid.granularity()) == (scope, granularity)
    }

    /// The layer of private caches becomes one of shared caches; the stacks of threads become those of domains.
    pub fn share(&mut self) {
        self.scope = Scope::Shared;
    }

    /// A thread begins to be counted. `number` is that of an ended thread, or the number of threads so far.
    pub fn begin(&mut self, number: usize) {
        let pairs = self.pairs.map(|pairs| PairTable::new(pairs.capacity, pairs.nearest_power()));
        let tally = Tally::new(pairs, self.sampled);
        match self.tallies.get_mut(number) {
            Some(ended) => *ended = tally,
            None => self.tallies.push(tally),
        }
    }

    /// The counts of the thread's accesses since the last call.
    pub fn drain(&mut self, thread: ThreadId, number: usize, cells: &mut Vec<ReuseCell>) {
        let (scope, granularity) = (self.scope, self.grid.granularity());
        if let Some(tally) = self.tallies.get_mut(number) {
            tally.drain(thread, (scope, granularity), cells);
        }
    }

    /// A thread makes no more accesses: frees what belongs only to it.
    pub fn end(&mut self, number: usize) {
        if self.scope == Scope::Private {
            self.holders.end(number);
        }
        if let Some(tally) = self.tallies.get_mut(number) {
            *tally = Tally::new(None, false);
        }
    }

    /// The possible error of the thread's miss ratios.
    pub fn error(&self, number: usize) -> Option<SamplingError> {
        self.tallies.get(number)?.error(self.sieve.rate())
    }

    fn holder(&self, origin: Origin) -> usize {
        match self.scope {
            Scope::Private => origin.number,
            Scope::Shared => origin.domain,
        }
    }

    /// Takes consecutive accesses of one thread, where places are sampled.
    pub fn accesses(&mut self, origin: Origin, batch: &[Access], sites: Option<&mut Sites>) {
        let mut hand = None;
        self.sample(&mut hand, origin, batch, sites);
        self.put_back(&mut hand);
    }

    /// Takes accesses of several threads, where places are sampled. `origins` gives the thread of each source.
    #[inline(always)]
    pub fn sequence(&mut self, origins: &[Origin], sequence: &Sequence, mut sites: Option<&mut Sites>) {
        let mut hand = None;
        for group in sequence.groups(AHEAD) {
            if !group.is_one_run() {
                for (source, accesses) in group.runs() {
                    if let Some(origin) = origins.get(source) {
                        let grid = self.grid;
                        let keys =
                            accesses.iter().filter_map(|access| grid.only(access.addr.0, access.width));
                        read_ahead(self.in_hand(&mut hand, self.holder(*origin)), keys);
                    }
                }
            }
            for (source, accesses) in group.runs() {
                if let Some(origin) = origins.get(source) {
                    self.sample(&mut hand, *origin, accesses, sites.as_deref_mut());
                }
            }
        }
        self.put_back(&mut hand);
    }

    #[inline(always)]
    fn sample(
        &mut self,
        hand: &mut Option<InHand>,
        origin: Origin,
        batch: &[Access],
        sites: Option<&mut Sites>,
    ) {
        let holder = self.holder(origin);
        let stack = self.in_hand(hand, holder);
        let Some(tally) = self.tallies.get_mut(origin.number) else { return };
        let (grid, who, holders) = (self.grid, origin.thread.0, &mut self.holders);
        let sites = sites.filter(|_| self.pairs.is_some());
        Walk { grid, holder, who, stack, holders, tally, sites }.sample(batch, &mut self.sieve);
    }

    /// Takes what has come from the [top](super::top).
    #[inline(always)]
    pub fn moves(&mut self, origins: &[Origin], of_grid: &OfGrid, mut sites: Option<&mut Sites>) {
        let mut hand = None;
        for (run, moves) in of_grid.runs() {
            let Some(&origin) = origins.get(run.source as usize) else { continue };
            let holder = self.holder(origin);
            let stack = self.in_hand(&mut hand, holder);
            let Some(tally) = self.tallies.get_mut(origin.number) else { continue };
            let (grid, who, holders) = (self.grid, origin.thread.0, &mut self.holders);
            let sites = sites.as_deref_mut().filter(|_| self.pairs.is_some());
            Walk { grid, holder, who, stack, holders, tally, sites }.moves(run, moves);
        }
        self.put_back(&mut hand);
    }

    /// Takes counts of the thread's accesses that the top has answered.
    pub fn hits(&mut self, number: usize, hits: &Hits) {
        if let Some(tally) = self.tallies.get_mut(number) {
            tally.hits(hits);
        }
    }

    /// Puts back the stack in `hand` unless it is this holder's, and takes this holder's. Threads of one domain share
    /// a stack, so that alternating between them costs nothing.
    #[inline(always)]
    fn in_hand<'a>(&mut self, hand: &'a mut Option<InHand>, holder: usize) -> &'a mut Stack {
        if hand.as_ref().is_none_or(|hand| hand.holder != holder) {
            self.put_back(hand);
        }
        &mut hand.get_or_insert_with(|| InHand { holder, stack: self.holders.take(holder) }).stack
    }

    #[inline(always)]
    fn put_back(&mut self, hand: &mut Option<InHand>) {
        if let Some(InHand { holder, stack }) = hand.take() {
            self.holders.put(holder, stack);
        }
    }
}

/// A stack that is taken out of the layer.
struct InHand {
    holder: usize,
    stack: Box<Stack>,
}
