//! Sampled uses, each with what became of it.

mod pairs;
mod uses;

use std::collections::BTreeMap;

use carom_base::{DistanceKind, LINE_BYTES, ReuseOutcome, ThreadId};
use carom_study_stats::reuse::{Distances, End, Incidence, Observation, phased_places};
use uses::{Key, Use, groups};

use super::{
    Basis, Bins, Curve, CurveKind, CurveScope, MAX_THREAD_CURVES, Model, Outcomes, Quality, ReuseInput,
    ReusedBy, Unit, analyse::Question, models::Models, tally::histogram, weights::Weights,
};

/// Everything that the events of a recording say.
pub(super) struct Sampled {
    /// In the order of their times.
    uses: Vec<Use>,
    unit: Unit,
    weights: Weights,
    /// The uses of each curve, as indices, in order.
    groups: BTreeMap<Key, Vec<usize>>,
    /// Accesses that the curves of each scope stand for.
    accesses: BTreeMap<CurveScope, f64>,
    in_episodes: bool,
}

/// Uses that are farther apart were sampled in two episodes. Within one there are thousands in a second; the next one begins a tenth
/// of a second later or more.
const APART_NS: u64 = 20_000_000;

impl Sampled {
    /// Reads all events.
    pub fn of(input: &dyn ReuseInput) -> Self {
        let mut uses: Vec<Use> = input.events().map(|event| Use::of(&event, input)).collect();
        uses.sort_by_key(|each| each.time);
        let (groups, weights) = (groups(&uses), Weights::of(input));
        let accesses = groups.keys().map(|key| (key.0, accesses(key.0, &uses, &weights, input))).collect();
        let (unit, in_episodes) = (input.unit(), input.in_episodes());
        let mut sampled = Self { uses, unit, weights, groups, accesses, in_episodes };
        if sampled.unit == Unit::Accesses {
            sampled.find_stack_distances();
        }
        sampled
    }

    /// The stack distance that each reuse of a line is expected to have among the uses of its thread, or of its domain.
    fn find_stack_distances(&mut self) {
        let apart = |key: &&Key| is_of_lines(key) && key.0 != CurveScope::All;
        let keys: Vec<Key> = self.groups.keys().filter(apart).copied().collect();
        for key in keys {
            let places = phased_places(&self.observations(key), self.accesses_of(key.0) as u64);
            let indices = self.groups.get(&key).into_iter().flatten();
            for (index, places) in indices.zip(places) {
                if let Some(each) = self.uses.get_mut(*index) {
                    each.stack = places;
                }
            }
        }
    }

    fn uses(&self, key: Key) -> impl Iterator<Item = &Use> {
        self.groups.get(&key).into_iter().flatten().filter_map(|index| self.uses.get(*index))
    }

    fn observations(&self, key: Key) -> Vec<Observation> {
        self.uses(key).map(|each| each.observation(key.1)).collect()
    }

    /// How many of these uses each episode has; none where there are no episodes.
    fn clusters(&self, key: Key) -> Vec<usize> {
        if !self.in_episodes {
            return Vec::new();
        }
        let times: Vec<u64> = self.uses(key).map(|each| each.time.0).collect();
        times.chunk_by(|before, after| after.saturating_sub(*before) < APART_NS).map(<[u64]>::len).collect()
    }

    fn accesses_of(&self, scope: CurveScope) -> f64 {
        self.accesses.get(&scope).copied().unwrap_or(0.0)
    }

    /// How many ended how.
    pub fn quality(&self) -> Quality {
        let ended = |outcome| self.uses.iter().filter(|each| each.outcome == outcome).count() as u64;
        Quality {
            uses: self.uses.len() as u64,
            reused: ended(ReuseOutcome::Reused),
            invalidated: ended(ReuseOutcome::Invalidated),
            replaced: ended(ReuseOutcome::Replaced),
            ended: ended(ReuseOutcome::Ended),
            ..Quality::default()
        }
    }

    /// Time distances as sampled; of lines, stack distances and miss ratios by both models.
    pub fn curves(&self, question: &Question) -> Vec<Curve> {
        let kept = self.busiest();
        let wanted = |key: &&Key| match key.0 {
            CurveScope::Thread(thread) => kept.contains(&thread),
            CurveScope::All | CurveScope::Shared(_) => true,
        };
        let keys: Vec<Key> = self.groups.keys().filter(wanted).copied().collect();
        let models = Models::new(question, keys.iter().filter(|key| is_of_lines(key)).count());
        let mut curves = Vec::new();
        for key in keys {
            let observations = self.observations(key);
            let Some(incidence) = Incidence::of(observations.iter().copied()) else { continue };
            let time = self.time_curve(key, incidence.distances(), question.bins);
            if self.unit == Unit::Accesses && is_of_lines(&key) {
                for model in [Model::StatStack, Model::Footprint] {
                    curves.extend(self.stack_curve(&time, key, &observations, model, &models, question.bins));
                }
            }
            curves.push(time);
        }
        models.all_from_threads(&mut curves);
        curves
    }

    fn time_curve(&self, key: Key, distances: &Distances, bins: Bins) -> Curve {
        let (scope, reused_by, kind) = key;
        let parts = self.parts(key, distances);
        Curve {
            scope,
            reused_by,
            kind,
            distance: DistanceKind::Time,
            unit: self.unit,
            granularity: LINE_BYTES as u32,
            basis: Basis::Sampled,
            accesses: self.accesses_of(scope),
            observations: self.uses(key).filter(|each| each.weight > 0.0).count() as u64,
            outcomes: outcomes(distances),
            histogram: histogram(parts.into_iter().map(|(each, kinds)| (each.distance, kinds)), bins),
            miss_ratio: Vec::new(),
        }
    }

    fn stack_curve(
        &self,
        time: &Curve,
        key: Key,
        observations: &[Observation],
        model: Model,
        models: &Models<'_>,
        bins: Bins,
    ) -> Option<Curve> {
        let made = models.make(model, observations, &self.clusters(key), time.accesses)?;
        let incidence = Incidence::of(observations.iter().copied())?;
        let parts = self.parts(key, incidence.distances());
        let stack = |each: &Use| made.places(each.distance).or(each.stack);
        let stacks = parts.into_iter().filter_map(|(each, kinds)| Some((stack(each)?, kinds)));
        Some(Curve {
            distance: DistanceKind::Stack,
            unit: Unit::Places,
            basis: Basis::Modelled(model),
            histogram: histogram(stacks, bins),
            miss_ratio: made.miss_ratio,
            ..time.clone()
        })
    }

    /// The reuses, each with the part of all uses that it stands for, by kind: the part that is estimated for its
    /// distance, divided among those that were seen there.
    fn parts(&self, key: Key, distances: &Distances) -> Vec<(&Use, [f64; 4])> {
        let reused = |each: &&Use| each.observation(key.1).end == End::Reused && each.weight > 0.0;
        let mut seen: BTreeMap<u64, f64> = BTreeMap::new();
        for each in self.uses(key).filter(reused) {
            *seen.entry(each.distance).or_default() += each.weight;
        }
        let estimated: BTreeMap<u64, f64> =
            distances.steps().iter().map(|step| (step.low, step.reused)).collect();
        let part = |each: &'_ Use| {
            let all = seen.get(&each.distance)?;
            let part = estimated.get(&each.distance)? * each.weight / all;
            let mut kinds = [0.0; 4];
            *kinds.get_mut(each.reuse?.kind as usize)? = part;
            Some(kinds)
        };
        self.uses(key).filter(reused).filter_map(|each| Some((each, part(each)?))).collect()
    }

    /// The threads with most uses.
    fn busiest(&self) -> Vec<ThreadId> {
        let mut totals: BTreeMap<ThreadId, f64> = BTreeMap::new();
        for each in &self.uses {
            *totals.entry(each.thread).or_default() += each.weight;
        }
        let mut threads: Vec<_> = totals.into_iter().collect();
        threads.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        threads.truncate(MAX_THREAD_CURVES);
        threads.into_iter().map(|(thread, _)| thread).collect()
    }
}

/// Whether stack distances and misses follow from a curve's times.
fn is_of_lines((_, by, kind): &Key) -> bool {
    *kind == CurveKind::Any && *by != ReusedBy::OtherThread
}

fn outcomes(distances: &Distances) -> Outcomes {
    let (invalidated, once) = (distances.lost(), distances.never());
    Outcomes { reused: (1.0 - invalidated - once).max(0.0), invalidated, once }
}

/// Accesses that a scope has: counted where they were, else estimated from all uses of these threads.
fn accesses(scope: CurveScope, uses: &[Use], weights: &Weights, input: &dyn ReuseInput) -> f64 {
    let mine = |thread: ThreadId| match scope {
        CurveScope::All => true,
        CurveScope::Thread(own) => own == input.in_first_run(thread),
        CurveScope::Shared(domain) => input.domain(thread) == domain,
    };
    let mut threads = input.threads().iter().filter(|entry| mine(entry.id));
    let counted = threads.try_fold(0_u64, |sum, entry| Some(sum.saturating_add(input.accesses(entry.id)?)));
    let weight = || uses.iter().filter(|each| mine(each.thread)).map(|each| each.weight).sum::<f64>();
    counted
        .filter(|counted| *counted > 0)
        .map_or_else(|| weights.estimate(weight()), |counted| counted as f64)
}
