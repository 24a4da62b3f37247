//! Distributions of events that were not watched directly, from others that were.

use super::distances::{Distances, Step};
use crate::wilson::Interval;

impl Distances {
    /// The first of two future events, each with its own distribution, if they are independent: survivals multiply,
    /// S(d) = S₁(d) S₂(d).
    ///
    /// For a line that was not watched as a whole, from its temporal and spatial reuses:
    /// `temporal.if_never_lost()?.first_of(&spatial)` (a write that invalidates the bytes invalidates the line, and
    /// the spatial watch already sees it). For a shared cache, from one thread's reuses by itself, in the clock of
    /// the domain ([`slowed`](Self::slowed)), and by others. Two events that are often near each other, or both far
    /// away, are not independent: use this for the uses of one instruction at a time, and [`mixed`](Self::mixed) on
    /// the results. [`survival_of_first`] bounds the error.
    pub fn first_of(&self, other: &Self) -> Option<Self> {
        let mut events: Vec<(u64, usize, Step)> = Vec::new();
        for (whose, distances) in [self, other].into_iter().enumerate() {
            events.extend(
                distances.steps().iter().map(|step| (step.low + (step.high - step.low) / 2, whose, *step)),
            );
        }
        events.sort_by_key(|(at, whose, _)| (*at, *whose));
        let mut survival = [1.0; 2];
        let mut steps = Vec::with_capacity(events.len());
        for (at, whose, step) in events {
            let [of_self, of_other] = &mut survival;
            let (own, others) = if whose == 0 { (of_self, of_other) } else { (of_other, of_self) };
            let (reused, lost) = (step.reused * *others, step.lost * *others);
            *own = (*own - step.reused - step.lost).max(0.0);
            steps.push(Step { low: at, high: at, reused, lost });
        }
        let left = survival.iter().product::<f64>();
        Self::new(steps, 0.0, left)
    }

    /// The distribution if nothing were ever invalidated, assuming that invalidated uses would have been reused like
    /// all others: at each distance with the same probability among the uses that reach it.
    pub fn if_never_lost(&self) -> Option<Self> {
        let mut survival = 1.0;
        let mut steps = Vec::with_capacity(self.steps().len());
        for step in self.steps() {
            let there = self.survival(step.low);
            let reused = if there > 0.0 { survival * (step.reused / there).min(1.0) } else { 0.0 };
            survival -= reused;
            steps.push(Step { reused, lost: 0.0, ..*step });
        }
        Self::new(steps, 0.0, survival)
    }

    /// Distances times a factor: those of one thread's accesses, in the clock of a domain whose threads together make
    /// `factor` times as many. Assumes that the threads run evenly side by side.
    pub fn slowed(&self, factor: f64) -> Option<Self> {
        // Two accesses at distance d are d + 1 steps of the clock apart.
        let scaled = |distance: u64| ((distance as f64 + 1.0) * factor.max(1.0) - 1.0).round() as u64;
        let step = |step: &Step| Step { low: scaled(step.low), high: scaled(step.high), ..*step };
        Self::new(self.steps().iter().map(step).collect(), self.lost_unplaced(), self.never())
    }

    /// The weighted mixture of all of them.
    pub fn mixed<'a>(parts: impl IntoIterator<Item = (f64, &'a Self)>) -> Option<Self> {
        let (mut steps, mut lost, mut never) = (Vec::new(), 0.0, 0.0);
        for (weight, part) in parts {
            lost += weight * part.lost_unplaced();
            never += weight * part.never();
            let weigh =
                |step: &Step| Step { reused: weight * step.reused, lost: weight * step.lost, ..*step };
            steps.extend(part.steps().iter().map(weigh));
        }
        Self::new(steps, lost, never)
    }
}

/// The possible range of the survival of the first of two events under any dependence (Fréchet's bounds): from S₁ +
/// S₂ - 1 to the smaller of both.
pub fn survival_of_first(one: &Distances, other: &Distances, distance: u64) -> Interval {
    let (one, other) = (one.survival(distance), other.survival(distance));
    Interval { low: (one + other - 1.0).max(0.0), high: one.min(other) }
}
