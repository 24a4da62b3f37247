//! Histograms over bins that grow geometrically, and how similar two of them are.

use std::collections::BTreeMap;

/// The first bin ends before `start`; each of the following is `ratio` times as wide as all before it end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bins {
    /// Where the second bin begins: at least 1.
    pub start: u64,
    /// Where a bin ends, in multiples of where it begins: at least 2.
    pub ratio: u64,
}

impl Bins {
    /// The bin of a distance: the smallest distance in it, and the smallest above it.
    pub fn of(self, distance: u64) -> (u64, u64) {
        let (mut low, mut high) = (0, self.start);
        while distance >= high && high < u64::MAX {
            (low, high) = (high, high.saturating_mul(self.ratio));
        }
        (low, high)
    }

    /// How often each bin is hit, by its smallest distance, where `counts` has distances and their numbers.
    pub fn fill(self, counts: &BTreeMap<u64, u64>) -> BTreeMap<u64, u64> {
        let mut filled = BTreeMap::new();
        for (&distance, &count) in counts {
            *filled.entry(self.of(distance).0).or_default() += count;
        }
        filled
    }
}

/// How similar two histograms over the same bins are: S of the thesis, section 6.5.1, from 0 to 1. `None` where one of
/// them is empty.
pub fn similarity(one: &BTreeMap<u64, u64>, other: &BTreeMap<u64, u64>) -> Option<f64> {
    let sum = |histogram: &BTreeMap<u64, u64>| histogram.values().sum::<u64>() as f64;
    let (all_of_one, all_of_other) = (sum(one), sum(other));
    if all_of_one == 0.0 || all_of_other == 0.0 {
        return None;
    }
    let count = |histogram: &BTreeMap<u64, u64>, bin| histogram.get(bin).copied().unwrap_or(0) as f64;
    let bins: std::collections::BTreeSet<&u64> = one.keys().chain(other.keys()).collect();
    let differences: f64 = bins
        .into_iter()
        .map(|bin| (count(one, bin) / all_of_one - count(other, bin) / all_of_other).abs())
        .sum();
    Some(1.0 - differences / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_double() {
        let bins = Bins { start: 1100, ratio: 2 };
        assert_eq!(
            [0, 1099, 1100, 2199].map(|d| bins.of(d)),
            [(0, 1100), (0, 1100), (1100, 2200), (1100, 2200)]
        );
        assert_eq!(bins.of(17_600), (17_600, 35_200));
        assert_eq!(bins.of(u64::MAX).1, u64::MAX);
    }

    #[test]
    fn similarity_is_what_overlaps() {
        // Fractions 1/2, 1/2 and 1/4, 3/4 overlap in 1/4 + 1/2.
        let (one, other) = (BTreeMap::from([(0, 5), (8, 5)]), BTreeMap::from([(0, 1), (8, 3)]));
        assert_eq!(similarity(&one, &other), Some(0.75));
        assert_eq!(similarity(&one, &one), Some(1.0));
        assert_eq!(similarity(&one, &BTreeMap::from([(16, 9)])), Some(0.0));
        assert_eq!(similarity(&one, &BTreeMap::new()), None);
    }
}
