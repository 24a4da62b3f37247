//! Uses and reuses by instruction.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use carom_base::{Addr, Ip, ProcessId, Scope, StackId, ThreadId};

use super::{Basis, CurveScope, MAX_PAIRS, Pair, Quantiles, Unit, tally::Tally};
use crate::{
    recording::Names,
    symbols::{DataObject, Frame},
};

/// Distinct lines of a pair whose objects are looked up: with more, a pair that walks a large object would take long.
const LINES_LOOKED_UP: usize = 64;

/// Two instructions of a process, and the cache they meet in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct PairKey {
    pub process: ProcessId,
    pub scope: Scope,
    pub earlier: Ip,
    pub later: Ip,
}

/// Sums over the reuses of one pair.
#[derive(Clone, Debug, Default)]
pub(super) struct PairTally {
    /// By time distance; weights or counts.
    pub time: Tally,
    /// By stack distance in places.
    pub stack: Tally,
    /// Who reuses.
    pub threads: BTreeSet<ThreadId>,
    /// Misses in a cache of the chosen size, by the cache's owner.
    pub missing: BTreeMap<CurveScope, f64>,
    /// Weight of reuses of the very bytes, and of others, where that is known.
    pub temporal: f64,
    pub spatial: f64,
    pub seen: u64,
    paths: HashMap<(StackId, StackId), f64>,
    /// By line: a byte there that was reused, and the weight of the reuses. A line may hold several variables.
    lines: BTreeMap<Addr, (Addr, f64)>,
}

impl PairTally {
    /// Where a reuse was seen.
    pub fn place(&mut self, earlier: StackId, later: StackId, at: Addr, weight: f64) {
        *self.paths.entry((earlier, later)).or_default() += weight;
        let line = at.line().start();
        if self.lines.len() < LINES_LOOKED_UP || self.lines.contains_key(&line) {
            self.lines.entry(line).or_insert((at, 0.0)).1 += weight;
        }
    }

    /// Adds the numbers of another process or run. Addresses and call paths stay those of the first, in which those of
    /// others mean nothing.
    fn add(&mut self, other: Self) {
        self.time.add(&other.time);
        self.stack.add(&other.stack);
        self.threads.extend(other.threads);
        for (owner, missing) in other.missing {
            *self.missing.entry(owner).or_default() += missing;
        }
        self.temporal += other.temporal;
        self.spatial += other.spatial;
        self.seen = self.seen.saturating_add(other.seen);
    }

    /// Reuses, by weight or count.
    fn reuses(&self) -> f64 {
        // Exact mode may have followed only one of the two distances.
        self.stack.reused().max(self.time.reused())
    }

    /// The stacks of most of the reuses; the lowest numbers where several are equal.
    fn path(&self) -> (StackId, StackId) {
        let most = self.paths.iter().max_by(|a, b| a.1.total_cmp(b.1).then(b.0.cmp(a.0)));
        most.map_or((StackId::NONE, StackId::NONE), |(path, _)| *path)
    }

    /// The object of most of the reuses.
    fn object(&self, process: ProcessId, names: &mut dyn Names) -> Option<DataObject> {
        let mut found: Vec<(DataObject, f64)> = Vec::new();
        for (at, weight) in self.lines.values() {
            let object = names.object(process, *at);
            match found.iter_mut().find(|(known, _)| same(known, &object)) {
                Some((_, sum)) => *sum += weight,
                None => found.push((object, *weight)),
            }
        }
        found.into_iter().max_by(|a, b| a.1.total_cmp(&b.1)).map(|(object, _)| object)
    }
}

/// The same variable, or a block of the same allocation.
pub(super) fn same(one: &DataObject, other: &DataObject) -> bool {
    one.kind == other.kind && one.name == other.name && one.declared == other.declared
}

/// The totals that shares are parts of, in the threads' own caches and in the shared ones.
#[derive(Clone, Debug, Default)]
pub(super) struct Wholes {
    /// Places that fit in the chosen cache.
    pub places: u64,
    /// Misses by whose cache it is, by weight or count.
    misses: BTreeMap<CurveScope, f64>,
    private: Whole,
    shared: Whole,
}

impl Wholes {
    /// Of nothing yet.
    pub fn of_places(places: u64) -> Self {
        Self { places, ..Self::default() }
    }

    /// Adds accesses and misses of one cache: a thread's own, or a shared one.
    pub fn add(&mut self, owner: CurveScope, accesses: f64, misses: f64) {
        let whole = match owner {
            CurveScope::Shared(_) => &mut self.shared,
            CurveScope::All | CurveScope::Thread(_) => &mut self.private,
        };
        whole.accesses += accesses;
        whole.misses += misses;
        *self.misses.entry(owner).or_default() += misses;
    }

    fn of(&self, scope: Scope) -> Whole {
        match scope {
            Scope::Private => self.private,
            Scope::Shared => self.shared,
        }
    }
}

/// The totals of one kind of cache.
#[derive(Clone, Copy, Debug, Default)]
struct Whole {
    /// All accesses, by weight or count.
    accesses: f64,
    /// All misses in the chosen cache.
    misses: f64,
}

/// How the numbers of the pairs came about.
#[derive(Clone, Copy, Debug)]
pub(super) struct Origin {
    pub unit: Unit,
    pub basis: Basis,
    /// Bytes of a place.
    pub place_bytes: u32,
}

/// The pairs with the largest shares of the misses, and of the accesses where these are equal, and how many were left
/// out.
pub(super) fn pairs(
    tallies: HashMap<PairKey, PairTally>,
    wholes: Wholes,
    origin: Origin,
    names: &mut dyn Names,
) -> (Vec<Pair>, usize) {
    let misses = |tally: &PairTally| tally.stack.at_least(wholes.places);
    let mut ranked: Vec<(PairKey, PairTally)> = tallies.into_iter().collect();
    let rank = |pairs: &mut Vec<(PairKey, PairTally)>| {
        pairs.sort_by_cached_key(|(key, tally)| {
            let by_size = |value: f64| Reverse((value * PRECISION) as u64);
            (by_size(misses(tally)), by_size(tally.reuses()), *key)
        });
    };
    rank(&mut ranked);
    let mut others = ranked.len().saturating_sub(LOOKED_UP);
    ranked.truncate(LOOKED_UP);
    let mut merged = same_instructions(ranked, names);
    rank(&mut merged);
    others += merged.len().saturating_sub(MAX_PAIRS);
    merged.truncate(MAX_PAIRS);
    let pairs = merged.into_iter().map(|(key, tally)| {
        let (misses, reuses) = (misses(&tally), tally.reuses());
        Finished { misses, reuses, key, tally }.pair(&wholes, origin, names)
    });
    (pairs.collect(), others)
}

/// Pairs whose instructions are looked up, to see which are the same.
const LOOKED_UP: usize = 4 * MAX_PAIRS;

/// Weights are compared to this part of one.
const PRECISION: f64 = 1e6;

/// Pairs of the same instructions of the same modules, together: of several runs, or of several processes of a program.
fn same_instructions(pairs: Vec<(PairKey, PairTally)>, names: &mut dyn Names) -> Vec<(PairKey, PairTally)> {
    let mut merged: Vec<(PairKey, PairTally)> = Vec::new();
    let mut known: HashMap<(Scope, Frame, Frame), usize> = HashMap::new();
    for (key, tally) in pairs {
        let mut place = |ip| {
            let path = names.call_path(key.process, ip, StackId::NONE);
            path.into_iter().next().filter(|frame| frame.module.is_some())
        };
        let places = place(key.earlier).zip(place(key.later));
        let Some((earlier, later)) = places else {
            merged.push((key, tally));
            continue;
        };
        let index = *known.entry((key.scope, earlier, later)).or_insert(merged.len());
        match merged.get_mut(index) {
            Some((_, all)) => all.add(tally),
            None => merged.push((key, tally)),
        }
    }
    merged
}

struct Finished {
    misses: f64,
    reuses: f64,
    key: PairKey,
    tally: PairTally,
}

impl Finished {
    fn pair(self, wholes: &Wholes, origin: Origin, names: &mut dyn Names) -> Pair {
        let whole = wholes.of(self.key.scope);
        let place = f64::from(origin.place_bytes);
        let Self { misses, reuses, key, tally } = self;
        let (earlier, later) = tally.path();
        let mut path = |ip, stack| -> Vec<Frame> { names.call_path(key.process, ip, stack) };
        let (earlier, later) = (path(key.earlier, earlier), path(key.later, later));
        let kinds = if tally.stack.reused() > 0.0 { tally.stack.kinds() } else { tally.time.kinds() };
        let told = tally.temporal + tally.spatial;
        let of_owner = |owner| wholes.misses.get(owner).copied().unwrap_or(0.0);
        let shares = tally.missing.iter().map(|(owner, missing)| (*owner, part(*missing, of_owner(owner))));
        let share_by_cache = shares.collect();
        Pair {
            process: key.process,
            scope: key.scope,
            earlier,
            later,
            object: tally.object(key.process, names),
            around: (misses > 0.0).then(|| names.loop_around(key.process, key.later)).flatten(),
            by_kind: kinds.map(|kind| part(kind, kinds.iter().sum())),
            temporal: (told > 0.0).then(|| tally.temporal / told),
            share: part(reuses, whole.accesses),
            share_of_misses: part(misses, whole.misses),
            miss_ratio: part(misses, reuses),
            time: quantiles(&tally.time, 1.0),
            unit: origin.unit,
            missing_bytes: missing_median(&tally.stack, misses).map(|places| places * place),
            stack_bytes: quantiles(&tally.stack, place),
            basis: origin.basis,
            seen: tally.seen,
            share_by_cache,
            threads: tally.threads.into_iter().collect(),
        }
    }
}

/// A part of a whole, 0 where there is none.
pub(super) fn part(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

fn quantiles(tally: &Tally, scale: f64) -> Option<Quantiles> {
    let at = |q| tally.quantile(q).map(|distance| distance * scale);
    Some(Quantiles { low: at(0.1)?, median: at(0.5)?, high: at(0.9)? })
}

/// The median of the longest distances, of this weight together.
fn missing_median(stack: &Tally, misses: f64) -> Option<f64> {
    let above = part(misses, stack.reused());
    (above > 0.0).then(|| stack.quantile(1.0 - above / 2.0)).flatten()
}
