//! Held threads: a program whose threads run at their own pace, sampled by a profiler that stops one of them for
//! longer than most reuses take; and the same program without holds.

use carom_base::{AccessKind, Locality, ReuseEvent, ReuseOutcome, Scope, ThreadId};

use super::program::{Step, access, touch, truth};
use crate::Domain;
use crate::sampled::random::Random;
use crate::sampled::*;

/// The times from the stop of a thread until it reads the clocks, until watches are set, and until it continues. A
/// few hundred accesses each.
const PASSES: [u64; 3] = [400, 200, 400];

/// The line that all threads write.
const SHARED: u64 = 0;

/// The number of accesses of a thread until it begins again.
const SWEEP: u64 = 400;

/// What all threads do repeatedly.
#[derive(Clone, Copy, Debug)]
enum Program {
    /// Three stores to the shared line with a few accesses between, and a sweep over lines of their own, one word
    /// after the other.
    Sweeps,
    /// This many consecutive stores to the shared line, some loads of their own, and then about this long nothing.
    /// The line takes `travel` from one thread to another; its owner continues to use it meanwhile.
    Visits { stores: u64, apart: u64, travel: u64 },
}

impl Program {
    fn step(self, thread: usize, index: u64) -> Step {
        let at = index % self.accesses();
        let shared = match self {
            Self::Sweeps => at < 30 && at.is_multiple_of(10),
            Self::Visits { stores, .. } => at < stores,
        };
        let (addr, kind) = match shared {
            true => (SHARED, AccessKind::Store),
            false => (4096 * (thread as u64 + 1) + 8 * at, AccessKind::Load),
        };
        Step { thread, access: access(addr, 8, kind) }
    }

    /// Until it begins again.
    fn accesses(self) -> u64 {
        match self {
            Self::Sweeps => SWEEP,
            Self::Visits { stores, .. } => stores + 8,
        }
    }

    /// The time from the access with this number to the next. Threads drift past each other.
    fn pause(self, index: u64, random: &mut Random) -> u64 {
        match self {
            Self::Visits { apart, .. } if (index + 1).is_multiple_of(self.accesses()) => {
                apart / 2 + u64::from(random.below(apart as u32))
            }
            _ => 1 + u64::from(random.below(4)),
        }
    }

    /// How long a thread waits for the shared line that another one has.
    fn travel(self) -> u64 {
        if let Self::Visits { travel, .. } = self { travel } else { 0 }
    }

    /// Accesses per unit of time.
    fn pace(self) -> f64 {
        let apart = if let Self::Visits { apart, .. } = self { apart as f64 } else { 2.5 };
        let accesses = self.accesses() as f64;
        accesses / (2.5 * (accesses - 1.0) + apart)
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Phase {
    Runs,
    Asks,
    Arms,
    GoesOn,
}

/// A thread, its next action, and when that happens.
struct Runner {
    program: Program,
    /// It has looked the access up, and waits for the line, which another thread has.
    waits: bool,
    phase: Phase,
    at: u64,
    made: u64,
    held: u64,
    stopped: u64,
    /// The start and the end of each completed hold.
    holds: Vec<[u64; 2]>,
    touched: Vec<WatchId>,
    sampled: bool,
    to_arm: Option<Watch>,
    random: Random,
}

impl Runner {
    fn new(program: Program, thread: usize, seed: u64) -> Self {
        Self {
            program,
            waits: false,
            phase: Phase::Runs,
            at: 1000,
            made: Random::new(seed ^ (thread as u64 + 1) << 32).next() % program.accesses(),
            held: 0,
            stopped: 0,
            holds: Vec::new(),
            touched: Vec::new(),
            sampled: false,
            to_arm: None,
            random: Random::new(seed + thread as u64),
        }
    }

    fn next_access(&mut self) {
        self.at += self.program.pause(self.made, &mut self.random);
        self.made += 1;
    }

    fn ran(&self, at: u64) -> u64 {
        let at = if self.phase == Phase::Runs { at } else { at.min(self.stopped) };
        at.saturating_sub(self.held)
    }
}

/// All threads, as one of them reads them; `clocks`: whether it knows about holds.
struct Asked<'a> {
    threads: &'a [Runner],
    own: usize,
    now: u64,
    clocks: bool,
}

impl Positions for Asked<'_> {
    fn domain(&self, _: ThreadId) -> Domain {
        Domain(0)
    }

    fn of_thread(&self, thread: ThreadId) -> u64 {
        self.threads[thread.0 as usize].made
    }

    fn of_domain(&self, _: Domain) -> u64 {
        self.threads.iter().map(|thread| thread.made).sum()
    }

    fn ran_since(&self, at: u64) -> Option<u64> {
        let Runner { holds, stopped, .. } = &self.threads[self.own];
        let held: u64 = holds.iter().map(|[begin, end]| end.saturating_sub(*begin.max(&at))).sum();
        Some(stopped.checked_sub(at)? - held)
    }

    fn clocks(&self, thread: ThreadId, _: Domain) -> Option<Clocks> {
        let (own, of) = (&self.threads[self.own], &self.threads[thread.0 as usize]);
        let others = || self.threads.iter().enumerate().filter(|(index, _)| *index != thread.0 as usize);
        self.clocks.then(|| Clocks {
            stopped: own.stopped,
            ran: of.ran(own.stopped),
            asked: self.now,
            ran_when_asked: of.ran(self.now),
            others: others().count() as u32,
            held: others().map(|(_, other)| self.now - other.ran(self.now)).sum(),
            pace: of.program.pace(),
            grain: 1000,
        })
    }
}

/// The weight of a sample, in units of the smallest: the shared line is sampled more densely.
fn weight(step: &Step) -> f64 {
    if step.access.addr.0 == SHARED { 0.005 } else { 1.0 }
}

/// Runs the threads until one has made this many accesses. Returns the outcomes of its uses, and all accesses in
/// order.
fn run(
    program: Program,
    threads: usize,
    accesses: u64,
    rate: f64,
    clocks: bool,
    seed: u64,
) -> (Vec<ReuseEvent>, Vec<Step>) {
    let slots: Vec<Slot> = (0..64).map(|_| Slot::default()).collect();
    let tally = Tally::default();
    let odds = Odds { private_line: 1, shared_line: 1, ..Odds::NONE };
    let detector = Detector::new(&slots, &tally, Config { odds, ..Config::default() });
    let mut all: Vec<Runner> = (0..threads).map(|thread| Runner::new(program, thread, seed)).collect();
    let (mut watches, mut events, mut trace) = (Vec::<Watch>::new(), Vec::new(), Vec::new());
    let mut owner = 0;
    while all[0].made < accesses {
        let own = (0..threads).min_by_key(|&thread| all[thread].at).unwrap();
        let (now, phase) = (all[own].at, all[own].phase);
        let step = program.step(own, all[own].made);
        let shared = step.access.addr.0 == SHARED;
        let touched = touch(trace.len(), &step);
        match phase {
            Phase::Runs => {
                let caught = |watch: &&Watch| {
                    let modes = watch.modes(touched.thread, Domain(0));
                    let writes = step.access.kind.writes();
                    watch.touched_by(step.access) && (modes.reads || writes)
                };
                let hits: Vec<WatchId> = watches.iter().filter(caught).map(|watch| watch.id).collect();
                let runner = &mut all[own];
                let arrived = std::mem::take(&mut runner.waits);
                runner.sampled = !arrived && runner.random.unit() < rate / weight(&step);
                if arrived || hits.is_empty() && !runner.sampled {
                    if shared && owner != own && !arrived && program.travel() > 0 {
                        (runner.waits, runner.at) = (true, now + program.travel());
                        continue;
                    }
                    owner = if shared { own } else { owner };
                    trace.push(step);
                    runner.next_access();
                    continue;
                }
                (runner.touched, runner.stopped, runner.phase) = (hits, now, Phase::Asks);
                runner.at = now + PASSES[0];
            }
            Phase::Asks => {
                for id in std::mem::take(&mut all[own].touched) {
                    let asked = Asked { threads: &all, own, now, clocks };
                    match detector.on_touch(&asked, id, touched) {
                        Touched::Over(over) => {
                            watches.retain(|watch| watch.id != id);
                            events.push(over.event);
                        }
                        Touched::Late => watches.retain(|watch| watch.id != id),
                        Touched::Active => {}
                    }
                }
                if all[own].sampled {
                    let random = all[own].random.next();
                    let asked = Asked { threads: &all, own, now, clocks };
                    let sampled = detector.on_sample(&asked, touched, weight(&step) as f32, random);
                    if let Some(over) = sampled.replaced {
                        watches.retain(|watch| watch.id != over.watch.id);
                        events.push(over.event);
                    }
                    all[own].to_arm = sampled.arm;
                }
                (all[own].phase, all[own].at) = (Phase::Arms, now + PASSES[1]);
            }
            Phase::Arms => {
                if let Some(watch) = all[own].to_arm.take() {
                    detector.arm(watch.id, now);
                    watches.push(watch);
                }
                (all[own].phase, all[own].at) = (Phase::GoesOn, now + PASSES[2]);
            }
            Phase::GoesOn => {
                owner = if shared { own } else { owner };
                trace.push(step);
                let runner = &mut all[own];
                runner.held += now - runner.stopped;
                runner.holds.push([runner.stopped, now]);
                runner.phase = Phase::Runs;
                runner.next_access();
            }
        }
    }
    (events, trace)
}

/// Distances that could matter for a cache of this many lines.
const BELOW: [u64; 6] = [8, 16, 40, 150, 600, 2000];

/// For uses by weight: the fraction that was invalidated, and the fractions reused below each of these distances.
#[derive(Debug, Default)]
struct Parts {
    all: f64,
    invalidated: f64,
    below: [f64; BELOW.len()],
}

impl Parts {
    fn add(&mut self, outcome: ReuseOutcome, distance: u64, weight: f64) {
        if !matches!(outcome, ReuseOutcome::Reused | ReuseOutcome::Invalidated) {
            return;
        }
        self.all += weight;
        self.invalidated += if outcome == ReuseOutcome::Invalidated { weight } else { 0.0 };
        for (part, below) in self.below.iter_mut().zip(BELOW) {
            *part += if outcome == ReuseOutcome::Reused && distance < below { weight } else { 0.0 };
        }
    }

    fn off(&self, other: &Self) -> f64 {
        let parts = |of: &Self| {
            let parts = of.below.map(|below| below / of.all);
            parts.into_iter().chain([of.invalidated / of.all]).collect::<Vec<_>>()
        };
        parts(self).into_iter().zip(parts(other)).map(|(one, two)| (one - two).abs()).fold(0.0, f64::max)
    }
}

/// For the uses of all lines, or for those of the shared one.
fn sampled(events: &[ReuseEvent], scope: Scope, shared: bool) -> Parts {
    let mut parts = Parts::default();
    for event in events.iter().filter(|event| event.scope == scope) {
        if !shared || event.earlier.access.addr.0 == SHARED {
            parts.add(event.outcome, event.distance, f64::from(event.weight));
        }
    }
    parts
}

/// Threads drift past each other slowly: many short runs that begin anywhere cover more than a long one.
fn undisturbed(program: Program, threads: usize, scope: Scope, shared: bool) -> Parts {
    const RUNS: u64 = 16;
    /// More accesses than lie between any use and its end.
    const TAIL: usize = 3000;
    let domains = vec![0; threads];
    let mut parts = Parts::default();
    for seed in 0..RUNS {
        let (_, trace) = run(program, threads, 2 * SWEEP + TAIL as u64, 0.0, true, seed);
        for (index, step) in trace.iter().enumerate().take(trace.len() - TAIL) {
            if !shared || step.access.addr.0 == SHARED {
                let (outcome, distance) = truth(&domains, &trace, index, scope, Locality::Line);
                parts.add(outcome, distance, 1.0);
            }
        }
    }
    parts
}

/// About one access in 7,000 is a use, which holds its thread for as long as 400 accesses take.
const ACCESSES: u64 = 1_500_000;
const RATE: f64 = 0.00006;

/// The difference between uses here and those of threads without holds: for all lines, in the shared cache; for the
/// shared line, there and in the private caches.
fn off(threads: usize, clocks: bool) -> [f64; 3] {
    let (events, _) = run(Program::Sweeps, threads, ACCESSES, RATE, clocks, 7);
    [(Scope::Shared, false), (Scope::Shared, true), (Scope::Private, true)].map(|(scope, shared)| {
        sampled(&events, scope, shared).off(&undisturbed(Program::Sweeps, threads, scope, shared))
    })
}

/// There are some 150 uses of each kind: the standard error of a fraction is at most 0.04.
const ALLOWED: f64 = 0.1;

#[test]
fn distances_and_outcomes_are_those_of_threads_that_nobody_holds() {
    for threads in [2, 3] {
        let off = off(threads, true);
        assert!(off.iter().all(|off| *off < ALLOWED), "{threads} threads: {off:?}");
    }
}

#[test]
fn without_clocks_they_are_not() {
    let off = off(2, false);
    assert!(off.iter().all(|off| *off > 2.0 * ALLOWED), "{off:?}");
}

/// Stores to the shared line, of which each thread makes `stores` in a row: the fraction that is invalidated, as
/// found with holds, and the true one without.
fn invalidated(threads: usize, stores: u64, apart: u64, travel: u64) -> [f64; 2] {
    let program = Program::Visits { stores, apart, travel };
    /// Some 250 uses of each thread are of the store that is invalidated.
    const VISITS: u64 = 12_000;
    let (events, _) = run(program, threads, VISITS * program.accesses(), 0.0002, true, 7);
    let found = sampled(&events, Scope::Private, true);
    let truth = undisturbed(program, threads, Scope::Private, true);
    [found, truth].map(|parts| parts.invalidated / parts.all)
}

/// Threads come to the line at independent times, once each time. (Holds mostly begin in the middle of a visit, so
/// longer visits coincide more often.)
#[test]
fn single_stores_that_are_apart_are_invalidated_as_often_as_where_nobody_is_held() {
    for threads in [2, 4] {
        let [found, truth] = invalidated(threads, 1, 5000, 0);
        assert!((found / truth - 1.0).abs() < 0.1, "{threads} threads: {found} of {truth}");
    }
}

/// The difference between uses in the shared cache and those of threads without holds, where two contend for the
/// line: for all lines, and for that one.
fn off_fought_over(stores: u64, clocks: bool) -> [f64; 2] {
    let program = Program::Visits { stores, apart: 10, travel: 100 };
    const VISITS: u64 = 12_000;
    let (events, _) = run(program, 2, VISITS * program.accesses(), 0.0002, clocks, 7);
    [false, true].map(|shared| {
        sampled(&events, Scope::Shared, shared).off(&undisturbed(program, 2, Scope::Shared, shared))
    })
}

/// The owner of the line keeps others waiting, and a held thread loses its turn: which thread would have been next is
/// lost. But that the next access comes soon, from whichever thread, is found.
#[test]
fn where_threads_fight_over_the_line_distances_in_the_shared_cache_stay() {
    for stores in [5, 20] {
        let off = off_fought_over(stores, true);
        assert!(off.iter().all(|off| *off < ALLOWED), "{stores} stores: {off:?}");
    }
    let off = off_fought_over(5, false);
    assert!(off.iter().all(|off| *off > 2.0 * ALLOWED), "without clocks: {off:?}");
}
