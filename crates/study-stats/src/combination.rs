use crate::wilson::Interval;

/// A value with its interval, and how often it counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Term {
    /// The coefficient; below 0 where the value is subtracted.
    pub times: f64,
    /// The point estimate.
    pub value: f64,
    /// Its interval.
    pub interval: Interval,
}

/// The interval of a sum of independent estimates, of the same level as theirs, which may be asymmetric. None for no terms but
/// 0 to 0.
///
/// R. G. Newcombe, "Interval estimation for the difference between independent proportions: comparison of eleven methods",
/// Statistics in Medicine 17 (1998) 873-890, method 10; for any intervals G. Y. Zou and A. Donner, "Construction of
/// confidence limits about effect measures: a general approach", Statistics in Medicine 27 (2008) 1693-1702: the distance
/// of each estimate from its limit recovers its variance near that limit.
pub fn combination(terms: &[Term]) -> Interval {
    let value: f64 = terms.iter().map(|term| term.times * term.value).sum();
    let distance = |end: fn(&Term) -> f64| {
        let squares = terms.iter().map(|term| (term.times * (term.value - end(term))).powi(2));
        squares.sum::<f64>().sqrt()
    };
    let below = distance(|t| if t.times > 0.0 { t.interval.low } else { t.interval.high });
    let above = distance(|t| if t.times > 0.0 { t.interval.high } else { t.interval.low });
    Interval { low: value - below, high: value + above }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{testing::binomial_probabilities, wilson};

    fn seen(times: f64, hits: usize, of: usize) -> Term {
        let value = hits as f64 / of as f64;
        Term { times, value, interval: wilson(value, of as f64) }
    }

    #[test]
    fn a_published_example() {
        // Newcombe, table II, method 10: 56 of 70 less 48 of 80 is 0.0524 to 0.3339; 10 of 10 less 0 of 20 is 0.6791 to 1.
        let difference = combination(&[seen(1.0, 56, 70), seen(-1.0, 48, 80)]);
        assert!((difference.low - 0.0524).abs() < 5e-4 && (difference.high - 0.3339).abs() < 5e-4);
        let difference = combination(&[seen(1.0, 10, 10), seen(-1.0, 0, 20)]);
        assert!((difference.low - 0.6791).abs() < 5e-4 && (difference.high - 1.0).abs() < 5e-4);
    }

    /// Exact: the probability of all pairs of outcomes whose interval excludes 0 although nothing differs.
    #[test]
    fn equal_proportions_seldom_seem_to_differ() {
        for p in [0.0, 0.02, 0.1, 0.5, 0.9] {
            let (few, many) = (binomial_probabilities(80, p), binomial_probabilities(120, p));
            let mut wrong = 0.0;
            for (i, one) in few.iter().enumerate() {
                for (j, other) in many.iter().enumerate() {
                    let difference = combination(&[seen(1.0, j, 120), seen(-1.0, i, 80)]);
                    wrong += if difference.contains(0.0) { 0.0 } else { one * other };
                }
            }
            assert!(wrong < 0.06, "{p}: {wrong}");
        }
    }

    #[test]
    fn a_mean_is_known_better() {
        let four: Vec<Term> = (0..4).map(|_| seen(0.25, 50, 100)).collect();
        let (one, mean) = (seen(1.0, 50, 100).interval, combination(&four));
        assert!((mean.half_width() - one.half_width() / 2.0).abs() < 1e-12);
    }
}
