//! A distribution of distances.

use carom_base::LogBin;

/// Uses with the same distance, or with distances in the same bin. What [`Distances`] are made from may have weights in
/// place of shares.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Step {
    /// The smallest distance.
    pub low: u64,
    /// The largest. Uses are assumed to be spread evenly between the two.
    pub high: u64,
    /// Share of all uses that are reused at this distance.
    pub reused: f64,
    /// Share of all uses that are invalidated at this distance.
    pub lost: f64,
}

/// The outcomes of uses and their distances (time or stack): shares of all uses, 1 in total.
///
/// Each access but a place's last is followed by a reuse, or by an invalidation and then an access that finds the place
/// invalidated. Each access but a place's first is such a reuse, or such an access. So shares of uses by what follows
/// equal shares of accesses by what preceded: as many uses are *never* accessed again as there are places.
///
/// Samples in private caches differ: a place's last use by a thread counts as invalidated where another thread writes
/// the place later. They have more invalidated uses and fewer of the others, but as many reuses at each distance.
#[derive(Clone, Debug, PartialEq)]
pub struct Distances {
    /// In order, without overlaps.
    steps: Vec<Step>,
    /// Invalidated at an unknown distance.
    lost_unplaced: f64,
    never: f64,
    /// For each step, the sums before it.
    before: Vec<Before>,
    reused: f64,
}

/// Sums over all distances below a given one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Before {
    /// Share of uses that are reused.
    reused: f64,
    /// Share of uses that are reused or invalidated.
    ended: f64,
    /// Sum of [`survival`](Distances::survival) over these distances.
    area: f64,
}

impl Distances {
    /// From an exact histogram: counts of reuses by bin, of accesses that found their place invalidated, and of first
    /// accesses. `None` if it is empty.
    pub fn of_bins(reused: impl IntoIterator<Item = (LogBin, f64)>, lost: f64, never: f64) -> Option<Self> {
        let step =
            |(bin, reused): (LogBin, f64)| Step { low: bin.low(), high: bin.high(), reused, lost: 0.0 };
        Self::new(reused.into_iter().map(step).collect(), lost, never)
    }

    /// From weights. Two steps have either the same range or no distance in common.
    pub(super) fn new(mut steps: Vec<Step>, lost_unplaced: f64, never: f64) -> Option<Self> {
        steps.retain(|step| step.low <= step.high && step.reused.max(step.lost) > 0.0);
        steps.sort_by_key(|step| step.low);
        let total = steps.iter().map(|step| step.reused + step.lost).sum::<f64>() + lost_unplaced + never;
        if !(total.is_finite() && total > 0.0) {
            return None;
        }
        let mut merged: Vec<Step> = Vec::with_capacity(steps.len());
        for step in steps {
            match merged.last_mut().filter(|last| last.low == step.low) {
                Some(last) => {
                    last.reused += step.reused / total;
                    last.lost += step.lost / total;
                }
                None => {
                    merged.push(Step { reused: step.reused / total, lost: step.lost / total, ..step });
                }
            }
        }
        let (mut sums, mut upto) = (Before::default(), 0);
        let before = merged.iter().map(|step| {
            sums.area += step.low.saturating_sub(upto) as f64 * (1.0 - sums.ended);
            let before = sums;
            upto = step.high.saturating_add(1);
            sums.area += step.area(sums.ended, upto);
            sums.ended = f64::min(sums.ended + step.reused + step.lost, 1.0);
            sums.reused += step.reused;
            before
        });
        let before = before.collect();
        let (lost_unplaced, never) = (lost_unplaced / total, never / total);
        Some(Self { steps: merged, lost_unplaced, never, before, reused: sums.reused })
    }

    /// The steps in order of distance.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Share of uses that are never accessed again, which equals the share of accesses that are their place's first.
    pub fn never(&self) -> f64 {
        self.never
    }

    /// Share of uses that are invalidated.
    pub fn lost(&self) -> f64 {
        self.steps.iter().map(|step| step.lost).sum::<f64>() + self.lost_unplaced
    }

    /// Share of uses that are invalidated at a distance that is not known.
    pub(super) fn lost_unplaced(&self) -> f64 {
        self.lost_unplaced
    }

    /// Share of uses that are reused at this distance or a larger one.
    pub fn reused_from(&self, distance: u64) -> f64 {
        let Some((step, before)) = self.step_at(distance) else { return self.reused };
        (self.reused - before.reused - step.reused * step.part_below(distance)).max(0.0)
    }

    /// Share of uses that have not ended at a smaller distance: 1 at 0.
    pub fn survival(&self, distance: u64) -> f64 {
        let Some((step, before)) = self.step_at(distance) else { return 1.0 };
        (1.0 - before.ended - (step.reused + step.lost) * step.part_below(distance)).max(0.0)
    }

    /// Σ of [`survival`](Self::survival) over all smaller distances.
    pub(super) fn survival_sum(&self, distance: u64) -> f64 {
        match self.step_at(distance) {
            Some((step, before)) => before.area + step.area(before.ended, distance),
            None => distance as f64,
        }
    }

    /// The last step that begins at or before a distance.
    fn step_at(&self, distance: u64) -> Option<(&Step, Before)> {
        let index = self.steps.partition_point(|step| step.low <= distance).checked_sub(1)?;
        Some((self.steps.get(index)?, *self.before.get(index)?))
    }
}

impl Step {
    fn width(&self) -> f64 {
        (self.high - self.low) as f64 + 1.0
    }

    /// The fraction of it that lies below a distance.
    fn part_below(&self, distance: u64) -> f64 {
        let below = distance.saturating_sub(self.low) as f64;
        (below / self.width()).min(1.0)
    }

    /// Sum of the survival over `low..distance`, where `ended` has ended before the step. Its share m of uses is spread
    /// over w distances. Over the first k of them the sum is k (1 - ended) - m / w (0 + 1 + … + (k - 1)); each distance
    /// beyond the step adds 1 - ended - m.
    fn area(&self, ended: f64, distance: u64) -> f64 {
        let (share, width) = (self.reused + self.lost, self.width());
        let all = distance.saturating_sub(self.low) as f64;
        let inside = all.min(width);
        let outside = all - inside;
        let before = 1.0 - ended;
        inside * before - share / width * inside * (inside - 1.0) / 2.0 + outside * (before - share).max(0.0)
    }
}
