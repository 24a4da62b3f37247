//! Which accesses are sampled.

use carom_base::AccessKind;

/// Which accesses a detector gets as samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sampling {
    /// Every access.
    Every,
    /// One access in each run of `every` loads of a thread, and likewise of its writes, drawn at random.
    Period {
        /// The length of a run, at least 1.
        accesses: u64,
        /// The seed.
        seed: u64,
    },
}

/// The samples of one thread.
#[derive(Clone, Debug)]
pub struct Sampler {
    period: u64,
    random: Random,
    loads: Run,
    writes: Run,
}

/// A run of accesses of which one is sampled.
#[derive(Clone, Copy, Debug, Default)]
struct Run {
    /// Accesses of the run that are left.
    left: u64,
    /// How many are left when the next one is the sample.
    sample_at: u64,
}

impl Sampler {
    /// For the thread with this number.
    pub fn new(sampling: Sampling, thread: u64) -> Self {
        let (period, seed) = match sampling {
            Sampling::Every => (1, 0),
            Sampling::Period { accesses, seed } => (accesses.max(1), seed),
        };
        let random = Random(seed ^ thread.wrapping_mul(Random::STEP));
        Self { period, random, loads: Run::default(), writes: Run::default() }
    }

    /// Whether the thread's next access, which has this kind, is a sample.
    pub fn is_sample(&mut self, kind: AccessKind) -> bool {
        let run = if kind.writes() { &mut self.writes } else { &mut self.loads };
        if run.left == 0 {
            *run = Run { left: self.period, sample_at: 1 + self.random.next() % self.period };
        }
        let is_sample = run.left == run.sample_at;
        run.left -= 1;
        is_sample
    }

    /// 64 random bits, for the user of a sample.
    pub fn random(&mut self) -> u64 {
        self.random.next()
    }
}

/// splitmix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
#[derive(Clone, Debug)]
struct Random(u64);

impl Random {
    const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(Self::STEP);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1000 loads, each followed by a store: one of each kind in each run of 10, at all positions.
    #[test]
    fn each_run_has_one_sample() {
        let mut sampler = Sampler::new(Sampling::Period { accesses: 10, seed: 1 }, 0);
        for kind in [AccessKind::Load, AccessKind::Store] {
            let sampled: Vec<bool> = (0..1000).map(|_| sampler.is_sample(kind)).collect();
            let mut places = [0; 10];
            for run in sampled.chunks(10) {
                assert_eq!(run.iter().filter(|sampled| **sampled).count(), 1);
                places[run.iter().position(|sampled| *sampled).unwrap()] += 1;
            }
            // The probability that none of 100 draws hits a position is 0.9^100, which is 3e-5.
            assert!(places.iter().all(|count| *count > 0), "{places:?}");
        }
    }

    #[test]
    fn every_access_can_be_a_sample() {
        let mut sampler = Sampler::new(Sampling::Every, 3);
        assert!((0..10).all(|_| sampler.is_sample(AccessKind::Load)));
    }
}
