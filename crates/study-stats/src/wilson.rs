/// The 97.5% point of the standard normal distribution: two-sided intervals of 95%.
pub const Z_95: f64 = 1.959_963_984_540_054;

/// A range from `low` to `high`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval {
    /// True when `value` lies in the closed range.
    pub fn contains(self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    /// Half the distance between the ends.
    pub fn half_width(self) -> f64 {
        (self.high - self.low) / 2.0
    }
}

/// The 95% score interval of a proportion `p` seen in `n` observations.
///
/// E. B. Wilson, "Probable inference, the law of succession, and statistical inference", J. Am. Stat. Assoc.
/// 22 (1927) 209-212; recommended for all p by Brown, Cai and DasGupta, "Interval estimation for a binomial
/// proportion", Statistical Science 16 (2001) 101-133. Unlike the textbook interval it has an honest width
/// at p = 0 and p = 1: with nothing seen in n, the upper end is z²/(n + z²).
///
/// Assumes independent observations of equal weight. `n` may be fractional: an effective sample size. `p` is
/// clamped to 0..=1; without observations (`n` not above 0) everything is possible.
pub fn wilson(p: f64, n: f64) -> Interval {
    if n.is_nan() || n <= 0.0 || p.is_nan() {
        return Interval { low: 0.0, high: 1.0 };
    }
    if n.is_infinite() {
        let p = p.clamp(0.0, 1.0);
        return Interval { low: p, high: p };
    }
    let p = p.clamp(0.0, 1.0);
    let z2 = Z_95 * Z_95;
    let scale = 1.0 / (1.0 + z2 / n);
    let centre = (p + z2 / (2.0 * n)) * scale;
    let half = Z_95 * scale * (p * (1.0 - p) / n + z2 / (4.0 * n * n)).sqrt();
    // At p = 0 and p = 1 one end is exact; rounding must not exclude it.
    let low = if p == 0.0 { 0.0 } else { (centre - half).clamp(0.0, p) };
    let high = if p == 1.0 { 1.0 } else { (centre + half).clamp(p, 1.0) };
    Interval { low, high }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::binomial_probabilities;

    fn close(a: f64, b: f64) {
        assert!((a - b).abs() < 5e-4, "{a} is not {b}");
    }

    #[test]
    fn a_published_example() {
        // 81 of 263, Newcombe, Statistics in Medicine 17 (1998) 857-872, table I, method 3: 0.2553 to 0.3662.
        let i = wilson(81.0 / 263.0, 263.0);
        close(i.low, 0.2553);
        close(i.high, 0.3662);
        // 0 of 20, same table: 0 to 0.1611.
        let i = wilson(0.0, 20.0);
        assert_eq!(i.low, 0.0);
        close(i.high, 0.1611);
    }

    #[test]
    fn the_ends_are_mirror_images() {
        let (none, all) = (wilson(0.0, 50.0), wilson(1.0, 50.0));
        assert_eq!(all.high, 1.0);
        assert!((none.high - (1.0 - all.low)).abs() < 1e-12);
    }

    #[test]
    fn without_observations_everything_is_possible() {
        let everything = Interval { low: 0.0, high: 1.0 };
        assert_eq!(wilson(0.5, 0.0), everything);
        assert_eq!(wilson(0.5, -1.0), everything);
        assert_eq!(wilson(0.5, f64::NAN), everything);
        assert_eq!(wilson(f64::NAN, 10.0), everything);
        assert_eq!(wilson(0.25, f64::INFINITY), Interval { low: 0.25, high: 0.25 });
    }

    /// Exact coverage, no simulation: the probability of all outcomes whose interval contains the truth.
    #[test]
    fn covers_at_least_93_percent() {
        for n in [100, 400] {
            for p in [0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0] {
                let coverage: f64 = binomial_probabilities(n, p)
                    .iter()
                    .enumerate()
                    .filter(|(k, _)| wilson(*k as f64 / n as f64, n as f64).contains(p))
                    .map(|(_, probability)| probability)
                    .sum();
                assert!((0.93..=1.0 + 1e-9).contains(&coverage), "n {n}, p {p}: {coverage}");
            }
        }
    }
}
