//! One quantity before and after.

use carom_study_stats::{
    Interval, Term, Z_95, combination, holm, normal_two_sided, student_975, student_two_sided,
};

use crate::Estimate;

/// A change is one from this probability on, that runs of an unchanged program differ as much.
const SIGNIFICANT: f64 = 0.05;

/// The standard deviation between runs of one program, as a part of the odds: assumed where each side is a single run, so
/// that nothing says how much runs differ. So a share of nearly everything differs as little as one of nearly nothing.
pub const ASSUMED_SPREAD: f64 = 0.2;

/// A quantity before and after.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// The mean of the runs before, with the sampling error.
    pub before: Estimate,
    /// The mean of the runs after.
    pub after: Estimate,
    /// After less before. The interval has the sampling error and the differences between runs.
    pub difference: Estimate,
    /// How likely runs of one program differ as much.
    pub test: Test,
}

/// How likely runs of an unchanged program differ as much.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Test {
    /// Taken by itself.
    pub probability: f64,
    /// Corrected for the number of tests ([`correct`]).
    pub corrected: f64,
}

/// Where a quantity goes, if that is more than chance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trend {
    /// It is smaller after.
    Down,
    /// It may be the same.
    Steady,
    /// It is larger after.
    Up,
}

impl Test {
    pub(super) const fn new(probability: f64) -> Self {
        Self { probability, corrected: probability }
    }

    /// Of a quantity that differs by as much.
    pub(super) fn trend(&self, difference: f64) -> Trend {
        if self.corrected >= SIGNIFICANT {
            Trend::Steady
        } else if difference < 0.0 {
            Trend::Down
        } else {
            Trend::Up
        }
    }
}

impl Change {
    /// From the runs of either side.
    ///
    /// The interval is the wider of two. One has the sampling error alone ([`combination`]). The other is Student's for the
    /// means of the runs, with one variance for both sides (W. S. Gosset, Biometrika 6 (1908) 1-25), which unequal variances
    /// hardly harm where both have as many runs (G. E. P. Box, Annals of Mathematical Statistics 25 (1954) 290-302). With one
    /// run each, it has the sampling error and [`ASSUMED_SPREAD`].
    pub fn between(before: &[Estimate], after: &[Estimate]) -> Self {
        let sampled = |runs: &[Estimate], sign: f64| -> Vec<Term> {
            let part = 1.0 / runs.len().max(1) as f64;
            runs.iter().map(|run| Term { times: sign * part, ..term(run) }).collect()
        };
        let of_side = |runs: &[Estimate]| estimate(&sampled(runs, 1.0));
        let both = [sampled(after, 1.0), sampled(before, -1.0)].concat();
        let by_sampling = estimate(&both);
        let value = by_sampling.value;
        let runs = Runs::of(before, after);
        let half = runs.quantile() * runs.error;
        let difference = Estimate {
            value,
            low: by_sampling.low.min(value - half),
            high: by_sampling.high.max(value + half),
        };
        let to_zero = if value > 0.0 { value - by_sampling.low } else { by_sampling.high - value };
        let probability = normal_two_sided(ratio(value, to_zero / Z_95)).max(runs.probability(value));
        Self { before: of_side(before), after: of_side(after), difference, test: Test::new(probability) }
    }

    /// Where it goes, if that is more than chance.
    pub fn trend(&self) -> Trend {
        self.test.trend(self.difference.value)
    }
}

/// Corrects the probabilities for the number of tests.
pub(super) fn correct(tests: &mut [&mut Test]) {
    let probabilities: Vec<f64> = tests.iter().map(|test| test.probability).collect();
    for (test, corrected) in tests.iter_mut().zip(holm(&probabilities)) {
        test.corrected = corrected;
    }
}

/// How far the difference of two means of runs may be off.
struct Runs {
    /// Its standard error.
    error: f64,
    /// Degrees of freedom; `None` where the spread is assumed.
    degrees: Option<u32>,
}

impl Runs {
    fn of(before: &[Estimate], after: &[Estimate]) -> Self {
        let sides = [before, after];
        let runs = (before.len() + after.len()) as u32;
        let degrees = runs.saturating_sub(2);
        if degrees == 0 {
            let spread = |run: &Estimate| ASSUMED_SPREAD * run.value * (1.0 - run.value).clamp(0.0, 1.0);
            let variance = |run: &Estimate| sampling_variance(run) + spread(run).powi(2);
            let error = sides.into_iter().flatten().map(variance).sum::<f64>().sqrt();
            return Self { error, degrees: None };
        }
        let squares: f64 = sides.into_iter().map(squares).sum();
        let of_means: f64 = sides.into_iter().map(|side| 1.0 / side.len().max(1) as f64).sum();
        Self { error: (squares / f64::from(degrees) * of_means).sqrt(), degrees: Some(degrees) }
    }

    fn quantile(&self) -> f64 {
        self.degrees.map_or(Z_95, |degrees| student_975(f64::from(degrees)))
    }

    fn probability(&self, difference: f64) -> f64 {
        let t = ratio(difference, self.error);
        self.degrees.map_or_else(|| normal_two_sided(t), |degrees| student_two_sided(t, degrees))
    }
}

/// Squared distances from the mean.
fn squares(side: &[Estimate]) -> f64 {
    let mean = side.iter().map(|run| run.value).sum::<f64>() / side.len().max(1) as f64;
    side.iter().map(|run| (run.value - mean).powi(2)).sum()
}

/// From the wider half of its interval.
fn sampling_variance(run: &Estimate) -> f64 {
    let half = (run.high - run.value).max(run.value - run.low);
    (half / Z_95).powi(2)
}

/// How many errors a difference is: 0 where there is none.
fn ratio(difference: f64, error: f64) -> f64 {
    if difference == 0.0 { 0.0 } else { (difference / error).abs() }
}

fn term(run: &Estimate) -> Term {
    Term { times: 1.0, value: run.value, interval: Interval { low: run.low, high: run.high } }
}

fn estimate(terms: &[Term]) -> Estimate {
    let Interval { low, high } = combination(terms);
    Estimate { value: terms.iter().map(|term| term.times * term.value).sum(), low, high }
}

#[cfg(test)]
mod tests;
