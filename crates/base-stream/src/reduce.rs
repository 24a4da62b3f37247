//! Which accesses of a thread a reduced trace keeps.

use carom_base::{AccessKind, Keep, Reduction};

/// The paper's hardware tracks one load at a time, and chooses it at random: of loads that all miss, about 10% were
/// captured at the highest rate (Marathe, Mueller and de Supinski, section 3.1.2). It gives no other number. Here a free
/// tracker takes one access in [`TRACKED_IN`], and one that qualifies keeps it busy for the next [`BUSY_FOR`]: of
/// accesses that all qualify, it captures one in 10; of rare ones, one in 8.
const TRACKED_IN: u32 = 8;
const BUSY_FOR: u32 = 2;

/// Decides for the accesses of one thread, in their order.
///
/// Of each `sample` accesses that qualify exactly one is kept, drawn uniformly. The paper's hardware keeps every
/// `sample`-th, of accesses that it has drawn at random before; without that, loops would keep step with it.
///
/// ```
/// use carom_base::{AccessKind, Keep, Reduction};
/// use carom_base_stream::Sieve;
///
/// let keep = Keep::Lossy { sample: 4, itanium: false };
/// let mut sieve = Sieve::new(Reduction { latency: 40, keep }, 1);
/// let kept = (0..400).filter(|_| sieve.load(AccessKind::Load, 41)).count();
/// assert_eq!(kept, 100);
/// assert!((0..400).all(|_| !sieve.load(AccessKind::Load, 40)));
/// ```
#[derive(Clone, Debug)]
pub struct Sieve {
    reduction: Reduction,
    random: u64,
    /// Qualifying accesses of the current stretch that are to come, and the number of those behind the one that is kept.
    left: u32,
    kept_at: u32,
    /// Accesses for which the tracker is still busy.
    busy: u32,
}

impl Sieve {
    /// `seed`: of the draws.
    pub const fn new(reduction: Reduction, seed: u64) -> Self {
        // The generator must not begin at zero, nor alike for seeds that are close.
        let random = (seed ^ 0x9e37_79b9_7f4a_7c15).wrapping_mul(0xbf58_476d_1ce4_e5b9) | 1;
        Self { reduction, random, left: 0, kept_at: 0, busy: 0 }
    }

    /// Whether a load that took `ticks` is kept, or a read-modify-write.
    pub fn load(&mut self, kind: AccessKind, ticks: u32) -> bool {
        let long = ticks > self.reduction.latency;
        match self.reduction.keep {
            Keep::Lossy { sample, itanium } => self.lossy(long || kind.writes(), sample, itanium),
            Keep::Targeted { stores } => long || kind.writes() && self.drawn(stores),
            Keep::Loads => long,
        }
    }

    /// Whether a store is kept, or a read-modify-write that was not timed.
    pub fn store(&mut self) -> bool {
        match self.reduction.keep {
            Keep::Lossy { sample, itanium } => self.lossy(true, sample, itanium),
            Keep::Targeted { stores } => self.drawn(stores),
            Keep::Loads => false,
        }
    }

    fn lossy(&mut self, qualifies: bool, sample: u32, itanium: bool) -> bool {
        let qualifies = if itanium { self.tracked(qualifies) } else { qualifies };
        qualifies && self.one_in(sample)
    }

    /// Whether the tracker captures an access.
    fn tracked(&mut self, qualifies: bool) -> bool {
        if self.busy > 0 {
            self.busy -= 1;
            return false;
        }
        let captured = self.below(TRACKED_IN) == 0 && qualifies;
        if captured {
            self.busy = BUSY_FOR;
        }
        captured
    }

    /// Counts an access that qualifies. True for one of each `sample`.
    fn one_in(&mut self, sample: u32) -> bool {
        if self.left == 0 {
            self.left = sample.max(1);
            self.kept_at = self.below(self.left);
        }
        self.left -= 1;
        self.left == self.kept_at
    }

    fn drawn(&mut self, probability: f64) -> bool {
        /// 2 to the power of 32.
        const ALL: f64 = 4_294_967_296.0;
        probability >= 1.0 || f64::from(self.next()) < probability * ALL
    }

    /// A number below `bound`.
    fn below(&mut self, bound: u32) -> u32 {
        ((u64::from(self.next()) * u64::from(bound)) >> u32::BITS) as u32
    }

    /// xorshift64* (Vigna, "An experimental exploration of Marsaglia's xorshift generators, scrambled", 2016).
    fn next(&mut self) -> u32 {
        self.random ^= self.random >> 12;
        self.random ^= self.random << 25;
        self.random ^= self.random >> 27;
        (self.random.wrapping_mul(0x2545_f491_4f6c_dd1d) >> u32::BITS) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use AccessKind::{Load, ReadModifyWrite};

    const LATENCY: u32 = 100;

    fn sieve(keep: Keep) -> Sieve {
        Sieve::new(Reduction { latency: LATENCY, keep }, 7)
    }

    fn kept(times: usize, mut access: impl FnMut() -> bool) -> usize {
        (0..times).filter(|_| access()).count()
    }

    /// Half a million long loads and as many stores in turn, of which one in N is kept; loads must not always lose to
    /// stores.
    #[test]
    fn a_lossy_trace_keeps_one_in_n_of_both() {
        for sample in [1, 2, 3, 8, 100] {
            let mut sieve = sieve(Keep::Lossy { sample, itanium: false });
            let (mut loads, mut stores) = (0, 0);
            for _ in 0..500_000 {
                loads += u32::from(sieve.load(Load, LATENCY + 1));
                stores += u32::from(sieve.store());
                assert!(!sieve.load(Load, LATENCY));
            }
            assert_eq!(loads + stores, 1_000_000 / sample, "{sample}");
            let expected = 500_000 / sample;
            assert!(loads.abs_diff(expected) <= expected / 20, "{sample}: {loads} of {expected}");
        }
    }

    /// Five standard deviations of the binomial distribution.
    fn is_near(count: usize, of: usize, probability: f64) -> bool {
        let (expected, of) = (of as f64 * probability, of as f64);
        (count as f64 - expected).abs() <= 5.0 * (of * probability * (1.0 - probability)).sqrt()
    }

    #[test]
    fn a_targeted_trace_keeps_stores_by_chance_and_all_long_loads() {
        for probability in [1.0, 0.25, 0.1, 0.05, 0.0] {
            let mut sieve = sieve(Keep::Targeted { stores: probability });
            let stores = kept(1_000_000, || sieve.store());
            assert!(is_near(stores, 1_000_000, probability), "{probability}: {stores}");
            let short = kept(1_000_000, || sieve.load(ReadModifyWrite, LATENCY));
            assert!(is_near(short, 1_000_000, probability), "{probability}: {short}");
            assert_eq!(kept(1000, || sieve.load(Load, LATENCY + 1)), 1000);
            assert_eq!(kept(1000, || sieve.load(Load, LATENCY)), 0);
        }
    }

    /// 10% of accesses that all qualify, one in 8 of rare ones; stores too.
    #[test]
    fn the_tracker_loses_about_ninety_percent() {
        let keep = Keep::Lossy { sample: 1, itanium: true };
        let mut every = sieve(keep);
        let loads = kept(1_000_000, || every.load(Load, LATENCY + 1));
        assert!(is_near(loads, 1_000_000, 0.1), "{loads}");
        let mut rare = sieve(keep);
        let loads = kept(100_000, || {
            let found = rare.load(Load, LATENCY + 1);
            (0..20).for_each(|_| assert!(!rare.load(Load, LATENCY)));
            found
        });
        assert!(is_near(loads, 100_000, 0.125), "{loads}");
        let mut fourth = sieve(Keep::Lossy { sample: 4, itanium: true });
        let stores = kept(1_000_000, || fourth.store());
        assert!(is_near(stores, 1_000_000, 0.025), "{stores}");
    }

    #[test]
    fn candidates_are_long_loads() {
        let mut sieve = sieve(Keep::Loads);
        assert!(!sieve.store() && sieve.load(ReadModifyWrite, LATENCY + 1) && !sieve.load(Load, LATENCY));
    }

    #[test]
    fn threads_draw_differently() {
        let draws = |seed| {
            let keep = Keep::Targeted { stores: 0.5 };
            let mut sieve = Sieve::new(Reduction { latency: LATENCY, keep }, seed);
            (0..64).map(|_| sieve.store()).collect::<Vec<_>>()
        };
        assert_eq!(draws(3), draws(3));
        assert!(draws(0) != draws(1) && draws(1) != draws(2));
    }
}
