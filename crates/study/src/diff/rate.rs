//! How often something happened, before and after.

use carom_study_stats::{Dispersed, dispersed_two_sided};

use super::change::{Change, Test, Trend};

/// How much the rate of sharing events differs between runs of one program, as a part of itself. Whether two threads meet at a
/// line depends on how they are scheduled: rates may well differ by a factor of two.
const VARIATION: f64 = 0.5;

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
    /// From the runs of either side.
    pub(super) fn between(before: &[Rate], after: &[Rate]) -> Self {
        let (before, after) = (sum(before), sum(after));
        // A half is added to each number of events, so that none at all has a logarithm (J. B. S. Haldane, Annals of Human
        // Genetics 20 (1956) 309-311).
        let rate = |side: Dispersed| ((side.events + 0.5) / side.exposure).ln();
        let test = Test::new(dispersed_two_sided(before, after, VARIATION));
        Self { logarithm: rate(after) - rate(before), test }
    }

    /// The same, where it is also a part of something that changes: the part differs less between runs than how often it
    /// happens. Where both go the same way, either may tell; that there are two chances to is corrected for.
    pub(super) fn or(mut self, part: &Change) -> Self {
        if self.logarithm * part.difference.value > 0.0 {
            let least = self.test.probability.min(part.test.probability);
            self.test = Test::new((2.0 * least).min(1.0));
        }
        self
    }

    /// Where it goes, if that is more than chance.
    pub fn trend(&self) -> Trend {
        self.test.trend(self.logarithm)
    }
}

/// All runs together.
fn sum(runs: &[Rate]) -> Dispersed {
    let events = runs.iter().map(|run| run.events.max(0.0)).sum();
    let exposure = runs.iter().map(|run| run.samples.max(1.0)).sum::<f64>().max(1.0);
    Dispersed { events, exposure, runs: runs.len() }
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
        assert_eq!(trend(&[100.0], &[200.0]), Trend::Steady);
        assert_eq!(trend(&[0.0], &[0.0]), Trend::Steady);
        assert_eq!(trend(&[4.0], &[0.0]), Trend::Steady);
    }

    #[test]
    fn rates_that_differ_by_ten_do_not() {
        assert_eq!(trend(&[100.0], &[1_000.0]), Trend::Up);
        assert_eq!(trend(&[100.0], &[0.0]), Trend::Down);
        assert_eq!(trend(&[10.0], &[0.0]), Trend::Down);
        // Two runs that differ much from each other, but more from the others.
        assert_eq!(trend(&[10.0, 173.0], &[2.0, 2.0]), Trend::Down);
        assert_eq!(trend(&[27.0, 2.0], &[0.0, 0.0]), Trend::Down);
    }
}
