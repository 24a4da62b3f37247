//! The same product in two orders.

/// c = a * b for square matrices of `size` rows, as the definition says: row by row, column by column.
///
/// Every element of `c` runs down a column of `b`, a line for each element, and every row of `c` comes back to all of
/// `b`.
#[inline(never)]
pub fn multiply_naive(a: &[f64], b: &[f64], c: &mut [f64], size: usize) {
    for i in 0..size {
        for j in 0..size {
            let mut sum = 0.0;
            for k in 0..size {
                sum += a[i * size + k] * b[k * size + j];
            }
            c[i * size + j] = sum;
        }
    }
}

/// c += a * b, a tile of `tile` rows and columns of each at a time: what is used again soon fits into three tiles.
#[inline(never)]
pub fn multiply_tiled(a: &[f64], b: &[f64], c: &mut [f64], size: usize, tile: usize) {
    for first_i in (0..size).step_by(tile) {
        for first_j in (0..size).step_by(tile) {
            for first_k in (0..size).step_by(tile) {
                for i in first_i..size.min(first_i + tile) {
                    for j in first_j..size.min(first_j + tile) {
                        let mut sum = c[i * size + j];
                        for k in first_k..size.min(first_k + tile) {
                            sum += a[i * size + k] * b[k * size + j];
                        }
                        c[i * size + j] = sum;
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// [1 2 3; 4 5 6; 7 8 9] squared: the first element is 1*1 + 2*4 + 3*7 = 30.
    #[test]
    fn a_product_by_hand() {
        let a: Vec<f64> = (1..=9).map(f64::from).collect();
        let square = [30.0, 36.0, 42.0, 66.0, 81.0, 96.0, 102.0, 126.0, 150.0];
        let mut c = vec![0.0; 9];
        multiply_naive(&a, &a, &mut c, 3);
        assert_eq!(c, square);
        for tile in 1..=4 {
            let mut c = vec![0.0; 9];
            multiply_tiled(&a, &a, &mut c, 3, tile);
            assert_eq!(c, square, "{tile}");
        }
    }
}
