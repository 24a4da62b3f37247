//! Miss ratios from sampled time distances, by models.

use carom_base::LINE_BYTES;
use carom_study_stats::reuse::{self as stats, Bootstrap, Footprint, MissRatioCurve, Observation};

use super::{Basis, Curve, CurveScope, MissRatio, Model, analyse::Question, sizes::sizes};
use crate::Estimate;

/// Curves that a bootstrap of full size is made for; with more, each gets less.
const FULL_BOOTSTRAPS: u32 = 8;

/// Resamples at least.
const LEAST_RESAMPLES: u32 = 10;

/// Observations that are resampled for a curve, at most, unless the least number of resamples has more: some tenths of a second.
const MOST_RESAMPLED: u32 = 300_000;

/// A smaller change of a miss ratio is none.
const UNCHANGED: f64 = 1e-6;

/// What all curves of a report have in common.
pub(super) struct Models<'a> {
    question: &'a Question,
    bootstrap: Bootstrap,
}

/// What a model makes of a curve's times.
pub(super) struct Made {
    footprint: Option<Footprint>,
    pub miss_ratio: Vec<MissRatio>,
}

impl Made {
    /// The stack distance that belongs to a time distance, where that alone decides.
    pub fn places(&self, distance: u64) -> Option<u64> {
        // Rounding must not take a place away.
        const ROUNDING: f64 = 1.0 + 1e-9;
        self.footprint.as_ref().map(|footprint| (footprint.places(distance) * ROUNDING) as u64)
    }
}

impl<'a> Models<'a> {
    /// For this number of curves.
    pub fn new(question: &'a Question, curves: usize) -> Self {
        let full = Bootstrap::default();
        let share = full.resamples.saturating_mul(FULL_BOOTSTRAPS) / (curves as u32).max(1);
        let bootstrap = Bootstrap { resamples: share.min(full.resamples).max(LEAST_RESAMPLES), ..full };
        Self { question, bootstrap }
    }

    /// One curve, of uses in the order of their times, and in these clusters. `None` without any weight.
    ///
    /// StatStack is applied phase by phase, since it assumes that a program behaves the same all the time.
    pub fn make(
        &self,
        model: Model,
        observations: &[Observation],
        clusters: &[usize],
        accesses: f64,
    ) -> Option<Made> {
        let accesses = accesses as u64;
        let (estimator, footprint) = match model {
            Model::StatStack => (stats::Model::Phased { accesses }, None),
            Model::Footprint => {
                (stats::Model::Footprint { accesses }, Some(Footprint::sampled(observations, accesses)?))
            }
        };
        let fits = MOST_RESAMPLED / (observations.len() as u32).max(1);
        let resamples = self.bootstrap.resamples.min(fits.max(LEAST_RESAMPLES));
        let bootstrap = Bootstrap { resamples, ..self.bootstrap };
        let curve = stats::sampled(observations, estimator, LINE_BYTES as u32, bootstrap, clusters)?;
        Some(Made { footprint, miss_ratio: self.points(&curve) })
    }

    fn points(&self, curve: &MissRatioCurve) -> Vec<MissRatio> {
        let largest = curve.knots().last().map_or(0, |knot| knot.places.saturating_mul(LINE_BYTES));
        let point = |bytes| {
            let value = curve.ratio(bytes);
            let band = curve.band(bytes).map_or((value, value), |band| (band.low, band.high));
            MissRatio { bytes, ratio: Estimate { value, low: band.0.min(value), high: band.1.max(value) } }
        };
        let sizes = sizes(&self.question.caches, largest, self.question.chosen_bytes);
        let mut points: Vec<MissRatio> = sizes.into_iter().map(point).collect();
        // A model may go on for ever; a report ends where nothing changes.
        let needed = self.question.caches.iter().map(|cache| cache.bytes).max().unwrap_or(0);
        while let [.., before, last] = points.as_slice() {
            if before.bytes <= needed || (before.ratio.value - last.ratio.value).abs() > UNCHANGED {
                break;
            }
            points.pop();
        }
        points
    }

    /// The miss ratio of all threads is that of the threads, weighted by their accesses: threads that differ do not share
    /// a cache, so that what lies between one's use and reuse is its own. Where not every thread has a curve, the curve
    /// of all uses together stays.
    pub fn all_from_threads(&self, curves: &mut [Curve]) {
        for model in [Model::StatStack, Model::Footprint] {
            let of_model = |curve: &&Curve| curve.basis == Basis::Modelled(model);
            let threads: Vec<&Curve> = curves
                .iter()
                .filter(of_model)
                .filter(|curve| matches!(curve.scope, CurveScope::Thread(_)))
                .collect();
            let total: f64 = threads.iter().map(|curve| curve.accesses).sum();
            let Some(all) = curves.iter().position(|c| of_model(&c) && c.scope == CurveScope::All) else {
                continue;
            };
            let Some(known) = curves.get(all) else { continue };
            if threads.len() < 2 || total < 0.99 * known.accesses {
                continue;
            }
            let points =
                known.miss_ratio.iter().map(|point| weighted(&threads, total, point.bytes)).collect();
            if let Some(curve) = curves.get_mut(all) {
                curve.miss_ratio = points;
            }
        }
    }
}

/// The mean of independent estimates: half widths add as their squares do.
fn weighted(threads: &[&Curve], total: f64, bytes: u64) -> MissRatio {
    let (mut value, mut below, mut above) = (0.0, 0.0_f64, 0.0_f64);
    for curve in threads {
        let Some(ratio) = super::at(&curve.miss_ratio, bytes) else { continue };
        let weight = curve.accesses / total;
        value += weight * ratio.value;
        below += (weight * (ratio.value - ratio.low)).powi(2);
        above += (weight * (ratio.high - ratio.value)).powi(2);
    }
    let ratio =
        Estimate { value, low: (value - below.sqrt()).max(0.0), high: (value + above.sqrt()).min(1.0) };
    MissRatio { bytes, ratio }
}
