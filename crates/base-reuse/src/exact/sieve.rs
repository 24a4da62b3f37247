//! Which places are followed: SHARDS (Waldspurger, Park, Garthwaite, Ahmad: "Efficient MRC construction with SHARDS",
//! FAST 2015).

use super::{config::Sampling, histogram::UNIT};

/// Which part of the places stays when there are too many. The paper takes out one place at a time, by a queue of their
/// hashes; a tenth at once needs no queue, and the places followed are between nine tenths of the limit and all of it.
const KEPT: f64 = 0.9;

/// From the fraction of the square root of 2: independent of the tables' hash, which would else see only a part of its
/// range.
const MULTIPLIER: u64 = 0x6A09_E667_F3BC_C909;

/// Chooses places by their hash, the same ones for all stacks of a layer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sieve {
    /// Hashes up to this pass.
    threshold: u64,
    /// How many places may be followed.
    limit: usize,
}

impl Sieve {
    pub fn new(sampling: Sampling) -> Self {
        match sampling {
            Sampling::All => Self { threshold: u64::MAX, limit: usize::MAX },
            // Saturates.
            Sampling::Rate(rate) => Self { threshold: (rate * 2f64.powi(64)) as u64, limit: usize::MAX },
            Sampling::Places(limit) => Self { threshold: u64::MAX, limit },
        }
    }

    /// The hash of a [sampling unit](super::grid::Grid::sampling_unit).
    #[inline(always)]
    pub fn hash(unit: u64) -> u64 {
        let product = u128::from(unit ^ MULTIPLIER) * u128::from(MULTIPLIER);
        product as u64 ^ (product >> u64::BITS) as u64
    }

    /// Is it followed?
    #[inline(always)]
    pub fn passes(self, hash: u64) -> bool {
        hash <= self.threshold
    }

    /// The part of the places that is followed.
    pub fn rate(self) -> f64 {
        if self.threshold == u64::MAX { 1.0 } else { self.threshold as f64 / 2f64.powi(64) }
    }

    /// What a followed touch stands for, in units of [`UNIT`].
    pub fn weight(self) -> u64 {
        (UNIT as f64 / self.rate()) as u64
    }

    /// With so many places followed, must some go? Then they no longer pass.
    pub fn tighten(&mut self, places: usize) -> bool {
        if places <= self.limit {
            return false;
        }
        let excess = self.limit as f64 / places as f64;
        self.threshold = (self.threshold as f64 * (excess * KEPT)) as u64;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of 100,000 neighbouring places, and of as many a page apart, 1% is 1000; the standard deviation is 31.
    #[test]
    fn a_rate_is_kept_for_any_stride() {
        let sieve = Sieve::new(Sampling::Rate(0.01));
        for stride in [1, 64, 4096] {
            let passed = (0..100_000).filter(|nth| sieve.passes(Sieve::hash(nth * stride))).count();
            assert!((850..1150).contains(&passed), "{passed} at a stride of {stride}");
        }
        assert_eq!((sieve.rate() * 1e6).round(), 10_000.0);
        assert_eq!(sieve.weight() / UNIT, 100);
        assert_eq!(Sieve::new(Sampling::Rate(1.0)).weight(), UNIT);
    }

    #[test]
    fn a_full_sieve_tightens() {
        let mut sieve = Sieve::new(Sampling::Places(100));
        assert!(!sieve.tighten(100) && sieve.rate() == 1.0);
        assert!(sieve.tighten(101));
        // 100 / 101 * 0.9 = 0.891.
        assert_eq!((sieve.rate() * 1000.0).round(), 891.0);
    }
}
