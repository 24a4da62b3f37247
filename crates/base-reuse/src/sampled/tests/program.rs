//! A program as a list of accesses, run under a detector that watches perfectly; and the truth, found by searching
//! everything that follows a use.

use std::collections::HashMap;

use carom_base::{
    Access, AccessKind, Addr, Cpu, Ip, Line, Locality, Nanos, ReuseEvent, ReuseOutcome, Scope, StackId,
    ThreadId, Touch,
};

use crate::Domain;
use crate::sampled::random::Random;
use crate::sampled::*;

#[derive(Clone, Copy, Debug)]
pub struct Step {
    pub thread: usize,
    pub access: Access,
}

pub fn access(addr: u64, width: u32, kind: AccessKind) -> Access {
    Access { ip: Ip(addr ^ 0x55), addr: Addr(addr), width, kind }
}

/// A load of eight bytes by thread 0.
pub fn load(addr: u64) -> Step {
    Step { thread: 0, access: access(addr, 8, AccessKind::Load) }
}

/// Accesses of each thread so far.
#[derive(Clone, Debug)]
pub struct Clocks {
    pub domains: Vec<Domain>,
    pub ticks: Vec<u64>,
}

impl Clocks {
    pub fn new(domains: &[u32]) -> Self {
        Self { domains: domains.iter().copied().map(Domain).collect(), ticks: vec![0; domains.len()] }
    }

    pub fn pass(&mut self, step: &Step) {
        self.ticks[step.thread] += if step.access.kind == AccessKind::ReadModifyWrite { 2 } else { 1 };
    }
}

impl Positions for Clocks {
    fn domain(&self, thread: ThreadId) -> Domain {
        self.domains[thread.0 as usize]
    }

    fn of_thread(&self, thread: ThreadId) -> u64 {
        self.ticks[thread.0 as usize]
    }

    fn of_domain(&self, domain: Domain) -> u64 {
        self.ticks.iter().zip(&self.domains).filter(|(_, of)| **of == domain).map(|(ticks, _)| ticks).sum()
    }
}

/// The time of a touch is the number of its step.
pub fn touch(index: usize, step: &Step) -> Touch {
    Touch {
        thread: ThreadId(step.thread as u32),
        time: Nanos(index as u64),
        cpu: Cpu(step.thread as u32),
        access: step.access,
        stack: StackId(7),
    }
}

/// How a program is sampled.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    pub config: Config,
    pub slots: usize,
    /// Each access is sampled with this probability.
    pub rate: f64,
    pub seed: u64,
}

/// The state of a filter in software: watches by line.
#[derive(Default)]
struct Filter(HashMap<Line, Vec<Watch>>);

impl Filter {
    fn set(&mut self, watch: Watch) {
        self.0.entry(watch.first.line()).or_default().push(watch);
    }

    fn remove(&mut self, watch: &Watch) {
        self.0.entry(watch.first.line()).or_default().retain(|other| other.id != watch.id);
    }

    fn hit(&self, clocks: &Clocks, step: &Step) -> Vec<Watch> {
        let (thread, access) = (ThreadId(step.thread as u32), step.access);
        let lines = access.addr.line().0..=Addr(access.end().0 - 1).line().0;
        let watches = lines.flat_map(|line| self.0.get(&Line(line)).into_iter().flatten());
        let caught = watches.filter(|watch| {
            let modes = watch.modes(thread, clocks.domain(thread));
            let wanted = modes.reads && access.kind.reads() || modes.writes && access.kind.writes();
            wanted && watch.touched_by(access)
        });
        caught.copied().collect()
    }
}

/// The samples of a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    pub samples: u64,
    /// Those that were watched.
    pub armed: u64,
    /// Those that were dropped for others already watched.
    pub rejected: u64,
    /// Those that were watched, and replaced later.
    pub replaced: u64,
}

/// Runs a program to its end. Returns the outcomes of all uses, and the numbers of samples.
pub fn run(setup: Setup, domains: &[u32], trace: &[Step]) -> (Vec<ReuseEvent>, Counts) {
    let slots: Vec<Slot> = (0..setup.slots).map(|_| Slot::default()).collect();
    let tally = Tally::default();
    let detector = Detector::new(&slots, &tally, setup.config);
    let mut random = Random::new(setup.seed);
    let (mut clocks, mut filter, mut events) = (Clocks::new(domains), Filter::default(), Vec::new());
    let mut counts = Counts::default();
    for (index, step) in trace.iter().enumerate() {
        for watch in filter.hit(&clocks, step) {
            match detector.on_touch(&clocks, watch.id, touch(index, step)) {
                Touched::Over(over) => {
                    filter.remove(&over.watch);
                    events.push(over.event);
                }
                Touched::Active => {}
                Touched::Late => panic!("the filter is always up to date"),
            }
        }
        if random.unit() < setup.rate {
            let sampled = detector.on_sample(&clocks, touch(index, step), 1.0, random.next());
            counts.samples += 1;
            counts.armed += u64::from(sampled.arm.is_some());
            counts.rejected += u64::from(sampled.arm.is_none());
            counts.replaced += u64::from(sampled.replaced.is_some());
            if let Some(over) = sampled.replaced {
                filter.remove(&over.watch);
                events.push(over.event);
            }
            if let Some(watch) = sampled.arm {
                filter.set(watch);
            }
        }
        clocks.pass(step);
    }
    events.extend(detector.end_all(&clocks).map(|over| over.event));
    (events, counts)
}

/// The outcome of the use in step `index`, and its distance; [`ReuseOutcome::Ended`] where nothing ends it.
pub fn truth(
    domains: &[u32],
    trace: &[Step],
    index: usize,
    scope: Scope,
    locality: Locality,
) -> (ReuseOutcome, u64) {
    let used = trace[index];
    let bytes = |access: Access| access.addr.0..access.addr.0 + u64::from(access.width);
    let line = used.access.addr.0 / 64 * 64;
    let mut distance = 0;
    for step in &trace[index + 1..] {
        let insider = step.thread == used.thread
            || scope == Scope::Shared && domains[step.thread] == domains[used.thread];
        let same = bytes(step.access) == bytes(used.access);
        let in_line = bytes(step.access).any(|byte| (line..line + 64).contains(&byte));
        // If a use extends into the next line, only its part in the first one is watched.
        let watched = bytes(used.access).start..bytes(used.access).end.min(line + 64);
        let in_use = bytes(step.access).any(|byte| watched.contains(&byte));
        let (found, spoilt) = match locality {
            Locality::Temporal => (same, in_use),
            Locality::Spatial => (!same && in_line, in_line),
            Locality::Line => (in_line, in_line),
        };
        if insider && found {
            return (ReuseOutcome::Reused, distance);
        }
        if !insider && step.access.kind != AccessKind::Load && spoilt {
            return (ReuseOutcome::Invalidated, distance);
        }
        let counted = match scope {
            Scope::Private => step.thread == used.thread,
            Scope::Shared => domains[step.thread] == domains[used.thread],
        };
        if counted {
            distance += if step.access.kind == AccessKind::ReadModifyWrite { 2 } else { 1 };
        }
    }
    (ReuseOutcome::Ended, distance)
}

/// Distance to the next access to the same place, of all accesses that have one, in ascending order.
pub fn distances(trace: &[Step]) -> Vec<u64> {
    let mut latest = HashMap::new();
    let mut found = Vec::new();
    for (index, step) in trace.iter().enumerate() {
        if let Some(before) = latest.insert(step.access.addr, index) {
            found.push((index - before - 1) as u64);
        }
    }
    found.sort_unstable();
    found
}
