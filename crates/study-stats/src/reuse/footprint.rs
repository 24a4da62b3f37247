//! From time distances to miss ratios: average footprint and its derivative.

use super::curve::{Knot, MissRatioCurve, sizes};
use super::distances::Distances;
use super::incidence::{End, Incidence, Observation};

/// The average number of different places in windows of every length (Xiang, Bao, Ding and Gao, "Linear-time modeling
/// of program working set in shared cache", PACT 2011), and from it the miss ratio (the same with Luo, "HOTL: a higher
/// order theory of locality", ASPLOS 2013).
///
/// A window's places are counted by the last access to each. Over all windows of length w, including those that
/// extend beyond the program, access i is the last of its place in min(w, t) of them, where t is the number of
/// accesses to the next one: n Σ S(i), i < w, in all. Windows that extend beyond the beginning contribute F(1) + … +
/// F(w-1), where F(k) places are accessed in the first k accesses, and are subtracted; likewise L(k) at the end, for
/// the last k. n - w + 1 windows remain. Without invalidation that is the formula of the paper; an invalidated place
/// leaves the window.
#[derive(Clone, Debug, PartialEq)]
pub struct Footprint {
    distances: Distances,
    accesses: u64,
    first: Edge,
    last: Edge,
}

/// Places by the distance of their first or last access from one end of the program.
#[derive(Clone, Debug, Default, PartialEq)]
struct Edge {
    /// Ascending: the number of the access that is a place's first (or last), counted from 1; the number of places up
    /// to and including this one; the sum of their distances.
    sums: Vec<(u64, f64, f64)>,
}

impl Edge {
    fn new(mut places: Vec<(u64, f64)>) -> Self {
        places.retain(|(_, count)| count.is_finite() && *count > 0.0);
        places.sort_by_key(|(at, _)| *at);
        let sums = places.into_iter().scan((0.0, 0.0), |(count, sum), (at, places)| {
            *count += places;
            *sum += places * at as f64;
            Some((at, *count, *sum))
        });
        Self { sums: sums.collect() }
    }

    /// F(1) + … + F(length - 1): a place that is accessed at f < length is in the last length - f of these.
    fn windows_outside(&self, length: u64) -> f64 {
        let below = self.sums.partition_point(|(at, ..)| *at < length);
        let last = below.checked_sub(1).and_then(|index| self.sums.get(index));
        last.map_or(0.0, |(_, count, sum)| count * length as f64 - sum)
    }
}

impl Footprint {
    /// From a whole program: its time distances, its number of accesses, and places by the number of their first
    /// access, counted from the beginning, and of their last, counted from the end, both from 1.
    pub fn new(
        distances: Distances,
        accesses: u64,
        first: impl IntoIterator<Item = (u64, f64)>,
        last: impl IntoIterator<Item = (u64, f64)>,
    ) -> Self {
        let [first, last] = [first.into_iter().collect(), last.into_iter().collect()].map(Edge::new);
        Self { distances, accesses, first, last }
    }

    /// From sampled uses. Last accesses are the uses that are never accessed again. First accesses are unknown, and
    /// assumed to be as far from the beginning as last ones are from the end. `None` without any observation.
    pub fn sampled(observations: &[Observation], accesses: u64) -> Option<Self> {
        let distances = Incidence::of(observations.iter().copied())?.distances().clone();
        let never = || observations.iter().filter(|it| it.end == End::Never);
        let sampled: f64 = never().map(|it| it.weight).filter(|weight| weight.is_finite()).sum();
        // The footprint of the whole program, measured: every place has one last access.
        let places = distances.never() * accesses as f64;
        let scale = if sampled > 0.0 { places / sampled } else { 0.0 };
        let edge: Vec<_> = never().map(|it| (it.distance.saturating_add(1), it.weight * scale)).collect();
        Some(Self::new(distances, accesses, edge.clone(), edge))
    }

    /// The number of places of the whole program.
    pub fn total(&self) -> f64 {
        self.distances.never() * self.accesses as f64
    }

    /// The average number of places in a window of this many accesses; of the whole program, if that is shorter.
    pub fn places(&self, window: u64) -> f64 {
        let window = window.min(self.accesses);
        let all = self.accesses as f64 * self.distances.places_among(window);
        let outside = self.first.windows_outside(window) + self.last.windows_outside(window);
        ((all - outside) / ((self.accesses - window) as f64 + 1.0)).max(0.0)
    }

    /// The miss ratio of LRU caches of all sizes: a cache that a window of w accesses fills misses as often as one
    /// more access adds a place to the window. It is at least the ratio of compulsory misses and invalidations, which
    /// are counted.
    pub fn miss_ratio(&self, granularity: u32) -> MissRatioCurve {
        let compulsory = self.distances.lost() + self.distances.never();
        let mut windows: Vec<(u64, f64)> = Vec::new();
        for window in sizes(self.accesses) {
            let largest = windows.last().map_or(0.0, |(_, places)| *places);
            // An average over few windows may decrease.
            windows.push((window, self.places(window).max(largest)));
        }
        let largest = windows.last().map_or(0.0, |(_, places)| *places);
        let slope = |places: u64| {
            let above = windows.partition_point(|(_, reached)| *reached <= places as f64);
            let (before, after) = (windows.get(above.checked_sub(1)?)?, windows.get(above)?);
            Some((after.1 - before.1) / (after.0 - before.0) as f64)
        };
        let mut least: f64 = 1.0;
        let knot = |places| {
            least = least.min(slope(places).unwrap_or(0.0).max(compulsory));
            Knot { places, ratio: least, band: None }
        };
        MissRatioCurve::new(granularity, sizes((largest as u64).saturating_add(1)).map(knot).collect())
    }
}
