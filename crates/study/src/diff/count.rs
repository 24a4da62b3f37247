//! Counts, and what runs used, before and after.

use carom_store::Manifest;
use carom_study_stats::{
    Interval, Moments, benjamini_hochberg, hedges_g, holm, least_probability, mann_whitney, ratio_of_means,
    welch,
};

use super::{Incomparable, SIGNIFICANT};
use crate::count::Quantity;

/// What changed between runs of two programs, or of two builds of one.
#[derive(Clone, Debug, PartialEq)]
pub struct CountDiff {
    /// What either side knows: the largest change first.
    pub events: Vec<EventChange>,
    /// Whether the rank-sum test could decide: with too few runs, Welch's test decides alone, which assumes normal
    /// distributions.
    pub by_ranks: bool,
}

/// A quantity before and after.
#[derive(Clone, Debug, PartialEq)]
pub struct EventChange {
    /// Which.
    pub quantity: Quantity,
    /// The values in the runs before.
    pub before: Vec<f64>,
    /// The values in the runs after.
    pub after: Vec<f64>,
    /// The mean after by the mean before; infinite where that is 0, `None` where both are or a side does not know it.
    pub ratio: Option<f64>,
    /// The 95% interval of the ratio; `None` with fewer than two runs on a side, and where the mean before may be 0.
    pub interval: Option<Interval>,
    /// The difference in standard deviations, where there are any.
    pub hedges_g: Option<f64>,
    /// The probabilities of chance, where there are two runs on each side and not all values are the same.
    pub probability: Option<Probability>,
    /// What became of it.
    pub outcome: Outcome,
}

/// How likely runs of one program differ as much.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Probability {
    /// By Welch's test.
    pub welch: f64,
    /// By the rank-sum test.
    pub ranks: f64,
    /// The one that decides: the larger of both, or Welch's where there are too few runs for ranks.
    pub deciding: f64,
    /// Corrected for the number of tests by Holm's method: a change is one where this is below 5%.
    pub corrected: f64,
    /// Corrected by the method of Benjamini and Hochberg, for exploring.
    pub exploratory: f64,
}

/// What became of a quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// There is more of it, by more than chance.
    More,
    /// There is less of it, by more than chance.
    Less,
    /// It did not change by more than chance.
    Steady,
    /// It has one value in all runs of both sides.
    Constant,
    /// It differs, and a side has only one run: nothing tells how much runs differ.
    Untested,
    /// Only one side knows it.
    OneSided,
}

/// Compares runs. All of either side are of one command.
///
/// The tests that are counted for the correction are those of quantities that are not the same in all runs. Others could not
/// be found to differ however the runs are divided (R. E. Tarone, Biometrics 46 (1990) 515-522).
///
/// # Errors
/// [`Incomparable::NoRun`] where nothing is known of a side.
pub fn count(before: &[&Manifest], after: &[&Manifest]) -> Result<CountDiff, Incomparable> {
    let values = |runs: &[&Manifest], quantity: Quantity| quantity.in_runs(runs.iter().copied());
    let quantities = Quantity::of_runs(before.iter().chain(after).copied());
    let known = |runs: &[&Manifest]| quantities.iter().any(|quantity| !values(runs, *quantity).is_empty());
    if !known(before) || !known(after) {
        return Err(Incomparable::NoRun);
    }
    let mut events: Vec<EventChange> = quantities
        .iter()
        .map(|&quantity| EventChange::between(quantity, values(before, quantity), values(after, quantity)))
        .filter(|event| !(event.before.is_empty() && event.after.is_empty()))
        .collect();
    let tests = events.iter().filter(|event| event.probability.is_some()).count();
    // With more tests, the least of the corrected probabilities is above the limit, whatever the values.
    let decides = |event: &EventChange| {
        least_probability(event.before.len(), event.after.len()) * tests as f64 <= SIGNIFICANT
    };
    let by_ranks = events.iter().filter(|event| event.probability.is_some()).all(decides);
    for event in &mut events {
        if let Some(probability) = event.probability.as_mut().filter(|_| by_ranks) {
            probability.deciding = probability.welch.max(probability.ranks);
        }
    }
    correct(&mut events);
    for event in &mut events {
        event.outcome = event.concluded();
    }
    events.sort_by(|a, b| b.weight().total_cmp(&a.weight()));
    Ok(CountDiff { events, by_ranks })
}

fn correct(events: &mut [EventChange]) {
    let mut tested: Vec<&mut Probability> =
        events.iter_mut().filter_map(|event| event.probability.as_mut()).collect();
    let deciding: Vec<f64> = tested.iter().map(|probability| probability.deciding).collect();
    let corrected = holm(&deciding).into_iter().zip(benjamini_hochberg(&deciding));
    for (probability, (strict, mild)) in tested.iter_mut().zip(corrected) {
        (probability.corrected, probability.exploratory) = (strict, mild);
    }
}

impl EventChange {
    fn between(quantity: Quantity, before: Vec<f64>, after: Vec<f64>) -> Self {
        let constant = before.iter().chain(&after).all(|value| Some(value) == before.first());
        let probability = welch(&before, &after).zip(mann_whitney(&before, &after)).map(|(welch, ranks)| {
            let welch = welch.probability;
            Probability {
                welch,
                ranks: ranks.probability,
                deciding: welch,
                corrected: welch,
                exploratory: welch,
            }
        });
        let mean = |side: &[f64]| Moments::of(side).map(|moments| moments.mean);
        let ratio = mean(&before).zip(mean(&after)).and_then(|(before, after)| match (before, after) {
            (0.0, 0.0) => None,
            (0.0, _) => Some(f64::INFINITY),
            _ => Some(after / before),
        });
        Self {
            quantity,
            ratio,
            // No quantity is below 0.
            interval: ratio_of_means(&before, &after)
                .map(|Interval { low, high }| Interval { low: low.max(0.0), high }),
            hedges_g: hedges_g(&before, &after),
            probability: probability.filter(|_| !constant),
            outcome: Outcome::Steady,
            before,
            after,
        }
    }

    fn concluded(&self) -> Outcome {
        if self.before.is_empty() || self.after.is_empty() {
            return Outcome::OneSided;
        }
        let up = self.ratio.is_some_and(|ratio| ratio > 1.0);
        match self.probability {
            None if self.before.iter().chain(&self.after).all(|value| Some(value) == self.before.first()) => {
                Outcome::Constant
            }
            None => Outcome::Untested,
            Some(probability) if probability.corrected >= SIGNIFICANT => Outcome::Steady,
            Some(_) if up => Outcome::More,
            Some(_) => Outcome::Less,
        }
    }

    /// Where it stands in the list: changes by their size, then what may have changed by how likely that is.
    fn weight(&self) -> f64 {
        /// Above every size of a change and every probability.
        const STEP: f64 = 1e3;
        let size = self.ratio.map_or(0.0, |ratio| ratio.ln().abs()).min(STEP / 2.0);
        match self.outcome {
            Outcome::More | Outcome::Less => 3.0 * STEP + size,
            Outcome::Untested => 2.0 * STEP + size,
            Outcome::OneSided => STEP,
            Outcome::Steady => 1.0 - self.probability.map_or(1.0, |probability| probability.deciding),
            Outcome::Constant => -1.0,
        }
    }
}

#[cfg(test)]
mod tests;
