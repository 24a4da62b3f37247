//! The possible error of a sampled curve.

use super::histogram::UNIT;

/// The number of groups to which the followed places are dealt.
const GROUPS: usize = 16;

/// The number of sizes that are considered: powers of two.
const SIZES: usize = u64::BITS as usize + 1;

/// The error of an estimate from some of the places.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SamplingError {
    /// The fraction of the places that is followed (at the end, if it has decreased).
    pub rate: f64,
    /// All touches.
    pub touches: u64,
    /// Touches of places that were followed.
    pub sampled: u64,
    /// The standard error of the miss ratio of an LRU cache, at the power-of-two size where it is largest.
    pub standard_error: f64,
}

/// Random groups (Wolter, *Introduction to Variance Estimation*, chapter 2): each of 16 groups of places gives the
/// curve independently, and their differences show the error of their sum.
#[derive(Clone, Debug)]
pub(super) struct RandomGroups {
    /// By group and number of bits of the distance; touches that miss at any size are in the last.
    weights: Box<[[u64; SIZES + 1]; GROUPS]>,
    pub sampled: u64,
}

impl RandomGroups {
    pub fn new() -> Self {
        Self { weights: Box::new([[0; SIZES + 1]; GROUPS]), sampled: 0 }
    }

    /// Adds a touch of a place with this hash; `None`: a first or invalidated one.
    pub fn add(&mut self, hash: u64, distance: Option<u64>, weight: u64) {
        let size = distance.map_or(SIZES, |distance| (u64::BITS - distance.leading_zeros()) as usize);
        // The upper bits decide whether the place is followed.
        self.weights[hash as usize % GROUPS][size] += weight;
        self.sampled += 1;
    }

    pub fn error(&self, rate: f64, touches: u64) -> SamplingError {
        let standard_error =
            (1..=SIZES).map(|size| self.variance(size).max(0.0) * (1.0 - rate)).fold(0.0, f64::max).sqrt()
                / (touches.max(1) as f64);
        SamplingError { rate, touches, sampled: self.sampled, standard_error }
    }

    /// The variance of the estimated number of misses in a cache of 2^(size-1) places.
    fn variance(&self, size: usize) -> f64 {
        let misses = self.weights.each_ref().map(|group| {
            let sum = group.get(size..).unwrap_or_default().iter().sum::<u64>();
            sum as f64 / UNIT as f64
        });
        let groups = GROUPS as f64;
        let mean = misses.iter().sum::<f64>() / groups;
        let squares: f64 = misses.iter().map(|group| (group - mean).powi(2)).sum();
        groups / (groups - 1.0) * squares
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Groups 0 to 14 miss 10 times, group 15 misses 26 times: mean 11, squares 15 * 1 + 225 = 240, times 16/15: 256, so
    /// 16 misses of standard error, times sqrt(1 - 0.75) = 8, in 800 touches 0.01.
    #[test]
    fn a_standard_error_by_hand() {
        let mut groups = RandomGroups::new();
        for hash in 0..16 {
            for _ in 0..if hash == 15 { 26 } else { 10 } {
                groups.add(hash, None, UNIT);
            }
        }
        let error = groups.error(0.75, 800);
        assert!((error.standard_error - 0.01).abs() < 1e-12, "{error:?}");
        assert_eq!(error.sampled, 176);
    }
}
