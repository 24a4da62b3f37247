//! Systems of a few linear equations.

/// A symmetric matrix by rows.
pub type Matrix = Vec<Vec<f64>>;

/// JᵀJ of the rows of J.
pub fn products(rows: &[Vec<f64>]) -> Matrix {
    let size = rows.first().map_or(0, Vec::len);
    (0..size).map(|i| (0..size).map(|j| rows.iter().map(|row| row[i] * row[j]).sum()).collect()).collect()
}

/// Jᵀv.
pub fn against(rows: &[Vec<f64>], v: &[f64]) -> Vec<f64> {
    let size = rows.first().map_or(0, Vec::len);
    (0..size).map(|i| rows.iter().zip(v).map(|(row, v)| row[i] * v).sum()).collect()
}

/// The inverse by Gauss and Jordan's elimination with pivots; `None` where there is none.
pub fn invert(matrix: &Matrix) -> Option<Matrix> {
    /// Pivots below this part of the largest element are rounding.
    const SINGULAR: f64 = 1e-14;
    let size = matrix.len();
    let largest = matrix.iter().flatten().fold(0.0_f64, |most, value| most.max(value.abs()));
    let mut left = matrix.clone();
    let mut right: Matrix =
        (0..size).map(|i| (0..size).map(|j| f64::from(u8::from(i == j))).collect()).collect();
    for column in 0..size {
        let pivot =
            (column..size).max_by(|a, b| left[*a][column].abs().total_cmp(&left[*b][column].abs()))?;
        left.swap(column, pivot);
        right.swap(column, pivot);
        let value = left[column][column];
        if value.abs() <= SINGULAR * largest || !value.is_finite() {
            return None;
        }
        for matrix in [&mut left, &mut right] {
            matrix[column].iter_mut().for_each(|each| *each /= value);
        }
        let (from_left, from_right) = (left[column].clone(), right[column].clone());
        for row in (0..size).filter(|row| *row != column) {
            let factor = left[row][column];
            left[row].iter_mut().zip(&from_left).for_each(|(to, from)| *to -= factor * from);
            right[row].iter_mut().zip(&from_right).for_each(|(to, from)| *to -= factor * from);
        }
    }
    Some(right)
}

/// The coefficients of least squares with (JᵀJ)⁻¹: the normal equations, once more for their residue. `None` where the columns of
/// J depend on each other.
pub fn least_squares(rows: &[Vec<f64>], y: &[f64]) -> Option<(Vec<f64>, Matrix)> {
    let inverse = invert(&products(rows))?;
    let mut solved = times(&inverse, &against(rows, y));
    for _ in 0..2 {
        let residue: Vec<f64> = rows.iter().zip(y).map(|(row, y)| y - dot(row, &solved)).collect();
        let step = times(&inverse, &against(rows, &residue));
        solved.iter_mut().zip(step).for_each(|(value, step)| *value += step);
    }
    Some((solved, inverse))
}

/// The product of two vectors.
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The product of a matrix and a vector.
pub fn times(matrix: &Matrix, vector: &[f64]) -> Vec<f64> {
    matrix.iter().map(|row| row.iter().zip(vector).map(|(a, b)| a * b).sum()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inverse_undoes() {
        let matrix = vec![vec![0.0, 2.0, 1.0], vec![2.0, 1.0, 0.0], vec![1.0, 0.0, 3.0]];
        let inverse = invert(&matrix).unwrap();
        let back = times(&inverse, &times(&matrix, &[1.0, -2.0, 3.0]));
        assert!(back.iter().zip([1.0, -2.0, 3.0]).all(|(a, b)| (a - b).abs() < 1e-12), "{back:?}");
        assert_eq!(invert(&vec![vec![1.0, 2.0], vec![2.0, 4.0]]), None);
    }
}
