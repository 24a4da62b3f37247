/// The mean and the sample variance of some values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moments {
    /// How many values.
    pub n: usize,
    /// Their mean.
    pub mean: f64,
    /// Their variance, with n - 1 in the denominator; 0 for a single value.
    pub variance: f64,
}

impl Moments {
    /// `None` without values, and where one is not finite.
    pub fn of(values: &[f64]) -> Option<Self> {
        let n = values.len();
        if n == 0 || values.iter().any(|value| !value.is_finite()) {
            return None;
        }
        // From the first value on, so that the mean of equal values is exactly that value.
        let origin = values.first()?;
        let mean = origin + values.iter().map(|value| value - origin).sum::<f64>() / n as f64;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        Some(Self { n, mean, variance: squares / (n - 1).max(1) as f64 })
    }

    /// The variance of the mean.
    pub fn of_mean(&self) -> f64 {
        self.variance / self.n as f64
    }

    /// The standard deviation.
    pub fn deviation(&self) -> f64 {
        self.variance.sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_have_no_variance() {
        // 0.1 has no exact sum, and yet its mean is 0.1.
        let moments = Moments::of(&[0.1; 7]).unwrap();
        assert_eq!((moments.mean, moments.variance), (0.1, 0.0));
        assert_eq!(Moments::of(&[3.0]).unwrap().variance, 0.0);
    }

    #[test]
    fn large_numbers_keep_their_spread() {
        // Deviations -1, 0, 1 around 10^15: variance 2 / 2.
        let moments = Moments::of(&[1e15 - 1.0, 1e15, 1e15 + 1.0]).unwrap();
        assert_eq!((moments.mean, moments.variance), (1e15, 1.0));
        assert_eq!((Moments::of(&[]), Moments::of(&[f64::NAN])), (None, None));
    }
}
