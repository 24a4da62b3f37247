/// The rank of each value, from 1; equal values get the mean of their ranks.
///
/// M. G. Kendall, "Rank Correlation Methods", 4th ed., Griffin 1970, chapter 3 (ties). `None` if a value is NaN.
pub fn midranks(values: &[f64]) -> Option<Vec<f64>> {
    if values.iter().any(|v| v.is_nan()) {
        return None;
    }
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0.0; values.len()];
    let mut below = 0;
    for tied in order.chunk_by(|a, b| values[*a] == values[*b]) {
        // Ranks below+1 to below+n; their mean is below + (n + 1) / 2.
        let rank = below as f64 + (tied.len() as f64 + 1.0) / 2.0;
        tied.iter().for_each(|i| ranks[*i] = rank);
        below += tied.len();
    }
    Some(ranks)
}

/// Spearman's rank correlation, -1 to 1: the product-moment correlation of the midranks.
///
/// C. Spearman, American Journal of Psychology 15 (1904) 72-101. Assumes nothing but an order. `None` for fewer than
/// two pairs, different lengths, NaN, or where one side is constant and so has no order.
pub fn spearman(x: &[f64], y: &[f64]) -> Option<f64> {
    if x.len() != y.len() || x.len() < 2 {
        return None;
    }
    let (x, y) = (midranks(x)?, midranks(y)?);
    // The mean of midranks is (n + 1) / 2 whatever the ties.
    let mean = (x.len() as f64 + 1.0) / 2.0;
    let product =
        |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| (a - mean) * (b - mean)).sum() };
    let spread = product(&x, &x) * product(&y, &y);
    (spread > 0.0).then(|| (product(&x, &y) / spread.sqrt()).clamp(-1.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_share_their_ranks() {
        assert_eq!(midranks(&[30.0, 10.0, 20.0, 20.0]).unwrap(), [4.0, 1.0, 2.5, 2.5]);
        // Zero and minus zero are equal.
        assert_eq!(midranks(&[0.0, -0.0]).unwrap(), [1.5, 1.5]);
    }

    #[test]
    fn any_increasing_relation_is_perfect() {
        let x = [1.0, 2.0, 3.0, 4.0];
        assert_eq!(spearman(&x, &[1.0, 10.0, 100.0, 1e9]), Some(1.0));
        assert_eq!(spearman(&x, &[4.0, 3.0, 2.0, 1.0]), Some(-1.0));
    }

    #[test]
    fn without_ties_it_is_the_formula_of_squared_differences() {
        // Ranks 1..5 against 2, 1, 4, 3, 5: Σd² = 4, so 1 - 6·4 / (5·24) = 0.8.
        let r = spearman(&[1.0, 2.0, 3.0, 4.0, 5.0], &[2.0, 1.0, 4.0, 3.0, 5.0]).unwrap();
        assert!((r - 0.8).abs() < 1e-12, "{r}");
    }

    #[test]
    fn what_has_no_order_has_no_correlation() {
        assert_eq!(spearman(&[1.0, 1.0], &[1.0, 2.0]), None);
        assert_eq!(spearman(&[1.0], &[1.0]), None);
        assert_eq!(spearman(&[1.0, 2.0], &[1.0]), None);
        assert_eq!(spearman(&[1.0, f64::NAN], &[1.0, 2.0]), None);
        assert_eq!(spearman(&[], &[]), None);
    }
}
