//! One quantity before and after.

use carom_study_stats::{
    Interval, Term, Z_95, combination, holm, normal_two_sided, student_975, student_two_sided,
};

use super::{SIGNIFICANT, known::observations};
use crate::Estimate;

/// The standard deviation between runs of one program of the logarithm of the odds: assumed where each side is a single run,
/// so that nothing says how much runs differ. In runs of ten small programs it was between 0 and 0.4, the latter where threads
/// share their stacks, which lie elsewhere in each run.
pub const ASSUMED_SPREAD: f64 = 0.4;

/// A quantity, a part of 1, before and after.
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

    /// That both are chance is at most as likely as either.
    pub(super) const fn and(self, other: Self) -> Self {
        Self::new(self.probability.max(other.probability))
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
    /// run each, it has the sampling error and [`ASSUMED_SPREAD`], and the probability is that of the odds.
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
        let difference = Estimate {
            value,
            low: by_sampling.low.min(value - runs.half).max(-1.0),
            high: by_sampling.high.max(value + runs.half).min(1.0),
        };
        let to_zero = if value > 0.0 { value - by_sampling.low } else { by_sampling.high - value };
        let probability = normal_two_sided(ratio(value, to_zero / Z_95)).max(runs.probability);
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

/// What the runs tell, or are assumed to, of the difference of their means.
struct Runs {
    /// Half of its interval.
    half: f64,
    /// How likely chance does as much.
    probability: f64,
}

impl Runs {
    fn of(before: &[Estimate], after: &[Estimate]) -> Self {
        let degrees = (before.len() + after.len()).saturating_sub(2) as f64;
        if degrees == 0.0 { Self::assumed(before, after) } else { Self::measured(before, after, degrees) }
    }

    fn measured(before: &[Estimate], after: &[Estimate], degrees: f64) -> Self {
        let variance = (squares(before) + squares(after)) / degrees;
        let of_means = 1.0 / before.len().max(1) as f64 + 1.0 / after.len().max(1) as f64;
        let error = (variance * of_means).sqrt();
        Self {
            half: student_975(degrees) * error,
            probability: student_two_sided(ratio(mean(after) - mean(before), error), degrees),
        }
    }

    fn assumed(before: &[Estimate], after: &[Estimate]) -> Self {
        let both = || before.iter().chain(after);
        let spread = |run: &Estimate| ASSUMED_SPREAD * run.value * (1.0 - run.value).clamp(0.0, 1.0);
        let variance: f64 = both().map(|run| sampling_variance(run) + spread(run).powi(2)).sum();
        let odds = |side: &[Estimate]| side.iter().map(|run| log_odds(run).0).sum::<f64>();
        let of_odds: f64 = both().map(|run| log_odds(run).1 + ASSUMED_SPREAD.powi(2)).sum();
        Self {
            half: Z_95 * variance.sqrt(),
            probability: normal_two_sided(ratio(odds(after) - odds(before), of_odds.sqrt())),
        }
    }
}

/// The empirical logarithm of the odds, and its variance by sampling (J. B. S. Haldane, Annals of Human Genetics 20 (1956)
/// 309-311): a half more on either side, so that nothing and everything have one.
fn log_odds(run: &Estimate) -> (f64, f64) {
    /// More observations are as good as these.
    const MOST: f64 = 1e12;
    let all = observations(run).min(MOST);
    let (part, rest) = (all * run.value + 0.5, all * (1.0 - run.value).max(0.0) + 0.5);
    ((part / rest).ln(), 1.0 / part + 1.0 / rest)
}

fn mean(side: &[Estimate]) -> f64 {
    side.iter().map(|run| run.value).sum::<f64>() / side.len().max(1) as f64
}

/// Squared distances from the mean.
fn squares(side: &[Estimate]) -> f64 {
    let mean = mean(side);
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
