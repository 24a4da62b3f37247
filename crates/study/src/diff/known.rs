//! How well a proportion is known.

use carom_study_stats::{Z_95, wilson};

use crate::Estimate;

/// A proportion of as many equal observations.
pub(super) fn proportion(value: f64, observations: f64) -> Estimate {
    let interval = wilson(value, observations);
    Estimate { value, low: interval.low, high: interval.high }
}

/// The number of equal observations behind a proportion's score interval, whose ends u solve (u - p)² = z² u (1 - u) / n.
/// Infinite for one without width.
pub(super) fn observations(known: &Estimate) -> f64 {
    // The end that is farther from 0 and 1 is known to more digits.
    let end = if known.value < 0.5 { known.high } else { known.low };
    let distance = (end - known.value).powi(2);
    if distance > 0.0 { Z_95 * Z_95 * end * (1.0 - end) / distance } else { f64::INFINITY }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_tells_its_observations() {
        for p in [0.0, 0.001, 0.3, 0.5, 0.99, 1.0] {
            for n in [4.0, 250.0, 1e6] {
                let found = observations(&proportion(p, n));
                assert!((found / n - 1.0).abs() < 1e-6, "{p} {n}: {found}");
            }
        }
        assert_eq!(observations(&Estimate::UNKNOWN), 0.0);
        assert_eq!(observations(&Estimate { value: 0.2, low: 0.2, high: 0.2 }), f64::INFINITY);
    }
}
