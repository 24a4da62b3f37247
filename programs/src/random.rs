//! Private, cheap random numbers: one multiplication and one addition in a register.

/// A 64-bit linear congruential generator with the multiplier and increment of Knuth's MMIX. Its upper bits
/// are good enough for coin flips; the lower ones are not, and are never used for any.
#[derive(Clone, Copy)]
pub struct Random(u64);

impl Random {
    /// The generator of one thread. Threads of one run and runs of different seeds start far apart: seed and
    /// thread number pass through SplitMix64's finaliser.
    pub fn new(seed: u64, thread: usize) -> Self {
        let mut z = seed.wrapping_add((thread as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        Self(z ^ (z >> 31))
    }

    /// The next number.
    #[inline(always)]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0
    }

    /// A number from 0 to `limit - 1`, each equally likely but for a part in 2^64 / `limit`.
    #[inline(always)]
    pub fn below(&mut self, limit: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(limit)) >> u64::BITS) as u64
    }
}

/// A probability, rounded to a multiple of 2^-32.
#[derive(Clone, Copy)]
pub struct Chance(u64);

/// How many values the upper half of a random number takes.
const HALF_VALUES: f64 = (1_u64 << 32) as f64;

impl Chance {
    /// The chance nearest to `fraction`, which lies in 0..=1.
    pub fn new(fraction: f64) -> Self {
        Self((fraction.clamp(0.0, 1.0) * HALF_VALUES).round() as u64)
    }

    /// Whether this random number is a hit. Never at chance 0, always at chance 1.
    #[inline(always)]
    pub fn hits(self, random: u64) -> bool {
        (random >> 32) < self.0
    }

    /// The probability after rounding.
    pub fn fraction(self) -> f64 {
        self.0 as f64 / HALF_VALUES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_are_certain() {
        assert!(!Chance::new(0.0).hits(0));
        assert!(Chance::new(1.0).hits(u64::MAX));
        assert!(!Chance::new(0.5).hits(1 << 63));
        assert!(Chance::new(0.5).hits((1 << 63) - 1));
    }

    #[test]
    fn numbers_below_a_limit_are_all_of_them() {
        let mut random = Random::new(1, 0);
        let mut met = [0; 5];
        (0..5000).for_each(|_| met[random.below(5) as usize] += 1);
        // 1000 each, with a standard deviation of sqrt(5000 * 1/5 * 4/5) = 28: five of them are 141.
        assert!(met.iter().all(|&times: &i32| (times - 1000).abs() < 141), "{met:?}");
        assert_eq!(random.below(1), 0);
    }

    #[test]
    fn threads_and_seeds_differ() {
        let first = |seed, thread| Random::new(seed, thread).next();
        assert_ne!(first(1, 0), first(1, 1));
        assert_ne!(first(1, 0), first(2, 0));
        assert_eq!(first(1, 0), first(1, 0));
    }
}
