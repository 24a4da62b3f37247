//! How many ways several quantities vary in.

/// The parts of the variance along the principal components of these quantities, the largest first. Each is standardised, so that
/// units do not matter. Empty without two quantities of one length that vary.
///
/// The eigenvalues of the correlation matrix, by Jacobi's rotations: G. H. Golub and C. F. Van Loan, "Matrix Computations", 4th
/// edition, 2013, section 8.5.
pub fn principal_components(quantities: &[Vec<f64>]) -> Vec<f64> {
    let standardised: Option<Vec<Vec<f64>>> = quantities.iter().map(|values| standardised(values)).collect();
    let Some(rows) =
        standardised.filter(|rows| rows.len() > 1 && rows.iter().all(|row| row.len() == rows[0].len()))
    else {
        return Vec::new();
    };
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let mut matrix: Vec<Vec<f64>> =
        rows.iter().map(|a| rows.iter().map(|b| product(a, b)).collect()).collect();
    diagonalise(&mut matrix);
    let size = matrix.len();
    let mut parts: Vec<f64> = (0..size).map(|i| (matrix[i][i] / size as f64).max(0.0)).collect();
    parts.sort_by(|a, b| b.total_cmp(a));
    parts
}

/// With mean 0 and length 1; `None` where it does not vary.
fn standardised(values: &[f64]) -> Option<Vec<f64>> {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let length = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>().sqrt();
    let varies = length.is_finite() && length > 1e-12 * mean.abs();
    varies.then(|| values.iter().map(|value| (value - mean) / length).collect())
}

/// Rotates a symmetric matrix until nothing is left beside its diagonal. Each sweep squares what is left.
fn diagonalise(matrix: &mut [Vec<f64>]) {
    const SWEEPS: u32 = 30;
    let size = matrix.len();
    for _ in 0..SWEEPS {
        for p in 0..size {
            for q in p + 1..size {
                rotate(matrix, p, q);
            }
        }
    }
}

fn rotate(matrix: &mut [Vec<f64>], p: usize, q: usize) {
    if matrix[p][q] == 0.0 {
        return;
    }
    let tau = (matrix[q][q] - matrix[p][p]) / (2.0 * matrix[p][q]);
    let sign = if tau < 0.0 { -1.0 } else { 1.0 };
    let tangent = sign / (tau.abs() + (1.0 + tau * tau).sqrt());
    let cosine = 1.0 / (1.0 + tangent * tangent).sqrt();
    let sine = tangent * cosine;
    for row in matrix.iter_mut() {
        (row[p], row[q]) = (cosine * row[p] - sine * row[q], sine * row[p] + cosine * row[q]);
    }
    let (one, other) = (matrix[p].clone(), matrix[q].clone());
    let turned = |a: f64, b: f64| one.iter().zip(&other).map(|(one, other)| a * one + b * other).collect();
    matrix[p] = turned(cosine, -sine);
    matrix[q] = turned(sine, cosine);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_are_those_of_known_matrices() {
        let a = vec![1.0, -1.0, 1.0, -1.0];
        let b = vec![1.0, 1.0, -1.0, -1.0];
        let both: Vec<f64> = a.iter().zip(&b).map(|(a, b)| 5.0 + a + b).collect();
        // Uncorrelated: a half each. A multiple: one component.
        assert_eq!(principal_components(&[a.clone(), b.clone()]), [0.5, 0.5]);
        let twice: Vec<f64> = a.iter().map(|a| 7.0 - 2.0 * a).collect();
        let one = principal_components(&[a.clone(), twice]);
        assert!((one[0] - 1.0).abs() < 1e-12 && one[1] < 1e-12, "{one:?}");
        // Correlations 0, 1/√2, 1/√2: eigenvalues 2, 1, 0.
        let three = principal_components(&[a, b, both]);
        for (ours, known) in three.iter().zip([2.0 / 3.0, 1.0 / 3.0, 0.0]) {
            assert!((ours - known).abs() < 1e-12, "{three:?}");
        }
    }

    #[test]
    fn what_does_not_vary_has_none() {
        assert!(principal_components(&[vec![1.0, 2.0]]).is_empty());
        assert!(principal_components(&[vec![1.0, 2.0], vec![3.0, 3.0]]).is_empty());
        assert!(principal_components(&[vec![1.0, 2.0], vec![1.0, 2.0, 3.0]]).is_empty());
    }
}
