//! Distributions of what was not watched for itself, from those that were.

use super::distances::{Distances, Step};
use crate::wilson::Interval;

impl Distances {
    /// The first of two things to come, each with its own distribution, if they are independent: survivals multiply,
    /// S(d) = S₁(d) S₂(d).
    ///
    /// Of a line, from its temporal and spatial reuses, where it was not watched as a whole:
    /// `temporal.if_never_lost()?.first_of(&spatial)` (a write that invalidates the bytes invalidates the line, and is
    /// seen by the spatial watch already). Of a shared cache, from one thread's reuses by itself, in the clock of the
    /// domain ([`slowed`](Self::slowed)), and by others. Two that are often near to each other, or far from both, are
    /// not independent: use it for the uses of one instruction at a time, and [`mixed`](Self::mixed) on what it gives;
    /// how far off it can be is in [`survival_of_first`].
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

    /// What would be if nothing were ever invalidated, provided that what is would have been reused like all else: each
    /// distance with the same chance of a reuse among the uses that get there.
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

    /// Distances times a factor: of one thread's accesses, in the clock of a domain whose threads make `factor` times
    /// as many together. Assumes that they run evenly side by side.
    pub fn slowed(&self, factor: f64) -> Option<Self> {
        // What lies between two accesses is d + 1 steps of the clock.
        let scaled = |distance: u64| ((distance as f64 + 1.0) * factor.max(1.0) - 1.0).round() as u64;
        let step = |step: &Step| Step { low: scaled(step.low), high: scaled(step.high), ..*step };
        Self::new(self.steps().iter().map(step).collect(), self.lost_unplaced(), self.never())
    }

    /// All together, each with its weight.
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

/// Where the survival of the first of two things lies whatever depends on what (Fréchet's bounds): from
/// S₁ + S₂ - 1 to the smaller of both.
pub fn survival_of_first(one: &Distances, other: &Distances, distance: u64) -> Interval {
    let (one, other) = (one.survival(distance), other.survival(distance));
    Interval { low: (one + other - 1.0).max(0.0), high: one.min(other) }
}
