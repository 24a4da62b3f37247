//! The miss ratio of caches of all sizes.

use carom_base::LogBin;

use super::distances::Distances;
use crate::wilson::Interval;

/// The miss ratio of one size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Knot {
    /// The size of the cache, in places.
    pub places: u64,
    /// Misses per access.
    pub ratio: f64,
    /// Its 95% interval, if the curve comes from samples: it covers other samples of the same program, but not the
    /// error of a model whose assumptions do not hold.
    pub band: Option<Interval>,
}

/// The miss ratio of fully associative LRU caches by their size (Mattson and others, IBM Systems Journal 9(2), 1970).
#[derive(Clone, Debug, PartialEq)]
pub struct MissRatioCurve {
    granularity: u32,
    /// By size; linear in between, constant after the last.
    knots: Vec<Knot>,
}

impl MissRatioCurve {
    /// From stack distances: a reuse misses if its distance is the size or more; an access to an invalidated place or
    /// a first access always does. Exact except for the width of bins. `granularity`: the size of a place in bytes.
    pub fn of_stack_distances(distances: &Distances, granularity: u32) -> Self {
        let compulsory = distances.lost() + distances.never();
        let edges = distances.steps().iter().flat_map(|step| [step.low, step.high.saturating_add(1)]);
        let knot = |places| {
            let ratio = (compulsory + distances.reused_from(places)).min(1.0);
            Knot { places, ratio, band: None }
        };
        Self::new(granularity, [0].into_iter().chain(edges).map(knot).collect())
    }

    /// Knots in order of size; the first of equal ones counts.
    pub(super) fn new(granularity: u32, mut knots: Vec<Knot>) -> Self {
        knots.dedup_by_key(|knot| knot.places);
        Self { granularity: granularity.max(1), knots }
    }

    /// Bytes of a place.
    pub fn granularity(&self) -> u32 {
        self.granularity
    }

    /// Sizes at which the curve is known, in order.
    pub fn knots(&self) -> &[Knot] {
        &self.knots
    }

    /// Misses per access in a cache of this many bytes; an incomplete last place is unused.
    pub fn ratio(&self, bytes: u64) -> f64 {
        self.at(bytes / u64::from(self.granularity), |knot| Some(knot.ratio)).unwrap_or(1.0)
    }

    /// 95% interval of [`ratio`](Self::ratio).
    pub fn band(&self, bytes: u64) -> Option<Interval> {
        let places = bytes / u64::from(self.granularity);
        let low = self.at(places, |knot| Some(knot.band?.low))?;
        let high = self.at(places, |knot| Some(knot.band?.high))?;
        Some(Interval { low, high })
    }

    /// Bytes of the smallest cache that misses at most this often; `None` where none does.
    pub fn smallest(&self, ratio: f64) -> Option<u64> {
        let index = self.knots.iter().position(|knot| knot.ratio <= ratio)?;
        let (after, before) =
            (self.knots.get(index)?, index.checked_sub(1).and_then(|index| self.knots.get(index)));
        let places = match before {
            Some(before) if before.ratio > after.ratio => {
                let part = (before.ratio - ratio) / (before.ratio - after.ratio);
                before.places + ((after.places - before.places) as f64 * part).ceil() as u64
            }
            _ => after.places,
        };
        Some(places.saturating_mul(u64::from(self.granularity)))
    }

    /// The same curve with bands.
    pub(super) fn with_bands(mut self, mut band: impl FnMut(usize, &Knot) -> Interval) -> Self {
        for (index, knot) in self.knots.iter_mut().enumerate() {
            knot.band = Some(band(index, knot));
        }
        self
    }

    fn at(&self, places: u64, value: impl Fn(&Knot) -> Option<f64>) -> Option<f64> {
        let above = self.knots.partition_point(|knot| knot.places <= places);
        let before = self.knots.get(above.checked_sub(1)?)?;
        let Some(after) = self.knots.get(above) else { return value(before) };
        let part = (places - before.places) as f64 / (after.places - before.places) as f64;
        let (low, high) = (value(before)?, value(after)?);
        Some(low + (high - low) * part)
    }
}

/// Sizes to evaluate a model at: 0, and the lower bounds of [`LogBin`]s up to the first that is `largest` or more.
pub(super) fn sizes(largest: u64) -> impl Iterator<Item = u64> {
    let last = LogBin::of(largest.saturating_sub(1)).0;
    let bins = (0..=last).map(|bin| LogBin(bin).low());
    bins.chain([largest]).filter(move |size| *size <= largest)
}
