//! How often something happened, before and after.

use carom_study_stats::normal_two_sided;

use super::change::{Test, Trend};

/// The standard deviation of the logarithm of a rate of sharing events between runs of one program. Whether two threads
/// meet at a line depends on how they are scheduled: rates may well differ by a factor of two.
const SPREAD: f64 = 0.5;

/// Events among samples.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rate {
    pub events: f64,
    pub samples: f64,
}

/// A rate before and after.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateChange {
    /// The natural logarithm of the ratio of the rates: above 0 where there is more after.
    pub logarithm: f64,
    /// How likely chance does as much.
    pub test: Test,
}

impl RateChange {
    /// From the runs of either side: the means of the logarithms of their rates.
    ///
    /// A half is added to each number of events, so that none at all has a logarithm (J. B. S. Haldane, Annals of Human
    /// Genetics 20 (1956) 309-311); 1 over that sum is the variance by sampling.
    pub(super) fn between(before: &[Rate], after: &[Rate]) -> Self {
        let ((before, of_before), (after, of_after)) = (mean(before), mean(after));
        let logarithm = after - before;
        let probability = normal_two_sided(logarithm / (of_before + of_after).sqrt());
        Self { logarithm, test: Test::new(probability) }
    }

    /// Where it goes, if that is more than chance.
    pub fn trend(&self) -> Trend {
        self.test.trend(self.logarithm)
    }
}

/// The mean of the logarithms, and its variance.
fn mean(runs: &[Rate]) -> (f64, f64) {
    let part = 1.0 / runs.len().max(1) as f64;
    runs.iter().fold((0.0, 0.0), |(sum, variance), run| {
        let events = run.events.max(0.0) + 0.5;
        let own = 1.0 / events + SPREAD * SPREAD;
        (sum + part * (events / run.samples.max(1.0)).ln(), variance + part * part * own)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trend(before: &[f64], after: &[f64]) -> Trend {
        let rates = |side: &[f64]| -> Vec<Rate> {
            side.iter().map(|&events| Rate { events, samples: 1_000.0 }).collect()
        };
        RateChange::between(&rates(before), &rates(after)).trend()
    }

    #[test]
    fn rates_that_differ_a_little_are_the_same() {
        // ln 2 = 0.69 is less than 1.96 √(2 × 0.25 + …) = 1.4.
        assert_eq!(trend(&[100.0], &[200.0]), Trend::Steady);
        assert_eq!(trend(&[0.0], &[0.0]), Trend::Steady);
        assert_eq!(trend(&[4.0], &[0.0]), Trend::Steady);
    }

    #[test]
    fn rates_that_differ_by_ten_do_not() {
        // ln 10 = 2.3.
        assert_eq!(trend(&[100.0], &[1_000.0]), Trend::Up);
        assert_eq!(trend(&[100.0], &[0.0]), Trend::Down);
        // Two runs that differ much from each other, but more from the others.
        assert_eq!(trend(&[10.0, 173.0], &[2.0, 2.0]), Trend::Down);
    }
}
