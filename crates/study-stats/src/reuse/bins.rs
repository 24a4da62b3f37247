//! Comparing histograms.

use super::distances::Distances;

/// ReuseTracker's bins (`HPCRUN_WP_REUSE_BIN_SCHEME=START,RATIO`): one below `start`; each further bin ends at
/// `ratio` times the end of the one before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GeometricBins {
    /// The end of the first.
    pub start: f64,
    /// Above 1.
    pub ratio: f64,
}

/// More bins than any distance needs, where the ratio is 1.01 or more.
const MOST_BINS: usize = 4096;

impl GeometricBins {
    /// The bin of a distance.
    pub fn index(self, distance: u64) -> usize {
        let mut end = self.start;
        // Steps instead of a logarithm, whose rounding could miss a boundary.
        (0..MOST_BINS)
            .find(|_| {
                let found = (distance as f64) < end;
                end *= self.ratio;
                found
            })
            .unwrap_or(MOST_BINS)
    }

    /// The share of uses that are reused, by bin, up to the bin of the largest distance.
    pub fn histogram(self, distances: &Distances) -> Vec<f64> {
        let mut bins = Vec::new();
        for step in distances.steps() {
            // Where a step spans a boundary, the error is at most a thirty-second of the distance.
            let index = self.index(step.low + (step.high - step.low) / 2);
            if bins.len() <= index {
                bins.resize(index + 1, 0.0);
            }
            if let Some(bin) = bins.get_mut(index) {
                *bin += step.reused;
            }
        }
        bins
    }
}

/// Accuracy S of one histogram against another: 1 - Σ |B_i - B'_i| / 2 over fractions of all reuses (thesis 6.5.1,
/// after Shen and others, POPL 2007). 1: equal; 0: nothing in common. Missing bins are empty; the histograms may have
/// different units. `None` where one is empty.
pub fn accuracy(truth: &[f64], found: &[f64]) -> Option<f64> {
    let (all_true, all_found) = (truth.iter().sum::<f64>(), found.iter().sum::<f64>());
    if !(all_true > 0.0 && all_found > 0.0) {
        return None;
    }
    let bin = |of: &[f64], index: usize| of.get(index).copied().unwrap_or(0.0);
    let apart = |index| (bin(truth, index) / all_true - bin(found, index) / all_found).abs();
    let sum: f64 = (0..truth.len().max(found.len())).map(apart).sum();
    sum.is_finite().then_some(1.0 - sum / 2.0)
}

#[cfg(test)]
mod tests {
    use carom_base::LogBin;

    use super::*;

    #[test]
    fn bins_of_the_thesis() {
        let bins = GeometricBins { start: 1100.0, ratio: 2.0 };
        let found: Vec<_> = [0, 1099, 1100, 2199, 2200, 16_000].map(|distance| bins.index(distance)).into();
        assert_eq!(found, [0, 0, 1, 1, 2, 4]);
        assert_eq!(GeometricBins { start: 1.0, ratio: 1.0 }.index(5), MOST_BINS);
    }

    #[test]
    fn reuses_by_bin() {
        let counts = [(LogBin::of(10), 1.0), (LogBin::of(1500), 2.0), (LogBin::of(1600), 3.0)];
        let distances = Distances::of_bins(counts, 2.0, 2.0).unwrap();
        // 6 of 10 uses are reused.
        let bins = GeometricBins { start: 1100.0, ratio: 2.0 }.histogram(&distances);
        assert_eq!(bins, [0.1, 0.5]);
    }

    /// |0.5 - 0.25| + |0.5 - 0.5| + |0 - 0.25| = 0.5.
    #[test]
    fn accuracy_by_hand() {
        assert_eq!(accuracy(&[5.0, 5.0], &[1.0, 2.0, 1.0]), Some(0.75));
        assert_eq!(accuracy(&[1.0, 0.0], &[0.0, 1.0]), Some(0.0));
        assert_eq!(accuracy(&[1.0, 3.0], &[2.0, 6.0]), Some(1.0));
        assert_eq!(accuracy(&[0.0], &[1.0]), None);
        assert_eq!(accuracy(&[f64::INFINITY], &[1.0]), None);
    }
}
