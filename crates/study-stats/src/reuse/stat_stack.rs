//! From time distances to stack distances: StatStack.

use super::curve::{Knot, MissRatioCurve, sizes};
use super::distances::{Distances, Step};

/// Keeps rounding in sums from removing a whole place.
const ROUNDING: f64 = 1e-9;

impl Distances {
    /// From time distances: the expected number of different places among `distance` consecutive accesses, which is the
    /// expected stack distance of a reuse with this time distance (Eklov and Hagersten, "StatStack: Efficient
    /// modeling of LRU caches", ISPASS 2010, equation 1).
    ///
    /// Of `distance` accesses, the one with i others after it is the last to its place if its own next access is
    /// farther away: with probability S(i), the survival. The sum over all i is the number of places. An
    /// invalidated place has left the cache and is not counted, so both ways to end count in S.
    ///
    /// Assumes that the program behaves uniformly, and that distances are independent.
    pub fn places_among(&self, distance: u64) -> f64 {
        self.survival_sum(distance)
    }

    /// The inverse: the smallest time distance at which that many places are expected; `None` if there are never that many.
    pub fn distance_for(&self, places: f64) -> Option<u64> {
        let enough = |distance: u64| self.places_among(distance) >= places * (1.0 - ROUNDING);
        if !enough(u64::MAX) {
            return None;
        }
        let (mut below, mut upto) = (0, u64::MAX);
        while below < upto {
            let middle = below + (upto - below) / 2;
            if enough(middle) {
                upto = middle;
            } else {
                below = middle + 1;
            }
        }
        Some(below)
    }

    /// The stack distances that StatStack computes from time distances.
    pub fn stack_distances(&self) -> Option<Self> {
        let places = |distance: u64| whole_places(self.places_among(distance));
        let step = |step: &Step| Step { low: places(step.low), high: places(step.low), ..*step };
        Self::new(self.steps().iter().map(step).collect(), self.lost_unplaced(), self.never())
    }
}

/// Rounds down.
pub(super) fn whole_places(places: f64) -> u64 {
    (places * (1.0 + ROUNDING)) as u64
}

/// The miss ratio of LRU caches of all sizes, from time distances: a reuse misses if its expected stack distance is
/// the size or more; an access to an invalidated place and a first access always do.
pub fn stat_stack(distances: &Distances, granularity: u32) -> MissRatioCurve {
    let compulsory = distances.lost() + distances.never();
    let last = distances.steps().last().map_or(0, |step| step.high);
    // Larger caches have only the unavoidable misses.
    let largest = whole_places(distances.places_among(last)).saturating_add(1);
    let ratio = |places: u64| {
        let from = distances.distance_for(places as f64);
        compulsory + from.map_or(0.0, |distance| distances.reused_from(distance))
    };
    let knot = |places| Knot { places, ratio: ratio(places).min(1.0), band: None };
    MissRatioCurve::new(granularity, sizes(largest).map(knot).collect())
}
