//! The exact mode: counts of all accesses by distance.

use std::collections::{BTreeMap, HashMap};

use carom_base::{Addr, CellClass, DistanceKind, LINE_BYTES, ProcessId, ReuseCell, Scope, StackId, ThreadId};

use super::{
    Basis, Curve, CurveKind, CurveScope, MAX_THREAD_CURVES, ReuseInput, ReusedBy, Unit,
    analyse::Question,
    pairs::{Origin, PairKey, PairTally, Wholes},
    sizes::{miss_ratios, sizes},
    tally::Tally,
};

/// Bytes of a line, as granularities are stated.
const LINE: u32 = LINE_BYTES as u32;

/// What one histogram is of.
type Key = (CurveScope, ReusedBy, u32, DistanceKind);

/// Everything that the cells of a recording say.
#[derive(Default)]
pub(super) struct Exact {
    tallies: BTreeMap<Key, Tally>,
    pairs: HashMap<PairKey, PairTally>,
    /// Bytes of a place in `pairs`, where there are any: those of a line, unless only others were asked for. The first
    /// recording decides, since counts of places of different sizes do not add up.
    pair_bytes: Option<u32>,
}

impl Exact {
    /// Reads all cells.
    pub fn of(input: &dyn ReuseInput, question: &Question) -> Self {
        let mut exact = Self::default();
        for cell in input.cells() {
            match cell.pair {
                None => exact.count(&cell, input),
                Some(ReuseCell::REST) => {}
                // A thread's reuse of its own use is a private pair already.
                Some(_) if cell.scope == Scope::Shared && !cell.from_other => {}
                Some((earlier, later)) => {
                    let thread = input.threads().get(cell.thread.0 as usize);
                    let process = thread.map_or_else(ProcessId::default, |thread| thread.process);
                    let key = PairKey { process, scope: cell.scope, earlier, later };
                    exact.pair(&cell, input, question, key);
                }
            }
        }
        exact
    }

    fn count(&mut self, cell: &ReuseCell, input: &dyn ReuseInput) {
        for (scope, by) in curves_of(cell, input) {
            let tally = self.tallies.entry((scope, by, cell.granularity, cell.distance)).or_default();
            let count = cell.count as f64;
            match cell.class {
                // No reuse of this kind.
                CellClass::Reuse(_) if by == ReusedBy::OtherThread && !cell.from_other => {
                    tally.first += count;
                }
                CellClass::Reuse(kind) => tally.reuse(cell.bin, kind, count),
                CellClass::First => tally.first += count,
                CellClass::Invalidated => tally.invalidated += count,
            }
            tally.observations = tally.observations.saturating_add(cell.count);
        }
    }

    fn pair(&mut self, cell: &ReuseCell, input: &dyn ReuseInput, question: &Question, key: PairKey) {
        let CellClass::Reuse(kind) = cell.class else { return };
        if *self.pair_bytes.get_or_insert(cell.granularity) != cell.granularity {
            return;
        }
        let pair = self.pairs.entry(key).or_default();
        let mut one = Tally::default();
        one.reuse(cell.bin, kind, cell.count as f64);
        let (tally, missing) = match cell.distance {
            DistanceKind::Time => (&mut pair.time, 0.0),
            DistanceKind::Stack => (&mut pair.stack, one.at_least(question.places(cell.granularity))),
        };
        tally.add(&one);
        tally.observations = tally.observations.saturating_add(cell.count);
        pair.seen = pair.seen.max(tally.observations);
        if cell.at != Addr(0) {
            pair.place(StackId::NONE, StackId::NONE, cell.at, cell.count as f64);
        }
        pair.threads.insert(input.in_first_run(cell.thread));
        *pair.missing.entry(owner(cell, input)).or_default() += missing;
    }

    /// Whether anything was followed.
    pub fn is_empty(&self) -> bool {
        self.tallies.is_empty()
    }

    /// Accesses that were followed, at the granularity of a line where that is among them.
    pub fn accesses(&self) -> u64 {
        let mine = |(key, _): &(&Key, &Tally)| key.0 == CurveScope::All;
        let lines = |(key, _): &(&Key, &Tally)| (u64::from(key.2) == LINE_BYTES, key.3);
        self.tallies.iter().filter(mine).max_by_key(lines).map_or(0, |(_, tally)| tally.observations)
    }

    /// What the shares of pairs are of.
    pub fn wholes(&self, question: &Question) -> Wholes {
        let bytes = self.pair_bytes.unwrap_or(LINE);
        let mut wholes = Wholes::of_places(question.places(bytes));
        for (&(scope, by, granularity, distance), tally) in &self.tallies {
            let counts = scope != CurveScope::All && by != ReusedBy::OtherThread;
            if counts && (granularity, distance) == (bytes, DistanceKind::Stack) {
                let misses = tally.first + tally.invalidated + tally.at_least(wholes.places);
                wholes.add(scope, tally.total(), misses);
            }
        }
        wholes
    }

    /// The pairs, and how their numbers came about.
    pub fn pairs(self, rate: f64) -> (HashMap<PairKey, PairTally>, Origin) {
        let place_bytes = self.pair_bytes.unwrap_or(LINE);
        (self.pairs, Origin { unit: Unit::Accesses, basis: basis(rate), place_bytes })
    }

    /// The curves, those of the busiest threads only.
    pub fn curves(&self, question: &Question, rate: f64) -> Vec<Curve> {
        let kept = self.busiest();
        let curve = |(&(scope, reused_by, granularity, distance), tally): (&Key, &Tally)| {
            let stack = distance == DistanceKind::Stack;
            let places = (rate < 1.0).then_some(tally.first * rate);
            let longest = tally.longest().unwrap_or(0).saturating_add(1);
            let sizes = sizes(
                &question.caches,
                longest.saturating_mul(u64::from(granularity)),
                question.chosen_bytes,
            );
            let is_cache =
                stack && u64::from(granularity) >= LINE_BYTES && reused_by != ReusedBy::OtherThread;
            Curve {
                scope,
                reused_by,
                kind: if granularity == 1 { CurveKind::Temporal } else { CurveKind::Any },
                distance,
                unit: if stack { Unit::Places } else { Unit::Accesses },
                granularity,
                basis: basis(rate),
                accesses: tally.total(),
                observations: (tally.observations as f64 * rate) as u64,
                outcomes: tally.outcomes(),
                histogram: tally.histogram(question.bins),
                miss_ratio: if is_cache {
                    miss_ratios(tally, granularity, &sizes, places)
                } else {
                    Vec::new()
                },
            }
        };
        let wanted = |(key, _): &(&Key, &Tally)| match key.0 {
            CurveScope::Thread(thread) => kept.contains(&thread),
            CurveScope::All | CurveScope::Shared(_) => true,
        };
        self.tallies.iter().filter(wanted).map(curve).collect()
    }

    /// The threads with most accesses.
    fn busiest(&self) -> Vec<ThreadId> {
        let mut totals: BTreeMap<ThreadId, u64> = BTreeMap::new();
        for ((scope, ..), tally) in &self.tallies {
            if let CurveScope::Thread(thread) = scope {
                let most = totals.entry(*thread).or_default();
                *most = tally.observations.max(*most);
            }
        }
        let mut threads: Vec<_> = totals.into_iter().collect();
        threads.sort_by_key(|(thread, accesses)| (std::cmp::Reverse(*accesses), *thread));
        threads.truncate(MAX_THREAD_CURVES);
        threads.into_iter().map(|(thread, _)| thread).collect()
    }
}

/// SHARDS follows a sample of the places (Waldspurger and others, FAST 2015).
fn basis(rate: f64) -> Basis {
    if rate < 1.0 { Basis::Sampled } else { Basis::Exact }
}

/// The curves that a cell belongs to.
fn curves_of(cell: &ReuseCell, input: &dyn ReuseInput) -> [(CurveScope, ReusedBy); 2] {
    let owner = owner(cell, input);
    match cell.scope {
        Scope::Private => [CurveScope::All, owner].map(|of| (of, ReusedBy::SameThread)),
        Scope::Shared => [ReusedBy::AnyThread, ReusedBy::OtherThread].map(|by| (owner, by)),
    }
}

/// Whose cache a cell is about.
fn owner(cell: &ReuseCell, input: &dyn ReuseInput) -> CurveScope {
    match cell.scope {
        Scope::Private => CurveScope::Thread(input.in_first_run(cell.thread)),
        Scope::Shared => CurveScope::Shared(input.domain(cell.thread)),
    }
}
