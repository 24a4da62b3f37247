//! Pearson's chi-square test of equal frequencies.

use std::{collections::BTreeMap, fmt::Debug};

/// A sum of squared deviations, and its degrees of freedom.
#[derive(Clone, Copy, Debug, Default)]
pub struct ChiSquare {
    sum: f64,
    freedom: f64,
}

impl ChiSquare {
    /// For the frequencies of `classes` equally probable things. Others must not occur.
    pub fn of(met: &BTreeMap<u64, u64>, classes: usize) -> Self {
        assert!(met.len() <= classes, "{} things instead of {classes}: {met:x?}", met.len());
        let expected = met.values().sum::<u64>() as f64 / classes as f64;
        let present: f64 = met.values().map(|&n| (n as f64 - expected).powi(2) / expected).sum();
        let absent = (classes - met.len()) as f64 * expected;
        Self { sum: present + absent, freedom: classes as f64 - 1.0 }
    }

    /// For the frequencies of things that are each expected so often. Others must not occur.
    pub fn against<T: Ord + Debug>(met: &BTreeMap<T, u64>, expected: &BTreeMap<T, f64>) -> Self {
        assert!(met.keys().all(|thing| expected.contains_key(thing)), "{met:?} instead of {expected:?}");
        let of = |thing| met.get(thing).copied().unwrap_or_default() as f64;
        let sum = expected.iter().map(|(thing, often)| (of(thing) - often).powi(2) / often).sum();
        Self { sum, freedom: expected.len() as f64 }
    }

    /// Of independent tests together.
    pub fn and(self, other: Self) -> Self {
        Self { sum: self.sum + other.sum, freedom: self.freedom + other.freedom }
    }

    /// Whether larger ones occur by chance more often than once in a thousand. The quantile is Wilson and Hilferty's
    /// (1931), good to 1% from two degrees of freedom on.
    pub fn is_likely(self) -> bool {
        const NORMAL_QUANTILE: f64 = 3.0902;
        let spread = 2.0 / (9.0 * self.freedom);
        self.sum < self.freedom * (1.0 - spread + NORMAL_QUANTILE * spread.sqrt()).powi(3)
    }
}

/// How often each thing occurs.
pub fn tally(things: impl Iterator<Item = u64>) -> BTreeMap<u64, u64> {
    let mut met = BTreeMap::new();
    things.for_each(|thing| *met.entry(thing).or_default() += 1);
    met
}
