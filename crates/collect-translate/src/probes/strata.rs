//! Which accesses are sampled.
//!
//! The accesses of one kind by one thread in one block form a sequence: execution e makes those numbered e * n to e *
//! n + n - 1. The same holds for the iterations of a repeated instruction, and for the active lanes of an instruction
//! that accesses each individually. The sequence is cut into strata of one period each, and one access is drawn
//! uniformly in each stratum. So every access has the probability 1 / period, sampling does not stay in step with any
//! rhythm of the program, and the number of samples is never off by more than one per thread, sequence and kind.
//! (Stratified sampling: Cochran, Sampling Techniques, chapter 5.)

/// One kind of access in one sequence of one thread.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stream {
    /// The number of the next access to sample.
    next: u64,
}

/// There is no next sample.
pub const NEVER: u64 = u64::MAX;

impl Stream {
    /// A stream whose next sample is this access.
    pub const fn at(next: u64) -> Self {
        Self { next }
    }

    /// The number of the access to sample next.
    pub const fn next(&self) -> u64 {
        self.next
    }

    /// The first sample. `random(n)`: uniform in 0..n. `period` 0: no samples.
    pub fn begin(period: u64, random: &mut impl FnMut(u64) -> u64) -> Self {
        Self { next: if period == 0 { NEVER } else { random(period) } }
    }

    /// The unit (execution, iteration or lane) with the next sample, from 0. `accesses`: the number of this kind in
    /// one unit.
    pub fn unit(&self, accesses: u32) -> u64 {
        match accesses {
            0 => NEVER,
            _ if self.next == NEVER => NEVER,
            n => self.next / u64::from(n),
        }
    }

    /// Takes the next sample, if it lies before the unit `end`: returns its unit and which access of the unit it is;
    /// the stream moves on.
    pub fn take(
        &mut self,
        end: u64,
        accesses: u32,
        period: u64,
        random: &mut impl FnMut(u64) -> u64,
    ) -> Option<(u64, u32)> {
        let unit = self.unit(accesses);
        if unit >= end || unit == NEVER {
            return None;
        }
        if period == 0 {
            self.next = NEVER;
            return None;
        }
        let taken = (self.next % u64::from(accesses)) as u32;
        let stratum = self.next / period + 1;
        self.next = stratum.saturating_mul(period).saturating_add(random(period));
        Some((unit, taken))
    }

    /// Skips the samples before the unit `end`.
    pub fn skip(&mut self, end: u64, accesses: u32, period: u64, random: &mut impl FnMut(u64) -> u64) {
        if period == 0 {
            self.next = NEVER;
        } else if self.unit(accesses) < end {
            let stratum = end.saturating_mul(u64::from(accesses)) / period + 1;
            self.next = stratum.saturating_mul(period).saturating_add(random(period));
        }
    }
}

/// The accesses to sample in one execution of a block. A period is longer than a block's accesses of a kind, so an
/// execution overlaps at most two strata: at most two samples of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Due {
    key: [u8; Self::MOST],
    count: usize,
}

impl Due {
    /// The largest number of accesses in one execution.
    pub const MOST: usize = 4;

    const STORE: u8 = 0x80;

    /// Adds the nth load or store of the block.
    pub fn push(&mut self, nth: u32, store: bool) {
        if let Some(place) = self.key.get_mut(self.count) {
            // 0 means none, so they count from 1; a block has at most 64.
            *place = (nth as u8 + 1) | if store { Self::STORE } else { 0 };
            self.count += 1;
        }
    }

    /// The number of accesses.
    pub const fn count(&self) -> usize {
        self.count
    }

    /// Equal for equal accesses.
    pub const fn key(&self) -> [u8; Self::MOST] {
        self.key
    }

    /// Which of the loads, or of the stores if the flag is true.
    pub fn accesses(&self) -> impl Iterator<Item = (u32, bool)> {
        self.key
            .into_iter()
            .take(self.count)
            .map(|code| (u32::from(code & !Self::STORE) - 1, code & Self::STORE != 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn generator(mut seed: u64) -> impl FnMut(u64) -> u64 {
        move |n| {
            seed = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mixed = (seed ^ seed >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            ((u128::from(mixed ^ mixed >> 27) * u128::from(n)) >> 64) as u64
        }
    }

    proptest! {
        /// Strata of `period` accesses, one sample in each: as many samples as whole strata, or one more.
        #[test]
        fn one_sample_per_period(period in 100u64..5000, accesses in 1u32..64, executions in 1u64..20000, seed: u64) {
            let mut random = generator(seed);
            let mut stream = Stream::begin(period, &mut random);
            let mut samples = 0;
            for execution in 0..executions {
                while let Some((unit, access)) = stream.take(execution + 1, accesses, period, &mut random) {
                    prop_assert!(unit == execution && access < accesses);
                    samples += 1;
                }
            }
            let whole = executions * u64::from(accesses) / period;
            prop_assert!(samples == whole || samples == whole + 1, "{samples} samples in {whole} strata");
        }
    }

    /// The mode has changed to one without samples of this kind, while a block still counts down for the mode before.
    #[test]
    fn a_period_of_zero_ends_the_samples() {
        let mut random = generator(1);
        let begun = Stream::begin(100, &mut random);
        let (mut taken, mut skipped) = (begun, begun);
        assert_eq!(taken.take(1000, 1, 0, &mut random), None);
        skipped.skip(1000, 1, 0, &mut random);
        assert_eq!((taken.unit(1), skipped.unit(1)), (NEVER, NEVER));
    }

    /// 6 accesses, a period that is a multiple of 6: a sampler that counts would always pick the same one. 60,000
    /// strata give 10,000 samples each; chi-square with 5 degrees of freedom stays under 20.5 with p = .999.
    #[test]
    fn equal_accesses_are_sampled_equally() {
        let (period, accesses) = (600, 6);
        let mut random = generator(1);
        let mut stream = Stream::begin(period, &mut random);
        let mut seen = [0f64; 6];
        for execution in 0..6_000_000 {
            while let Some((_, access)) = stream.take(execution + 1, accesses, period, &mut random) {
                seen[access as usize] += 1.0;
            }
        }
        assert_eq!(seen.iter().sum::<f64>(), 60_000.0);
        let chi_square: f64 = seen.iter().map(|n| (n - 10_000.0).powi(2) / 10_000.0).sum();
        assert!(chi_square < 20.5, "{seen:?}: {chi_square}");
    }

    /// Iterations come in runs of any length: the boundaries between runs do not affect which are sampled.
    #[test]
    fn runs_of_units_are_cut_anywhere() {
        let (period, accesses, units) = (100, 2, 100_000);
        let drawn = |length: u64| {
            let mut random = generator(3);
            let mut stream = Stream::begin(period, &mut random);
            let mut drawn = Vec::new();
            for end in (0..=units).step_by(length as usize) {
                while let Some(found) = stream.take(end, accesses, period, &mut random) {
                    drawn.push(found);
                }
            }
            drawn
        };
        let one_by_one = drawn(1);
        // 200,000 accesses are 2000 strata.
        assert_eq!(one_by_one.len(), 2000);
        assert_eq!(drawn(8), one_by_one);
        assert_eq!(drawn(5000), one_by_one);
    }

    #[test]
    fn no_period_no_samples() {
        let mut random = generator(2);
        let mut none = Stream::begin(0, &mut random);
        assert_eq!((none.unit(3), none.take(NEVER, 3, 0, &mut random)), (NEVER, None));
        assert_eq!(Stream::begin(10, &mut random).unit(0), NEVER);
    }
}
