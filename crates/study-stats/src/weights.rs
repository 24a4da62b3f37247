use crate::Block;

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

/// How many observations of equal weight have the variance of the proportion of hits among these unequal ones, where
/// weights may depend on what is observed: the linearised variance of a ratio of sums, Σw² (hit - p)² / (Σw)²
/// (Cochran, "Sampling Techniques", chapter 6). `None` where all or no observations are hits.
///
/// A few heavy hits among many light observations are worth less than by [`kish`], and light ones seem worth more,
/// as if no heavy one could have been a hit: so the smaller number of both is safe.
pub(crate) fn of_proportion(total: &Block) -> Option<f64> {
    let p = total.hits / total.weight;
    let squares = (1.0 - 2.0 * p) * total.hits_squared + p * p * total.weight_squared;
    let number = p * (1.0 - p) * total.weight * total.weight / squares;
    (number.is_finite() && number > 0.0).then_some(number)
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
