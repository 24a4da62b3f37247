use statrs::function::gamma::ln_gamma;

use crate::Moments;

/// Hedges' g: the second mean less the first in standard deviations, without the bias of small samples.
///
/// L. V. Hedges, "Distribution theory for Glass's estimator of effect size and related estimators", Journal of Educational
/// Statistics 6 (1981) 107-128, with the exact correction. Assumes one variance for both. `None` where neither side varies or
/// there are fewer than four values.
pub fn hedges_g(before: &[f64], after: &[f64]) -> Option<f64> {
    let (before, after) = (Moments::of(before)?, Moments::of(after)?);
    // With one degree of freedom, the expected size is infinite.
    let degrees = (before.n + after.n).checked_sub(2).filter(|degrees| *degrees > 1)? as f64;
    let squares = |moments: &Moments| moments.variance * (moments.n - 1) as f64;
    let pooled = ((squares(&before) + squares(&after)) / degrees).sqrt();
    let unbiased = (ln_gamma(degrees / 2.0) - ln_gamma((degrees - 1.0) / 2.0)).exp() / (degrees / 2.0).sqrt();
    (pooled > 0.0).then(|| unbiased * (after.mean - before.mean) / pooled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_of_one_deviation() {
        // Means 2 and 3, pooled deviation 1, 4 degrees of freedom: Γ(2) / (√2 Γ(1.5)) = 1 / (1.41421 × 0.886227).
        let g = hedges_g(&[1.0, 2.0, 3.0], &[2.0, 3.0, 4.0]).unwrap();
        assert!((g - 1.0 / (2.0_f64.sqrt() * 0.886_226_925_452_758)).abs() < 1e-12, "{g}");
    }

    #[test]
    fn without_spread_there_is_no_unit() {
        assert_eq!((hedges_g(&[1.0; 3], &[2.0; 3]), hedges_g(&[1.0], &[2.0])), (None, None));
        assert_eq!(hedges_g(&[1.0, 2.0], &[2.0]), None);
    }
}
