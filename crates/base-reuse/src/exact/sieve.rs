//! Which places are followed: SHARDS (Waldspurger, Park, Garthwaite, Ahmad: "Efficient MRC construction with SHARDS",
//! FAST 2015).

use carom_base::{Access, AccessKind};

use super::{config::Sampling, grid::Grid, hash::folded, histogram::UNIT};

/// The fraction of the places that stays when there are too many. The paper removes one place at a time, by a queue
/// of their hashes. A tenth at once needs no queue, and the number of followed places is between nine tenths of the
/// limit and the limit.
const KEPT: f64 = 0.9;

/// From the fraction of the square root of 2: independent of the tables' hash, which would otherwise get only a part
/// of its range.
const MULTIPLIER: u64 = 0x6A09_E667_F3BC_C909;

/// Accesses that are skipped at once.
const GROUP: usize = 8;

/// What an access of each kind adds to [`Counts`].
const OF_KIND: [u64; 3] = {
    let mut counts = [0; 3];
    counts[AccessKind::Store as usize] = 1;
    counts[AccessKind::ReadModifyWrite as usize] = 1 | 1 << Counts::DOUBLE_SHIFT;
    counts
};

/// Selects places by their hash, the same ones for all stacks of a layer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sieve {
    /// Places with hashes up to this are followed.
    threshold: u64,
    /// The largest number of places that may be followed.
    limit: usize,
    /// The fraction of the places that is followed.
    rate: f64,
    /// The number of touches that a followed one stands for, in units of [`UNIT`].
    weight: u64,
}

/// For some accesses, fewer than 2^32, how many write, and how many are read-modify-writes. In one number, because
/// this is added up for every access.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts(u64);

impl Counts {
    const DOUBLE_SHIFT: u32 = u32::BITS;

    /// Stores and read-modify-writes.
    pub fn writes(self) -> u64 {
        self.0 & u64::from(u32::MAX)
    }

    /// Read-modify-writes, which count as two accesses.
    pub fn doubles(self) -> u64 {
        self.0 >> Self::DOUBLE_SHIFT
    }
}

impl Sieve {
    pub fn new(sampling: Sampling) -> Self {
        let (threshold, limit) = match sampling {
            Sampling::All => (u64::MAX, usize::MAX),
            // Saturates.
            Sampling::Rate(rate) => ((rate * 2f64.powi(64)) as u64, usize::MAX),
            Sampling::Places(limit) => (u64::MAX, limit),
        };
        Self::of(threshold, limit)
    }

    fn of(threshold: u64, limit: usize) -> Self {
        let rate = if threshold == u64::MAX { 1.0 } else { threshold as f64 / 2f64.powi(64) };
        Self { threshold, limit, rate, weight: (UNIT as f64 / rate) as u64 }
    }

    /// The number of accesses before the first one to a followed place, or, perhaps, to more than one place.
    ///
    /// Most accesses are not looked at further.
    #[inline(never)]
    pub fn skip(self, grid: Grid, batch: &[Access]) -> (usize, Counts) {
        let (mut skipped, mut counts) = self.skip_groups(grid, batch);
        for access in &batch[skipped..] {
            let only = grid.only(access.addr.0, access.width);
            if only.is_none_or(|key| self.passes(Self::hash(grid.sampling_unit(key)))) {
                break;
            }
            counts += OF_KIND[access.kind as usize];
            skipped += 1;
        }
        (skipped, Counts(counts))
    }

    /// As [`skip`](Self::skip), in whole groups of accesses: with one branch for each group.
    #[inline(always)]
    fn skip_groups(self, grid: Grid, batch: &[Access]) -> (usize, u64) {
        let shift = grid.granularity().ilog2();
        // Where places are ranges, each has a line for its unit, and any width up to a line is one place.
        let groups = if shift == 0 { &[] } else { batch.as_chunks::<GROUP>().0 };
        let (mut skipped, mut counts) = (0, 0);
        for group in groups {
            let (mut least, mut crossed, mut of_group) = (u64::MAX, 0, 0);
            for access in group {
                let addr = access.addr.0;
                least = least.min(Self::hash(addr >> shift));
                crossed |= addr ^ addr.wrapping_add(access.width.into()).wrapping_sub(1);
                of_group += OF_KIND[access.kind as usize];
            }
            if self.passes(least) || crossed >> shift != 0 {
                break;
            }
            skipped += GROUP;
            counts += of_group;
        }
        (skipped, counts)
    }

    /// The hash of a [sampling unit](super::grid::Grid::sampling_unit).
    #[inline(always)]
    pub fn hash(unit: u64) -> u64 {
        folded(unit, MULTIPLIER)
    }

    /// Whether it is followed.
    #[inline(always)]
    pub fn passes(self, hash: u64) -> bool {
        hash <= self.threshold
    }

    /// The fraction of the places that is followed.
    pub fn rate(self) -> f64 {
        self.rate
    }

    /// The number of touches that a followed one stands for, in units of [`UNIT`].
    pub fn weight(self) -> u64 {
        self.weight
    }

    /// Whether some of this many followed places must be dropped. Then they are no longer followed.
    pub fn tighten(&mut self, places: usize) -> bool {
        if places <= self.limit {
            return false;
        }
        let excess = self.limit as f64 / places as f64;
        *self = Self::of((self.threshold as f64 * (excess * KEPT)) as u64, self.limit);
        true
    }
}

#[cfg(test)]
mod tests {
    use carom_base::{Addr, Ip};

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

    /// At this rate only accesses in two lines pass: the third. Before it are a store and a read-modify-write: two
    /// writes, one of them double.
    #[test]
    fn skipping_counts_what_it_skips() {
        let kinds = [AccessKind::Store, AccessKind::ReadModifyWrite, AccessKind::Load, AccessKind::Store];
        let accesses = (0..).zip(kinds).map(|(nth, kind)| {
            let addr = Addr(0x1000 + nth * 64 + if nth == 2 { 60 } else { 0 });
            Access { ip: Ip(1), addr, width: 8, kind }
        });
        let batch: Vec<Access> = accesses.collect();
        // The same behind three groups of loads, which are skipped as a whole.
        let load = Access { kind: AccessKind::Load, width: 8, ..batch[0] };
        let longer = [vec![load; 3 * GROUP], batch.clone()].concat();
        let skip = |rate, batch| {
            let (skipped, counts) = Sieve::new(Sampling::Rate(rate)).skip(Grid::new(64), batch);
            (skipped, counts.writes(), counts.doubles())
        };
        assert_eq!(skip(1e-18, &batch[..]), (2, 2, 1));
        assert_eq!(skip(1e-18, &batch[3..]), (1, 1, 0));
        assert_eq!(skip(1.0, &batch[..]), (0, 0, 0));
        assert_eq!(skip(1e-18, &longer[..]), (3 * GROUP + 2, 2, 1));
        assert_eq!(skip(1.0, &longer[..]), (0, 0, 0));
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
