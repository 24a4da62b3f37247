use std::collections::BTreeMap;

use carom_base::{Access, ReuseCell, Scope, ThreadId};

use super::{
    config::{Config, ConfigError, Domain, Pairs},
    error::SamplingError,
    layer::{Layer, Origin},
    pairs::PairTable,
    sites::Sites,
    tally::Tally,
};

/// Exact reuse distances over all accesses of all threads. See the [module](super).
///
/// The order of calls is the order of accesses. Memory: per place and layer (granularity and scope) at most some 40
/// bytes, and for each thread and layer a histogram. It allocates: not for signal handlers.
#[derive(Debug)]
pub struct Exact {
    layers: Vec<Layer>,
    threads: BTreeMap<ThreadId, Thread>,
    domains: BTreeMap<Domain, usize>,
    /// Stacks of private layers whose threads have ended.
    vacated: Vec<usize>,
    sites: Option<Sites>,
    pairs: Option<Pairs>,
}

#[derive(Debug)]
struct Thread {
    /// The number of its stack in private layers.
    holder: usize,
    /// One for each layer.
    tallies: Vec<Tally>,
}

impl Exact {
    /// Nothing has been accessed yet.
    ///
    /// # Errors
    /// A granularity that is no power of two or too large, pairs at a granularity that is not counted, a sampling rate
    /// or number of places out of range.
    pub fn new(config: &Config) -> Result<Self, ConfigError> {
        config.check()?;
        let scopes = [(config.private, Scope::Private), (config.shared, Scope::Shared)];
        let mut granularities = config.granularities.clone();
        granularities.sort_unstable();
        granularities.dedup();
        let layers = scopes.iter().filter(|(wanted, _)| *wanted).flat_map(|&(_, scope)| {
            granularities.iter().map(move |&granularity| {
                let pairs = config.pairs.is_some_and(|pairs| pairs.granularity == granularity);
                Layer::new(scope, granularity, pairs, config.sampling)
            })
        });
        Ok(Self {
            layers: layers.collect(),
            threads: BTreeMap::new(),
            domains: BTreeMap::new(),
            vacated: Vec::new(),
            sites: config.pairs.map(|_| Sites::new()),
            pairs: config.pairs,
        })
    }

    /// One access. Batches are faster.
    pub fn access(&mut self, thread: ThreadId, domain: Domain, access: &Access) {
        self.accesses(thread, domain, std::slice::from_ref(access));
    }

    /// Accesses of one thread, in their order, made while it ran in this domain.
    pub fn accesses(&mut self, thread: ThreadId, domain: Domain, batch: &[Access]) {
        let domains = self.domains.len();
        let domain = *self.domains.entry(domain).or_insert(domains);
        let threads = self.threads.len();
        let entry = self.threads.entry(thread).or_insert_with(|| {
            let tally = |layer: &Layer| {
                let pairs = self
                    .pairs
                    .filter(|_| layer.pairs)
                    .map(|pairs| PairTable::new(pairs.capacity, pairs.nearest));
                Tally::new(pairs, layer.is_sampled())
            };
            // Of all numbers given, those of ended threads are vacant, or there are as many as threads.
            Thread {
                holder: self.vacated.pop().unwrap_or(threads),
                tallies: self.layers.iter().map(tally).collect(),
            }
        });
        for (layer, tally) in self.layers.iter_mut().zip(&mut entry.tallies) {
            let holder = match layer.scope() {
                Scope::Private => entry.holder,
                Scope::Shared => domain,
            };
            layer.accesses(Origin { holder, who: thread.0 }, batch, tally, self.sites.as_mut());
        }
    }

    /// What a thread's accesses were, since this was last asked. Where places are sampled: estimated for all places.
    pub fn drain(&mut self, thread: ThreadId) -> Vec<ReuseCell> {
        let mut cells = Vec::new();
        if let Some(found) = self.threads.get_mut(&thread) {
            for (layer, tally) in self.layers.iter().zip(&mut found.tallies) {
                tally.drain(thread, layer, self.sites.as_ref(), &mut cells);
            }
        }
        cells
    }

    /// As [`drain`](Self::drain), and what belongs to the thread alone is freed. Its number may come again, as another
    /// thread.
    pub fn end(&mut self, thread: ThreadId) -> Vec<ReuseCell> {
        let cells = self.drain(thread);
        if let Some(ended) = self.threads.remove(&thread) {
            for layer in self.layers.iter_mut().filter(|layer| layer.scope() == Scope::Private) {
                layer.end(ended.holder);
            }
            self.vacated.push(ended.holder);
        }
        cells
    }

    /// The threads that have accessed something and have not ended.
    pub fn threads(&self) -> impl Iterator<Item = ThreadId> + '_ {
        self.threads.keys().copied()
    }

    /// How far the miss ratios of a thread may be off, up to now. `None` where nothing is sampled or counted.
    pub fn sampling(&self, thread: ThreadId, scope: Scope, granularity: u32) -> Option<SamplingError> {
        let tallies = &self.threads.get(&thread)?.tallies;
        let wanted = |layer: &Layer| (layer.scope(), layer.granularity()) == (scope, granularity);
        let (layer, tally) = self.layers.iter().zip(tallies).find(|(layer, _)| wanted(layer))?;
        tally.error(layer.rate())
    }
}
