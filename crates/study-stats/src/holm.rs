/// The probabilities of several tests, each corrected for the number of tests: a corrected probability below 5% is found
/// with a probability below 5% where nothing differs in any of them.
///
/// S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6 (1979) 65-70.
/// Assumes nothing of how the tests depend on each other.
pub fn holm(probabilities: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..probabilities.len()).collect();
    order.sort_by(|a, b| probabilities[*a].total_cmp(&probabilities[*b]));
    let mut corrected = vec![1.0; probabilities.len()];
    let mut largest = 0.0_f64;
    for (rank, index) in order.into_iter().enumerate() {
        let left = (probabilities.len() - rank) as f64;
        largest = largest.max((probabilities[index] * left).min(1.0));
        corrected[index] = largest;
    }
    corrected
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_pays_for_all() {
        // Sorted: 0.01 × 4, 0.02 × 3, 0.03 × 2, 0.5 × 1; none falls below the one before it.
        let corrected = holm(&[0.03, 0.01, 0.5, 0.02]);
        let expected = [0.06, 0.04, 0.5, 0.06];
        assert!(corrected.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{corrected:?}");
        assert_eq!(holm(&[0.7]), [0.7]);
        assert_eq!(holm(&[0.7, 0.9]), [1.0, 1.0]);
        assert!(holm(&[]).is_empty());
    }
}
