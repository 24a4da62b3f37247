use crate::weights::kish;
use crate::wilson::{Interval, Z_95};

/// The 95% score interval of the mean of a Poisson variable with the observed value `n`.
///
/// The values λ with (n - λ)² / λ <= z², that is n + z²/2 ± z √(n + z²/4); compared with others, and recommended, by
/// L. Barker, "A comparison of nine confidence intervals for a Poisson parameter when the expected number of events
/// is <= 5", The American Statistician 56 (2002) 85-89. `n` may be fractional; negative values and NaN count as 0.
pub fn poisson(n: f64) -> Interval {
    let n = n.max(0.0);
    let z2 = Z_95 * Z_95;
    let half = Z_95 * (n + z2 / 4.0).sqrt();
    let low = if n == 0.0 { 0.0 } else { (n + z2 / 2.0 - half).clamp(0.0, n) };
    Interval { low, high: n + z2 / 2.0 + half }
}

/// The same for a sum of weights of events of a Poisson process: `sum` = Σw, `squares` = Σw².
///
/// The interval of the effective number of events, (Σw)² / Σw², in units of Σw² / Σw, as in M. P. Fay and E. J.
/// Feuer, "Confidence intervals for directly standardized rates", Statistics in Medicine 16 (1997) 791-801. `None`
/// without events, because then the unit is unknown.
pub fn weighted_poisson(sum: f64, squares: f64) -> Option<Interval> {
    let events = kish(sum, squares);
    (events.is_finite() && events > 0.0).then(|| {
        let (unit, count) = (sum / events, poisson(events));
        Interval { low: unit * count.low, high: unit * count.high }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn textbook_values() {
        // z² = 3.8415. n = 0: [0, 3.84]. n = 100: 101.92 ± 1.96 √100.96 = 101.92 ± 19.69.
        let (none, hundred) = (poisson(0.0), poisson(100.0));
        assert!(none.low == 0.0 && (none.high - 3.8415).abs() < 1e-3, "{none:?}");
        assert!((hundred.low - 82.23).abs() < 0.01 && (hundred.high - 121.61).abs() < 0.01, "{hundred:?}");
        assert_eq!(poisson(f64::NAN), none);
    }

    /// Exact coverage: the sum of the probabilities of the counts whose intervals contain the mean. It oscillates
    /// around 95%, more so for smaller means: at 0.5 the counts 0 and 1 contain it, 91% of all.
    #[test]
    fn the_interval_covers() {
        for mean in [0.5_f64, 1.0, 3.0, 10.0, 30.0, 100.0] {
            let mut probability = (-mean).exp();
            let mut covered = 0.0;
            for n in 0..400 {
                covered += if poisson(f64::from(n)).contains(mean) { probability } else { 0.0 };
                probability *= mean / f64::from(n + 1);
            }
            assert!((0.905..=1.0).contains(&covered), "mean {mean}: {covered}");
        }
    }

    #[test]
    fn weights_scale_and_widen() {
        // 100 events of weight 500: 500 times the interval of 100.
        let equal = weighted_poisson(50_000.0, 100.0 * 250_000.0).unwrap();
        assert!((equal.low - 500.0 * poisson(100.0).low).abs() < 1e-6);
        // The same sum from 50 of 900 and 50 of 100 is worth 50,000² / (50 · 810,000 + 50 · 10,000) = 61 events.
        let unequal = weighted_poisson(50_000.0, 50.0 * 810_000.0 + 50.0 * 10_000.0).unwrap();
        assert!(unequal.half_width() > 1.2 * equal.half_width(), "{unequal:?}");
        assert_eq!(weighted_poisson(0.0, 0.0), None);
    }
}
