use std::collections::BTreeMap;

use carom_base::{Access, AccessKind, Cpu, Domain, ReuseEvent, StackId, ThreadId, Touch};
use carom_base_reuse::sampled::{self, Config, Positions, Slot, Tally, Touched, Watch};

use crate::{
    engine::{Detector, Step},
    sampling::{Sampler, Sampling},
};

/// Follows sampled uses to their outcomes.
#[derive(Debug)]
pub struct SampledReuse {
    slots: Vec<Slot>,
    tally: Tally,
    config: Config,
    sampling: Sampling,
    samplers: BTreeMap<ThreadId, Sampler>,
    made: Made,
    events: Vec<ReuseEvent>,
}

/// The number of accesses that each thread has made.
#[derive(Clone, Debug, Default)]
struct Made {
    by_thread: BTreeMap<ThreadId, (Domain, u64)>,
    by_domain: BTreeMap<Domain, u64>,
}

impl SampledReuse {
    /// Follows up to `slots` uses at a time.
    pub fn new(config: Config, slots: usize, sampling: Sampling) -> Self {
        Self {
            slots: (0..slots).map(|_| Slot::default()).collect(),
            tally: Tally::default(),
            config,
            sampling,
            samplers: BTreeMap::new(),
            made: Made::default(),
            events: Vec::new(),
        }
    }

    /// The outcomes of uses, in the order in which they were settled.
    pub fn events(&self) -> &[ReuseEvent] {
        &self.events
    }

    fn detector(&self) -> sampled::Detector<'_> {
        sampled::Detector::new(&self.slots, &self.tally, self.config)
    }

    /// The uses that an access settles.
    fn settled_by(&self, touch: &Touch, domain: Domain) -> Vec<ReuseEvent> {
        let detector = self.detector();
        let caught = detector.active().filter(|watch| is_caught(watch, touch, domain));
        let over = caught.filter_map(|watch| match detector.on_touch(&self.made, watch.id, *touch) {
            Touched::Over(over) => Some(over.event),
            Touched::Active | Touched::Late => None,
        });
        over.collect()
    }
}

/// Whether a watch, as it is set for the thread that makes the access, catches it.
fn is_caught(watch: &Watch, touch: &Touch, domain: Domain) -> bool {
    let Touch { thread, access, .. } = *touch;
    let modes = watch.modes(thread, domain);
    let in_mode = modes.reads && access.kind.reads() || modes.writes && access.kind.writes();
    let in_place = watch.start(thread, domain).is_none_or(|start| start == access.addr);
    watch.touched_by(access) && in_mode && in_place
}

impl Detector for SampledReuse {
    fn access(&mut self, step: &Step) {
        let Step { thread, domain, time, streamed } = *step;
        let access = streamed.access;
        let touch = Touch { thread, time, cpu: Cpu(0), access, stack: StackId::NONE };
        self.made.meet(thread, domain);
        let settled = self.settled_by(&touch, domain);
        self.events.extend(settled);
        let sampling = self.sampling;
        let sampler = self.samplers.entry(thread).or_insert_with(|| Sampler::new(sampling, thread.0.into()));
        if sampler.is_sample(access.kind) {
            let random = sampler.random();
            let replaced = self.detector().on_sample(&self.made, touch, 1.0, random).replaced;
            self.events.extend(replaced.map(|over| over.event));
        }
        self.made.add(thread, domain, &access);
    }

    fn end(&mut self, thread: ThreadId) {
        let ended: Vec<_> = self.detector().end_thread(&self.made, thread).map(|over| over.event).collect();
        self.events.extend(ended);
    }

    fn finish(&mut self) {
        let ended: Vec<_> = self.detector().end_all(&self.made).map(|over| over.event).collect();
        self.events.extend(ended);
    }
}

impl Made {
    fn meet(&mut self, thread: ThreadId, domain: Domain) {
        self.by_thread.entry(thread).or_insert((domain, 0)).0 = domain;
    }

    /// A read-modify-write is two accesses.
    fn add(&mut self, thread: ThreadId, domain: Domain, access: &Access) {
        let count = if access.kind == AccessKind::ReadModifyWrite { 2 } else { 1 };
        self.by_thread.entry(thread).or_insert((domain, 0)).1 += count;
        *self.by_domain.entry(domain).or_default() += count;
    }
}

impl Positions for Made {
    fn domain(&self, thread: ThreadId) -> Domain {
        self.by_thread.get(&thread).map_or(Domain(0), |(domain, _)| *domain)
    }

    fn of_thread(&self, thread: ThreadId) -> u64 {
        self.by_thread.get(&thread).map_or(0, |(_, made)| *made)
    }

    fn of_domain(&self, domain: Domain) -> u64 {
        self.by_domain.get(&domain).copied().unwrap_or(0)
    }
}
