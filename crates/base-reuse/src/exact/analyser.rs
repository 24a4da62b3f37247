use std::collections::BTreeMap;

use carom_base::{Access, Domain, ReuseCell, Scope, ThreadId};

use super::{
    config::{Config, ConfigError},
    error::SamplingError,
    layer::{Layer, Origin},
    moves::Moves,
    sequence::{Sequence, Source},
    sites::Sites,
    stages::Task,
    tops::Tops,
};

/// Exact reuse distances over all accesses of all threads. See the [module](super).
///
/// The order of calls is the order of accesses. Memory: per place and layer (granularity and scope) at most some 40
/// bytes, and for each thread and layer a histogram. It allocates: not for signal handlers.
#[derive(Clone, Debug)]
pub struct Exact {
    tops: Tops,
    /// What comes from the tops; empty between calls.
    moves: Moves,
    /// By scope and granularity, both scopes having the same ones.
    layers: Vec<Layer>,
    /// Their numbers.
    threads: BTreeMap<ThreadId, usize>,
    domains: BTreeMap<Domain, usize>,
    /// Numbers of threads that have ended.
    vacated: Vec<usize>,
    sites: Option<Sites>,
    /// The origins of the sources of the current sequence.
    origins: Vec<Origin>,
}

impl Exact {
    /// An analyser without any accesses.
    ///
    /// # Errors
    /// A granularity that is no power of two or too large, pairs at a granularity that is not counted, a sampling
    /// rate or number of places out of range.
    pub fn new(config: &Config) -> Result<Self, ConfigError> {
        let tops = Tops::new(config)?;
        let scopes = [(config.private, Scope::Private), (config.shared, Scope::Shared)];
        let granularities = config.all_granularities();
        let layers = scopes.iter().filter(|(wanted, _)| *wanted).flat_map(|&(_, scope)| {
            granularities
                .iter()
                .map(move |&granularity| Layer::new(scope, granularity, config.pairs, config.sampling))
        });
        Ok(Self {
            moves: tops.no_moves(),
            tops,
            layers: layers.collect(),
            threads: BTreeMap::new(),
            domains: BTreeMap::new(),
            vacated: Vec::new(),
            sites: config.pairs.map(|_| Sites::new()),
            origins: Vec::new(),
        })
    }

    /// Takes one access. Batches are faster.
    pub fn access(&mut self, thread: ThreadId, domain: Domain, access: &Access) {
        self.accesses(thread, domain, std::slice::from_ref(access));
    }

    /// Takes accesses of one thread, in order, made while it ran in this domain.
    pub fn accesses(&mut self, thread: ThreadId, domain: Domain, batch: &[Access]) {
        if self.tops.are_used() {
            return self.through_tops(|tops, moves| tops.accesses((thread, domain), batch, moves));
        }
        let origin = self.origin(thread, domain);
        for layer in &mut self.layers {
            layer.accesses(origin, batch, self.sites.as_mut());
        }
    }

    /// Takes accesses of several threads.
    ///
    /// The code for most accesses is inlined into the calling function, so that a caller may have it compiled for its
    /// processor: instructions that count bits and find the first one save a tenth of the time.
    #[inline(always)]
    pub fn sequence(&mut self, sequence: &Sequence) {
        if self.tops.are_used() {
            return self.through_tops(
                #[inline(always)]
                |tops, moves| tops.sequence(sequence, moves),
            );
        }
        self.meet(sequence.sources());
        for layer in &mut self.layers {
            layer.sequence(&self.origins, sequence, self.sites.as_mut());
        }
    }

    /// Takes what [`Tops`] have made of accesses, its own or another's.
    #[inline(always)]
    fn moves(&mut self, moves: &Moves) {
        self.meet(&moves.sources.0);
        let threads = &self.threads;
        for (layer, of_grid) in self.layers.iter_mut().zip(moves.grids.iter().cycle()) {
            for (thread, hits) in &of_grid.hits {
                if let Some(&number) = threads.get(thread) {
                    layer.hits(number, hits);
                }
            }
            layer.moves(&self.origins, of_grid, self.sites.as_mut());
        }
    }

    /// Processes a task of a [stage](super::Stage) that has something to analyse. It is inlined, too.
    #[inline(always)]
    pub fn work(&mut self, task: &Task) {
        match task {
            Task::Accesses(sequence) => self.sequence(sequence),
            Task::Moves(moves) => self.moves(moves),
            Task::Ended(_) | Task::Part => {}
        }
    }

    #[inline(always)]
    fn through_tops(&mut self, take: impl FnOnce(&mut Tops, &mut Moves)) {
        let mut moves = std::mem::take(&mut self.moves);
        take(&mut self.tops, &mut moves);
        self.moves(&moves);
        moves.clear();
        self.moves = moves;
    }

    /// The origins of these sources.
    fn meet(&mut self, sources: &[Source]) {
        self.origins.clear();
        for &(thread, domain) in sources {
            let origin = self.origin(thread, domain);
            self.origins.push(origin);
        }
    }

    fn origin(&mut self, thread: ThreadId, domain: Domain) -> Origin {
        let domains = self.domains.len();
        let domain = *self.domains.entry(domain).or_insert(domains);
        let threads = self.threads.len();
        let number = *self.threads.entry(thread).or_insert_with(|| {
            // Of all numbers given, either one of an ended thread is free, or all are in use by threads.
            let number = self.vacated.pop().unwrap_or(threads);
            self.layers.iter_mut().for_each(|layer| layer.begin(number));
            number
        });
        Origin { thread, number, domain }
    }

    /// What the shared caches have seen, if these are the private ones and there has been at most one thread, in one
    /// domain. Then its cache and the domain's are the same, and only one of them needs to be analysed.
    pub fn shared_by_one(&self) -> Self {
        debug_assert!(self.threads.len() <= 1 && self.domains.len() <= 1 && self.vacated.is_empty());
        let mut shared = self.clone();
        shared.layers.iter_mut().for_each(Layer::share);
        shared
    }

    /// The counts of a thread's accesses since the last call. Where places are sampled: estimated for all places.
    pub fn drain(&mut self, thread: ThreadId) -> Vec<ReuseCell> {
        self.through_tops(Tops::empty);
        let mut cells = Vec::new();
        if let Some(&number) = self.threads.get(&thread) {
            for layer in &mut self.layers {
                layer.drain(thread, number, &mut cells);
            }
        }
        cells
    }

    /// As [`drain`](Self::drain), and frees what belongs only to this thread. Its number may be given to another
    /// thread.
    pub fn end(&mut self, thread: ThreadId) -> Vec<ReuseCell> {
        let cells = self.drain(thread);
        if let Some(number) = self.threads.remove(&thread) {
            self.layers.iter_mut().for_each(|layer| layer.end(number));
            self.vacated.push(number);
        }
        cells
    }

    /// The threads that have accessed something and have not ended.
    pub fn threads(&self) -> impl Iterator<Item = ThreadId> + '_ {
        self.threads.keys().copied()
    }

    /// The possible error of a thread's miss ratios. `None` where nothing is sampled or counted.
    pub fn sampling(&self, thread: ThreadId, scope: Scope, granularity: u32) -> Option<SamplingError> {
        let number = *self.threads.get(&thread)?;
        self.layers.iter().find(|layer| layer.is(scope, granularity))?.error(number)
    }
}
