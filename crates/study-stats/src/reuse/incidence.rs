//! The distribution of distances when not every use could be watched to its end.

use super::distances::{Distances, Step};
use crate::wilson::{Interval, wilson};

/// The outcome of a sampled use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    /// The watch ended. The use had not ended at any smaller distance.
    Censored,
    /// It was reused.
    Reused,
    /// It was invalidated first.
    Invalidated,
    /// It was watched up to the end of the program, or of its thread: it is never reused.
    Never,
}

/// A sampled use.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observation {
    /// Accesses strictly between the use and its outcome.
    pub distance: u64,
    /// How many uses it stands for. Without a positive, finite weight it is ignored.
    pub weight: f64,
    /// What became of it.
    pub end: End,
}

/// Aalen-Johansen estimate of the distribution of distances: the probability that a use is reused, or invalidated,
/// before any distance (Aalen and Johansen, "An empirical transition matrix for non-homogeneous Markov chains based
/// on censored observations", Scand. J. Stat. 5, 1978). Without invalidation it is the product-limit estimate of
/// Kaplan and Meier, without censoring the plain shares.
///
/// Assumes that uses are independent, and that censoring is independent of what would have come later.
///
/// Variances are sums of squared weighted influences (the infinitesimal jackknife; Andersen, Borgan, Gill and
/// Keiding, "Statistical Models Based on Counting Processes", 1993, IV.4). That is Greenwood's formula, except for
/// ties, if weights are equal, and remains valid if they are not.
#[derive(Clone, Debug, PartialEq)]
pub struct Incidence {
    /// By distance; at equal distances, censored ones first.
    sorted: Vec<Observation>,
    points: Vec<Point>,
    /// Weight of the uses that never end.
    never_ending: f64,
    distances: Distances,
}

/// One distance at which uses end, with sums over this and all smaller ones for the variances.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Point {
    distance: u64,
    /// Weight at risk here.
    at_risk: f64,
    /// Share of the uses at risk that end here.
    hazard: f64,
    /// Survival before this distance.
    survival: f64,
    /// Reused and invalidated up to and including this distance.
    incidence: [f64; 2],
    /// Σ S dΛ_c / Y of each cause c.
    own: [f64; 2],
    /// Σ dΛ / (Y (1 - dΛ)).
    all: f64,
    /// Σ F_c dΛ / (Y (1 - dΛ)) of each cause c.
    shifted: [f64; 2],
}

/// Which of the two causes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    Reused = 0,
    Invalidated = 1,
}

impl Incidence {
    /// `None` without any weight.
    pub fn of(observations: impl IntoIterator<Item = Observation>) -> Option<Self> {
        let usable = |it: &Observation| it.weight.is_finite() && it.weight > 0.0;
        let mut sorted: Vec<_> = observations.into_iter().filter(usable).collect();
        // A use that never ends is at risk at every distance.
        sorted.sort_by_key(|it| (if it.end == End::Never { u64::MAX } else { it.distance }, it.end));
        let mut at_risk: f64 = sorted.iter().map(|it| it.weight).sum();
        if !(at_risk.is_finite() && at_risk > 0.0) {
            return None;
        }
        let mut points: Vec<Point> = Vec::new();
        for group in
            sorted.chunk_by(|a, b| a.distance == b.distance && (a.end == End::Never) == (b.end == End::Never))
        {
            let weight_of = |end| group.iter().filter(|it| it.end == end).map(|it| it.weight).sum::<f64>();
            at_risk -= weight_of(End::Censored);
            let ended = [weight_of(End::Reused), weight_of(End::Invalidated)];
            if ended.iter().sum::<f64>() > 0.0 && at_risk > 0.0 {
                let distance = group.first().map_or(0, |it| it.distance);
                points.push(Point::after(points.last(), distance, at_risk, ended));
            }
            at_risk -= ended.iter().sum::<f64>();
        }
        let steps = points.iter().scan([0.0; 2], |before, point| {
            let [reused, lost] = [0, 1].map(|cause| point.incidence[cause] - before[cause]);
            *before = point.incidence;
            Some(Step { low: point.distance, high: point.distance, reused, lost })
        });
        let ended: f64 = points.last().map_or(0.0, |point| point.incidence.iter().sum());
        let distances = Distances::new(steps.collect(), 0.0, (1.0 - ended).max(0.0))?;
        let never_ending = sorted.iter().filter(|it| it.end == End::Never).map(|it| it.weight).sum();
        Some(Self { sorted, points, never_ending, distances })
    }

    /// The distribution itself.
    pub fn distances(&self) -> &Distances {
        &self.distances
    }

    /// The share of all uses that an observation stands for: more than its weight, if others were censored before it.
    pub(super) fn mass(&self, it: &Observation) -> f64 {
        let until = match it.end {
            End::Censored => return 0.0,
            End::Never => self.points.len(),
            End::Reused | End::Invalidated => {
                self.points.partition_point(|point| point.distance < it.distance)
            }
        };
        // The uses at risk share what has survived.
        let share = match self.points.get(until) {
            Some(point) => point.survival / point.at_risk,
            None => self.distances.never() / self.never_ending,
        };
        if it.weight.is_finite() && it.weight > 0.0 && share.is_finite() { it.weight * share } else { 0.0 }
    }

    /// 95% interval of the share of uses that are reused at a smaller distance.
    pub fn reused_interval(&self, distance: u64) -> Interval {
        self.interval(distance, &[Cause::Reused])
    }

    /// 95% interval of the share of uses that are invalidated at a smaller distance.
    pub fn invalidated_interval(&self, distance: u64) -> Interval {
        self.interval(distance, &[Cause::Invalidated])
    }

    /// 95% interval of the share of uses that have not ended at any smaller distance.
    pub fn survival_interval(&self, distance: u64) -> Interval {
        let ended = self.interval(distance, &[Cause::Reused, Cause::Invalidated]);
        Interval { low: 1.0 - ended.high, high: 1.0 - ended.low }
    }

    /// Wilson's interval for the number of observations with the same variance; without a variance, for the number
    /// that the weights are worth.
    fn interval(&self, distance: u64, causes: &[Cause]) -> Interval {
        let count = self.points.partition_point(|point| point.distance < distance);
        let (points, last) =
            (&self.points[..count], count.checked_sub(1).and_then(|last| self.points.get(last)));
        let share = last.map_or(0.0, |last| causes.iter().map(|cause| last.incidence[*cause as usize]).sum());
        let worth = crate::effective_sample_size(self.sorted.iter().map(|it| it.weight));
        let variance = self.variance(points, causes);
        let size = if variance > 0.0 { (share * (1.0 - share) / variance).min(worth) } else { worth };
        wilson(share, size)
    }

    fn variance(&self, points: &[Point], causes: &[Cause]) -> f64 {
        let Some(last) = points.last() else { return 0.0 };
        let influence = |it: &Observation| -> f64 {
            let sum = |cause: &Cause| influence(points, last, it, *cause);
            it.weight * causes.iter().map(sum).sum::<f64>()
        };
        self.sorted.iter().map(influence).map(|influence| influence * influence).sum()
    }
}

/// By how much one more use, per weight, would change the incidence of one cause: its contribution where it ends,
/// minus what is expected of it while it is at risk, in both factors of Σ S dΛ_c.
fn influence(points: &[Point], last: &Point, it: &Observation, cause: Cause) -> f64 {
    let cause_index = cause as usize;
    // It is at risk at every distance up to its own; censored, up to just before it.
    let risked = match it.end {
        End::Never => points.len(),
        End::Censored => points.partition_point(|point| point.distance < it.distance),
        End::Reused | End::Invalidated => points.partition_point(|point| point.distance <= it.distance),
    };
    let Some(sums) = risked.checked_sub(1).and_then(|index| points.get(index)) else { return 0.0 };
    let total = last.incidence[cause_index];
    let expected = sums.own[cause_index] - total * sums.all + sums.shifted[cause_index];
    let ends_here = matches!(it.end, End::Reused | End::Invalidated) && sums.distance == it.distance;
    if !ends_here {
        return -expected;
    }
    let ends_so =
        matches!((it.end, cause), (End::Reused, Cause::Reused) | (End::Invalidated, Cause::Invalidated));
    let direct = if ends_so { sums.survival / sums.at_risk } else { 0.0 };
    let later = total - sums.incidence[cause_index];
    let lost = if sums.hazard < 1.0 { later / (sums.at_risk * (1.0 - sums.hazard)) } else { 0.0 };
    direct - lost - expected
}

impl Point {
    fn after(before: Option<&Self>, distance: u64, at_risk: f64, ended: [f64; 2]) -> Self {
        let survival = before.map_or(1.0, |point| point.survival * (1.0 - point.hazard));
        let hazard = (ended.iter().sum::<f64>() / at_risk).min(1.0);
        let per_cause = ended.map(|ended| ended / at_risk);
        let sums = |sums: fn(&Self) -> [f64; 2]| before.map_or([0.0; 2], sums);
        let [incidence, own, shifted] =
            [sums(|point| point.incidence), sums(|point| point.own), sums(|point| point.shifted)];
        let incidence = [0, 1].map(|cause| incidence[cause] + survival * per_cause[cause]);
        // No use is left after a hazard of 1: nothing more is multiplied by it.
        let passed = if hazard < 1.0 { hazard / (at_risk * (1.0 - hazard)) } else { 0.0 };
        Self {
            distance,
            at_risk,
            hazard,
            survival,
            incidence,
            own: [0, 1].map(|cause| own[cause] + survival * per_cause[cause] / at_risk),
            all: before.map_or(0.0, |point| point.all) + passed,
            shifted: [0, 1].map(|cause| shifted[cause] + incidence[cause] * passed),
        }
    }
}
