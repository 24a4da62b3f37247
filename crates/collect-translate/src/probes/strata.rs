//! Which accesses are sampled.
//!
//! The accesses of one kind by one thread in one block form a sequence: execution e makes those numbered e * n to e *
//! n + n - 1. The same holds for the iterations of a repeated instruction, and for the active lanes of an instruction
//! that accesses each individually. The sequence is cut into strata of one period each, and one access is drawn
//! uniformly in each stratum. So every access has the probability 1 / period, sampling does not stay in step with any
//! rhythm of the program, and the number of samples is never off by more than one per thread, sequence and kind.
//! (Stratified sampling: Cochran, Sampling Techniques, chapter 5.) The blocks of a superblock (`emit::superblocks`) form one sequence
//! together, in which an execution that leaves early has accesses that do not happen: then there are fewer samples than strata.
//!
//! The period may be doubled and halved while the program runs ([`double_periods`]). A stratum has a period's length from
//! its beginning to its end, and which one is decided before it begins: so every access of a stratum still has the
//! probability 1 / its period, and a sample that weighs as much as its own period makes every sum unbiased (Horvitz and
//! Thompson, J. Am. Stat. Assoc. 47, 1952). Strata begin at multiples of their length, so that it follows from one number:
//! no later one is longer than all before it together.

use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

use carom_base::{AccessKind, Sample};

/// How often the periods of strata that begin are doubled.
static DOUBLINGS: AtomicU8 = AtomicU8::new(0);

/// Doubles the periods of [`Mode::Sample`](crate::Mode::Sample) and [`Mode::Watch`](crate::Mode::Watch) this often, in
/// strata that begin from now on, in all threads. Signal-safe.
pub fn double_periods(doublings: u8) {
    // Written only where it changes, for all threads read it.
    if self::doublings() != doublings {
        DOUBLINGS.store(doublings.min(Sample::MOST_DOUBLINGS), Relaxed);
    }
}

/// How often they are doubled now.
pub fn doublings() -> u8 {
    DOUBLINGS.load(Relaxed)
}

/// The period of the strata of a sequence: `period`, doubled this often. 0: no samples.
#[derive(Clone, Copy, Debug)]
pub struct Length {
    pub period: u64,
    pub doublings: u8,
}

impl Length {
    /// A period that does not change.
    #[cfg(test)]
    const fn fixed(period: u64) -> Self {
        Self { period, doublings: 0 }
    }

    /// The accesses of one of its strata.
    pub fn accesses(self) -> u64 {
        self.period.saturating_mul(1 << self.doublings)
    }
}

/// One kind of access in one sequence of one thread.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stream {
    /// The number of the next access to sample.
    next: u64,
    /// How often the period of its stratum is doubled.
    doublings: u8,
}

/// There is no next sample.
pub const NEVER: u64 = u64::MAX;

impl Stream {
    /// A stream whose next sample is this access, in a stratum whose period is doubled this often.
    pub const fn at(next: u64, doublings: u8) -> Self {
        Self { next, doublings }
    }

    /// The number of the access to sample next.
    pub const fn next(&self) -> u64 {
        self.next
    }

    /// How often the period of its stratum is doubled.
    pub const fn doublings(&self) -> u8 {
        self.doublings
    }

    /// The first sample. `random(n)`: uniform in 0..n. A period of 0: no samples.
    pub fn begin(wanted: Length, random: &mut impl FnMut(u64) -> u64) -> Self {
        if wanted.period == 0 { Self::at(NEVER, 0) } else { Self::in_stratum(0, wanted, random) }
    }

    /// Draws the next sample from the stratum that begins at this access, which is the longest that may begin there and is
    /// not longer than `wanted`.
    fn in_stratum(begin: u64, wanted: Length, random: &mut impl FnMut(u64) -> u64) -> Self {
        let multiple = (begin / wanted.period).trailing_zeros();
        let doublings = wanted.doublings.min(multiple as u8);
        let length = Length { doublings, ..wanted }.accesses();
        Self { next: begin.saturating_add(random(length)), doublings }
    }

    /// Draws from the first stratum that begins after this access. `wanted`: as above.
    fn move_on(&mut self, access: u64, wanted: Length, random: &mut impl FnMut(u64) -> u64) {
        let length = Length { doublings: self.doublings, ..wanted }.accesses();
        let begin = (access / length + 1).saturating_mul(length);
        *self = Self::in_stratum(begin, wanted, random);
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

    /// Takes the next sample, if it lies before the unit `end`: returns its unit, which access of the unit it is, and how
    /// often its period is doubled; the stream moves on. `wanted`: of the strata that begin from now on.
    pub fn take(
        &mut self,
        end: u64,
        accesses: u32,
        wanted: Length,
        random: &mut impl FnMut(u64) -> u64,
    ) -> Option<(u64, u32, u8)> {
        let unit = self.unit(accesses);
        if unit >= end || unit == NEVER {
            return None;
        }
        if wanted.period == 0 {
            self.next = NEVER;
            return None;
        }
        let taken = (unit, (self.next % u64::from(accesses)) as u32, self.doublings);
        self.move_on(self.next, wanted, random);
        Some(taken)
    }

    /// Skips the samples before the unit `end`.
    pub fn skip(&mut self, end: u64, accesses: u32, wanted: Length, random: &mut impl FnMut(u64) -> u64) {
        if wanted.period == 0 {
            self.next = NEVER;
        } else if self.unit(accesses) < end {
            self.move_on(end.saturating_mul(u64::from(accesses)), wanted, random);
        }
    }
}

/// How an access came to be sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DrawnAs {
    /// The kind as which it was drawn: a read-modify-write may be a load or a store.
    pub kind: AccessKind,
    /// How often its period was doubled ([`double_periods`]).
    pub doublings: u8,
}

/// The accesses to sample in one execution of a block. A period is longer than a block's accesses of a kind, so an
/// execution overlaps at most two strata: at most two samples of each kind.
#[derive(Clone, Copy, Debug, Default)]
pub struct Due {
    key: [u8; Self::MOST],
    doublings: [u8; Self::MOST],
    count: usize,
}

impl Due {
    /// The largest number of accesses in one execution.
    pub const MOST: usize = 4;

    const STORE: u8 = 0x80;

    /// Adds the nth load or store of the block, whose period is doubled this often.
    pub fn push(&mut self, nth: u32, store: bool, doublings: u8) {
        if let (Some(key), Some(of)) = (self.key.get_mut(self.count), self.doublings.get_mut(self.count)) {
            // 0 means none, so they count from 1; a block has at most 64.
            *key = (nth as u8 + 1) | if store { Self::STORE } else { 0 };
            *of = doublings;
            self.count += 1;
        }
    }

    /// The number of accesses.
    pub const fn count(&self) -> usize {
        self.count
    }

    /// How often the periods of these accesses are doubled, in their order.
    pub fn doublings(&self) -> impl Iterator<Item = u8> {
        self.doublings.into_iter().take(self.count)
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
            let length = Length::fixed(period);
            let mut stream = Stream::begin(length, &mut random);
            let mut samples = 0;
            for execution in 0..executions {
                while let Some((unit, access, _)) = stream.take(execution + 1, accesses, length, &mut random) {
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
        let begun = Stream::begin(Length::fixed(100), &mut random);
        let (mut taken, mut skipped) = (begun, begun);
        assert_eq!(taken.take(1000, 1, Length::fixed(0), &mut random), None);
        skipped.skip(1000, 1, Length::fixed(0), &mut random);
        assert_eq!((taken.unit(1), skipped.unit(1)), (NEVER, NEVER));
    }

    /// 6 accesses, a period that is a multiple of 6: a sampler that counts would always pick the same one. 60,000
    /// strata give 10,000 samples each; chi-square with 5 degrees of freedom stays under 20.5 with p = .999.
    #[test]
    fn equal_accesses_are_sampled_equally() {
        let (period, accesses) = (600, 6);
        let mut random = generator(1);
        let length = Length::fixed(period);
        let mut stream = Stream::begin(length, &mut random);
        let mut seen = [0f64; 6];
        for execution in 0..6_000_000 {
            while let Some((_, access, _)) = stream.take(execution + 1, accesses, length, &mut random) {
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
            let mut stream = Stream::begin(Length::fixed(period), &mut random);
            let mut drawn = Vec::new();
            for end in (0..=units).step_by(length as usize) {
                while let Some(found) = stream.take(end, accesses, Length::fixed(period), &mut random) {
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

    /// The period changes at any time. Each stratum of base periods 0, 1, 2, … has its sample, so weights add up to the
    /// number of accesses, but for the last stratum; a stratum begins at a multiple of its length, and is no longer than
    /// was wanted when it began.
    #[test]
    fn weights_add_up_while_the_period_changes() {
        let period = 100;
        let mut random = generator(5);
        let mut wish = generator(6);
        let mut wanted = Length { period, doublings: 2 };
        let mut stream = Stream::begin(wanted, &mut random);
        let (mut end, mut lengths) = (0, [0u32; 5]);
        for execution in 0..1_000_000 {
            while let Some((unit, access, doublings)) = stream.take(execution + 1, 3, wanted, &mut random) {
                let (at, length) = (unit * 3 + u64::from(access), period << doublings);
                assert!(end % length == 0 && (end..end + length).contains(&at), "{at} from {end} on");
                end += length;
                lengths[usize::from(doublings)] += 1;
                wanted.doublings = wish(5) as u8;
            }
        }
        assert!((3_000_000..3_000_000 + (period << 4)).contains(&(end + (period << stream.doublings()))));
        assert!(lengths.iter().all(|seen| *seen > 100), "{lengths:?}");
    }

    /// Accesses of two kinds take turns, and the period is doubled and halved by what was sampled last, as a cost would do
    /// it: weights still make each half of the whole. The standard deviation of the sum is below 100 * sqrt(2^4 / 2 * n)
    /// with n strata of base periods: 4 of them.
    #[test]
    fn periods_that_depend_on_samples_favour_none() {
        let (period, accesses) = (100u64, 2);
        let mut random = generator(7);
        let mut wanted = Length { period, doublings: 0 };
        let mut stream = Stream::begin(wanted, &mut random);
        let (executions, mut weights) = (3_000_000u64, [0f64; 2]);
        for execution in 0..executions {
            while let Some((_, access, doublings)) = stream.take(execution + 1, accesses, wanted, &mut random)
            {
                weights[access as usize] += (period << doublings) as f64;
                wanted.doublings = if access == 0 {
                    (wanted.doublings + 1).min(4)
                } else {
                    wanted.doublings.saturating_sub(1)
                };
            }
        }
        let strata = (executions * u64::from(accesses) / period) as f64;
        let bound = 4.0 * period as f64 * (8.0 * strata).sqrt();
        assert!((weights[0] - executions as f64).abs() < bound, "{weights:?}, {bound}");
    }

    #[test]
    fn no_period_no_samples() {
        let mut random = generator(2);
        let mut none = Stream::begin(Length::fixed(0), &mut random);
        assert_eq!((none.unit(3), none.take(NEVER, 3, Length::fixed(0), &mut random)), (NEVER, None));
        assert_eq!(Stream::begin(Length::fixed(10), &mut random).unit(0), NEVER);
    }
}
