use carom_base::LogBin;

/// Bins of a histogram of distances. All are half-open: `low` is in, `high` is not.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Bins {
    /// Those of [`LogBin`]: exact below 64, then 32 to every doubling.
    #[default]
    Logarithmic,
    /// One below `start`, then each `ratio` times as wide as the one before, as ReuseTracker has them
    /// (`HPCRUN_WP_REUSE_BIN_SCHEME`).
    Geometric {
        /// The end of the first bin, at least 1.
        start: u64,
        /// Above 1.
        ratio: f64,
    },
}

impl Bins {
    /// The bin that a distance is in.
    pub fn index(self, distance: u64) -> u32 {
        match self {
            Self::Logarithmic => u32::from(LogBin::of(distance).0),
            Self::Geometric { start, .. } if distance < start => 0,
            Self::Geometric { start, ratio } => {
                let steps = (distance as f64 / start.max(1) as f64).ln() / sane(ratio).ln();
                let guess = 1 + steps.max(0.0) as u32;
                // Rounding can miss an edge by one.
                (guess.saturating_sub(1)..=guess.saturating_add(1))
                    .find(|&index| distance < self.edges(index).1)
                    .unwrap_or(guess)
            }
        }
    }

    /// The smallest distance in a bin, and one more than the largest; `u64::MAX` for no bound.
    pub fn edges(self, index: u32) -> (u64, u64) {
        match self {
            Self::Logarithmic => {
                let bin = LogBin(u16::try_from(index).unwrap_or(u16::MAX).min(LogBin::COUNT as u16 - 1));
                (bin.low(), bin.high().saturating_add(1))
            }
            Self::Geometric { start, ratio } => {
                // Saturates at the largest.
                let edge =
                    |power: u32| (start.max(1) as f64 * sane(ratio).powf(f64::from(power))).round() as u64;
                (if index == 0 { 0 } else { edge(index - 1) }, edge(index))
            }
        }
    }
}

/// A ratio that leads somewhere.
fn sane(ratio: f64) -> f64 {
    /// Finer bins than this would be more than a report can hold.
    const LEAST: f64 = 1.01;
    if ratio.is_finite() { ratio.max(LEAST) } else { 2.0 }
}

/// The middle of a bin of exact mode: what stands for its distances where they are needed as numbers.
pub(super) fn middle(bin: LogBin) -> u64 {
    bin.low() + (bin.high() - bin.low()) / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithmic_bins_follow_each_other_and_hold_their_distances() {
        let mut expected_low = 0;
        for index in 0..=Bins::Logarithmic.index(u64::MAX) {
            let (low, high) = Bins::Logarithmic.edges(index);
            assert_eq!(low, expected_low, "bin {index}");
            assert_eq!(Bins::Logarithmic.index(low), index);
            assert_eq!(Bins::Logarithmic.index(high - 1), index);
            expected_low = high;
        }
        assert_eq!(expected_low, u64::MAX);
        // 512 to 1023 in 32 bins of 16: 1000 = 512 + 30 * 16 + 8.
        assert_eq!(Bins::Logarithmic.edges(Bins::Logarithmic.index(1000)), (992, 1008));
    }

    #[test]
    fn bins_of_exact_mode_lie_within_one_bin_each() {
        for fine in (0..LogBin::COUNT as u16).map(LogBin) {
            let index = Bins::Logarithmic.index(fine.low());
            assert_eq!(index, Bins::Logarithmic.index(fine.high()), "{fine:?}");
        }
    }

    /// ReuseTracker's scheme for short distances: below 1,100, then doubling.
    #[test]
    fn geometric_bins_are_those_of_the_thesis() {
        let bins = Bins::Geometric { start: 1100, ratio: 2.0 };
        let edges: Vec<_> = (0..4).map(|index| bins.edges(index)).collect();
        assert_eq!(edges, [(0, 1100), (1100, 2200), (2200, 4400), (4400, 8800)]);
        let found: Vec<_> = [0, 1099, 1100, 2199, 2200, 15_999].map(|distance| bins.index(distance)).into();
        assert_eq!(found, [0, 0, 1, 1, 2, 4]);
    }

    #[test]
    fn senseless_bins_do_no_harm() {
        for bins in [
            Bins::Geometric { start: 0, ratio: 1.0 },
            Bins::Geometric { start: 1, ratio: f64::NAN },
            Bins::Geometric { start: u64::MAX, ratio: 2.0 },
        ] {
            for distance in [0, 1, 1000, u64::MAX] {
                let (low, _) = bins.edges(bins.index(distance));
                assert!(low <= distance, "{bins:?} {distance}");
            }
        }
    }
}
