/// The probabilities of several tests, corrected so that of those below 5% at most 5% are expected to be chance.
///
/// Y. Benjamini and Y. Hochberg, "Controlling the false discovery rate", Journal of the Royal Statistical Society B 57 (1995)
/// 289-300, as adjusted probabilities. Milder than [`holm`](crate::holm): for exploring, not for deciding. Assumes that the
/// tests do not depend on each other, or positively.
pub fn benjamini_hochberg(probabilities: &[f64]) -> Vec<f64> {
    let all = probabilities.len();
    let mut order: Vec<usize> = (0..all).collect();
    order.sort_by(|a, b| probabilities[*b].total_cmp(&probabilities[*a]));
    let mut corrected = vec![1.0; all];
    let mut smallest = 1.0_f64;
    for (below, index) in order.into_iter().enumerate() {
        let rank = (all - below) as f64;
        smallest = smallest.min(probabilities[index] * all as f64 / rank);
        corrected[index] = smallest;
    }
    corrected
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_compared_with_its_rank() {
        // Sorted: 0.01 × 4/1, 0.02 × 4/2, 0.03 × 4/3, 0.5; none above the one after it.
        let corrected = benjamini_hochberg(&[0.03, 0.01, 0.5, 0.02]);
        assert!(
            corrected.iter().zip([0.04, 0.04, 0.5, 0.04]).all(|(a, b)| (a - b).abs() < 1e-12),
            "{corrected:?}"
        );
        assert!(benjamini_hochberg(&[]).is_empty());
    }
}
