/// How many observations of equal weight have the variance of these unequal ones: (Σw)² / Σw².
///
/// L. Kish, "Survey Sampling", Wiley 1965, section 11.7. Assumes that weights are independent of what is
/// observed. Weights that are not finite and positive are left out; no weights are worth 0 observations.
pub fn effective_sample_size(weights: impl IntoIterator<Item = f64>) -> f64 {
    let (sum, squares) = weights
        .into_iter()
        .filter(|w| w.is_finite() && *w > 0.0)
        .fold((0.0, 0.0), |(sum, squares), w| (sum + w, squares + w * w));
    kish(sum, squares)
}

/// The same from sums that were kept: Σw and Σw².
pub(crate) fn kish(sum: f64, squares: f64) -> f64 {
    if squares > 0.0 { sum * sum / squares } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_weights_count_fully() {
        assert_eq!(effective_sample_size([2.0; 10]), 10.0);
    }

    #[test]
    fn one_heavy_weight_counts_for_little_more_than_itself() {
        // (1+1+1+1+4)² / (1+1+1+1+16) = 64 / 20.
        assert_eq!(effective_sample_size([1.0, 1.0, 1.0, 1.0, 4.0]), 3.2);
    }

    #[test]
    fn nonsense_is_left_out() {
        assert_eq!(effective_sample_size([]), 0.0);
        assert_eq!(effective_sample_size([f64::NAN, -1.0, 0.0, f64::INFINITY, 3.0]), 1.0);
    }
}
