//! What a larger run will take, in two steps: how indicators such as instructions grow with the size of the problem, and what one of
//! each costs.
//!
//! The strategy is that of C. Sterz, "Analyzing NUMA performance based on hardware event counters", Master's thesis, Hasso Plattner
//! Institute 2016, section 2.6: from code to indicators, from indicators to cost. Indicators follow laws of the performance model
//! normal form ([`growth`]); the cost is a sum of few of them with costs that are not negative
//! ([`explain`](carom_study_stats::explain)).
//!
//! How far to trust an extrapolation is measured. The largest sizes are predicted from the smaller ones alone, by the same two
//! steps, and the error per factor of extrapolation is taken to go on.

mod chain;
mod doubt;
mod error;
mod measured;
#[cfg(test)]
mod tests;

use carom_store::Manifest;
use carom_study_stats::{Growth, Prediction, collinear, growth, principal_components, student_975};

pub use chain::HeldOut;
pub use doubt::Doubt;
pub use error::PredictError;

use self::{
    chain::Chain,
    measured::{Measured, Varying},
};
use super::Quantity;

/// The run time at one size, and what it is made of.
#[derive(Clone, Debug, PartialEq)]
pub struct Forecast {
    /// The parameter that is the size.
    pub parameter: String,
    /// The value that was asked for.
    pub at: f64,
    /// The values that ran, ascending.
    pub sizes: Vec<f64>,
    /// Other parameters, with the values at which they stay.
    pub fixed: Vec<(String, f64)>,
    /// The run time in seconds with the 95% interval of a further run; `None` where the fits do not support one.
    pub time: Option<Prediction>,
    /// The run times that were measured: size and seconds.
    pub times: Vec<(f64, f64)>,
    /// The run time at sizes from the least to the one that was asked for; empty without `time`.
    pub curve: Vec<(f64, Prediction)>,
    /// Every indicator that varies, in the order of preference.
    pub indicators: Vec<Indicator>,
    /// Indicators that are 0 in all runs.
    pub zero: Vec<Quantity>,
    /// Indicators that do not vary, are not known, or are 0 at some of the sizes.
    pub left_out: Vec<Quantity>,
    /// What a run takes besides all indicators, in seconds.
    pub constant: f64,
    /// The parts of the indicators' variance along their principal components, the largest first.
    pub components: Vec<f64>,
    /// The largest sizes, predicted from the smaller ones.
    pub held_out: Vec<HeldOut>,
    /// The run time by its own growth, without indicators.
    pub direct: Option<Prediction>,
    /// What speaks against the prediction.
    pub doubts: Vec<Doubt>,
}

/// An indicator, and what becomes of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Indicator {
    /// Which.
    pub quantity: Quantity,
    /// Size and value of each run.
    pub points: Vec<(f64, f64)>,
    /// How it grows.
    pub growth: Growth,
    /// Its value at the size that was asked for.
    pub there: Prediction,
    /// What one of it costs, in seconds, where it is one of those that explain the time.
    pub rate: Option<f64>,
    /// An indicator before it that tells the same, up to a factor and a constant.
    pub like: Option<Quantity>,
}

/// Sizes from which something can be predicted: five to predict from, one to test the prediction.
pub const LEAST_SIZES: usize = 6;

/// Points of the curve.
const CURVE: usize = 60;

/// An interval wider than this factor on either side is no prediction.
const MOST: f64 = 3.0;

/// Indicators that are a line of another up to this part of their values tell nothing that it does not.
const COLLINEAR: f64 = 0.03;

/// Predicts the run time at these values of parameters, one of which lies beyond what ran.
///
/// `wanted`: the indicators that may be used; all where it is empty.
///
/// # Errors
/// See [`PredictError`].
pub fn predict(
    runs: &[&Manifest],
    at: &[(String, f64)],
    wanted: &[Quantity],
) -> Result<Forecast, PredictError> {
    let Measured {
        parameter,
        at,
        fixed,
        sizes,
        times,
        time,
        noise,
        indicators,
        zero,
        left_out,
        caches,
        memory,
    } = measured::measured(runs, at, wanted)?;
    let mut found: Vec<Indicator> = Vec::new();
    let mut values: Vec<Vec<f64>> = Vec::new();
    for Varying { quantity, points, medians } in indicators {
        let Some(growth) = growth(&sizes, &medians) else { continue };
        let like = found
            .iter()
            .zip(&values)
            .find(|(other, theirs)| other.like.is_none() && collinear(&medians, theirs, COLLINEAR));
        let like = like.map(|(other, _)| other.quantity);
        let there = growth.predict(at);
        found.push(Indicator { quantity, points, growth, there, rate: None, like });
        values.push(medians);
    }
    let kept: Vec<usize> = (0..found.len()).filter(|index| found[*index].like.is_none()).collect();
    let columns: Vec<Vec<f64>> = kept.iter().map(|index| values[*index].clone()).collect();
    if kept.is_empty() {
        return Err(PredictError::NothingVaries(parameter));
    }
    let chain = Chain::new(&sizes, &columns, &time);
    let held_out = chain::held_out(&sizes, &columns, &time);
    for (index, rate) in chain.iter().flat_map(|chain| &chain.explained.rates) {
        found[kept[*index]].rate = Some(*rate);
    }
    let constant = chain.as_ref().map_or(0.0, |chain| chain.explained.constant);
    let told = chain.map(|chain| (Spread::new(&chain, &held_out, noise, &sizes), chain));
    let there = told.as_ref().map(|(spread, chain)| spread.at(chain, at));
    let supported = there.filter(|there| there.value > 0.0 && there.high <= MOST * there.value);
    let curve = match &told {
        Some((spread, chain)) if supported.is_some() => {
            chain::steps(&sizes, at, CURVE).into_iter().map(|x| (x, spread.at(chain, x))).collect()
        }
        _ => Vec::new(),
    };
    let direct = growth(&sizes, &time).map(|growth| growth.predict(at));
    let doubts = [
        doubt::of_range(&sizes, at),
        doubt::of_noise(noise),
        doubt::of_caches(&caches, &sizes, &memory, at),
        direct.zip(supported).and_then(|(direct, there)| doubt::of_direct(direct.value, &there)),
    ];
    Ok(Forecast {
        parameter,
        at,
        fixed,
        time: supported,
        times,
        curve,
        components: principal_components(&values),
        indicators: found,
        zero,
        left_out,
        constant,
        held_out,
        direct,
        doubts: doubts.into_iter().flatten().collect(),
        sizes,
    })
}

/// How far a run may lie from what is predicted, as logarithms of factors.
struct Spread {
    /// The standard deviation within the sizes: of runs, and of what indicators do not explain.
    within: f64,
    /// The error of predictions of held-out sizes, per natural logarithm of the factor of extrapolation, weighted by their times:
    /// the largest are nearest to what is asked for.
    beyond: f64,
    /// As many equal tests would know it as well (L. Kish, "Survey Sampling", 1965, section 11.7).
    tests: f64,
    observations: f64,
    largest: f64,
}

impl Spread {
    fn new(chain: &Chain, held_out: &[HeldOut], noise: f64, sizes: &[f64]) -> Self {
        let sum = |of: fn(&HeldOut) -> f64| held_out.iter().map(of).sum::<f64>();
        let (weights, squares) = (sum(|test| test.measured), sum(|test| test.measured * test.measured));
        let errors = sum(|test| test.measured * test.error_per_factor().powi(2));
        let mean = if weights > 0.0 { errors / weights } else { 0.0 };
        Self {
            within: (noise * noise + chain.explained.error).sqrt(),
            beyond: mean.sqrt(),
            tests: if squares > 0.0 { weights * weights / squares } else { 0.0 },
            observations: sizes.len() as f64 - chain.explained.rates.len() as f64,
            largest: sizes.last().copied().unwrap_or_default(),
        }
    }

    /// The prediction at a size with its interval: by the fits and the deviations from them, or, where that is wider, by how well
    /// held-out sizes were predicted.
    fn at(&self, chain: &Chain, x: f64) -> Prediction {
        let (value, of_indicators) = chain.predict(x);
        let by_fits = of_indicators.hypot(student_975(self.observations) * self.within);
        let factor = (x / self.largest).ln().max(0.0);
        let by_tests = student_975(self.tests) * self.beyond * factor;
        let half = by_fits.max(by_tests);
        Prediction { value, low: value * (-half).exp(), high: value * half.exp() }
    }
}
