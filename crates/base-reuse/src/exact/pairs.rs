//! Counts by pair of instructions, in bounded memory.

use std::num::NonZero;

use carom_base::{Addr, Ip, LogBin};

use super::{
    hash::{GOLDEN, folded},
    histogram::{Column, Histogram, UNIT, take_whole},
};

/// Entries in which one combination may be stored.
const WAYS: usize = 8;

/// Neighbouring bins that form one combination. The mean of a pair's distances in them is kept: so a pair with
/// similar distances has them to within a bin, and takes no more room than with wider bins. They are a quarter of a
/// doubling.
const BINS: u16 = 8;

/// What is distinguished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct What {
    earlier: Ip,
    later: Ip,
    column: Column,
    bins: Bins,
}

impl What {
    fn hash(self) -> u64 {
        let both = self.earlier.0.rotate_left(u32::BITS) ^ self.later.0;
        let rest = u64::from(self.bins.0.get()) << 3 | self.column.index() as u64;
        folded(both.wrapping_add(rest << 24), GOLDEN)
    }
}

/// [`BINS`] neighbouring bins. One more than their number, so that a vacant entry needs no flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bins(NonZero<u16>);

impl Bins {
    #[inline(always)]
    fn of(bin: LogBin) -> Self {
        Self(NonZero::<u16>::MIN.saturating_add(bin.0 / BINS))
    }

    fn first(self) -> LogBin {
        LogBin((self.0.get() - 1) * BINS)
    }
}

#[derive(Clone, Copy, Debug)]
struct Counted {
    what: What,
    /// The address of the latest reuse.
    at: Addr,
    count: u64,
    /// The sum of the positions in the [`Bins`], from 0.
    nth: u64,
}

const _: () = assert!(size_of::<Option<Counted>>() == 48);

impl Counted {
    fn new(what: What, bin: LogBin, at: Addr, weight: u64) -> Self {
        Self { what, at, count: weight, nth: weight * u64::from(bin.0 % BINS) }
    }

    /// The bin of the mean.
    fn bin(&self) -> LogBin {
        let nth = (self.nth + self.count / 2) / self.count.max(1);
        LogBin(self.what.bins.first().0 + (nth as u16).min(BINS - 1))
    }

    #[inline(always)]
    fn add(&mut self, bin: LogBin, at: Addr, weight: u64) {
        self.at = at;
        self.count += weight;
        self.nth += weight * u64::from(bin.0 % BINS);
    }
}

/// The frequent combinations of a pair of instructions, a column and some bins of the distance.
///
/// A new one replaces the rarest of the few in its set, whose count goes to the rest: as in a cache that evicts the
/// least frequently used entry, frequent ones stay.
#[derive(Clone, Debug)]
pub(super) struct PairTable {
    sets: Vec<[Option<Counted>; WAYS]>,
    /// What was evicted, or is too near.
    rest: Histogram,
    nearest: u64,
}

impl PairTable {
    /// `nearest`: see [`Pairs`](super::Pairs); 0 or a power of two.
    pub fn new(capacity: usize, nearest: u64) -> Self {
        let sets = vec![[None; WAYS]; capacity.div_ceil(WAYS).max(1)];
        Self { sets, rest: Histogram::default(), nearest }
    }

    /// The smallest distance that is distinguished by pairs. Nearer ones must not be [added](Self::add) individually.
    pub fn nearest(&self) -> u64 {
        self.nearest
    }

    /// Adds `count` reuses at this distance, which is below [`nearest`](Self::nearest).
    pub fn add_near(&mut self, distance: u64, column: Column, count: u64) {
        self.rest.add(distance, column, count * UNIT);
    }

    /// A reuse at [`nearest`](Self::nearest) or further, by `pair`.
    #[inline(never)]
    pub fn add(&mut self, pair: (Ip, Ip), column: Column, distance: u64, at: Addr, weight: u64) {
        let bin = LogBin::of(distance);
        let what = What { earlier: pair.0, later: pair.1, column, bins: Bins::of(bin) };
        let sets = self.sets.len() as u64;
        let set = &mut self.sets[((u128::from(what.hash()) * u128::from(sets)) >> u64::BITS) as usize];
        for way in 0..WAYS {
            match &mut set[way] {
                Some(counted) if counted.what == what => {
                    counted.add(bin, at, weight);
                    return move_up(set, way);
                }
                Some(_) => {}
                None => {
                    set[way] = Some(Counted::new(what, bin, at, weight));
                    return;
                }
            }
        }
        let rarest = set.iter_mut().flatten().min_by_key(|counted| counted.count);
        if let Some(rarest) = rarest {
            let evicted = std::mem::replace(rarest, Counted::new(what, bin, at, weight));
            self.rest.add(evicted.bin().low(), evicted.what.column, evicted.count);
        }
    }

    /// Takes out whole counts, with the pair of instructions and the latest address, `None` for the rest.
    pub fn drain(&mut self, mut taken: impl FnMut(Option<((Ip, Ip), Addr)>, LogBin, Column, u64)) {
        for counted in self.sets.iter_mut().flatten().flatten() {
            let (What { earlier, later, column, .. }, bin) = (counted.what, counted.bin());
            let count = take_whole(&mut counted.count);
            if count > 0 {
                counted.nth = counted.count * u64::from(bin.0 % BINS);
                taken(Some(((earlier, later), counted.at)), bin, column, count);
            }
        }
        self.rest.drain(|bin, column, count| taken(None, bin, column, count));
    }
}

/// Frequent combinations are found first.
#[inline(always)]
fn move_up(set: &mut [Option<Counted>; WAYS], way: usize) {
    let count = |way: usize| set[way].map_or(0, |counted| counted.count);
    if way > 0 && count(way) > count(way - 1) {
        set.swap(way, way - 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequent_pairs_stay_and_the_rest_is_counted() {
        let mut pairs = PairTable::new(1, 0);
        let column = Column::new(false, true, false);
        // One set of 8. Pair (1, 2) comes twice as often as all others together, each of which comes once. Its
        // distances are in the last two of the eight bins of 16 from 896 on.
        for other in 0..100u64 {
            pairs.add((Ip(1), Ip(2)), column, 1000, Addr(0x1000), UNIT);
            pairs.add((Ip(1), Ip(2)), column, 1010, Addr(0x2000 + other), UNIT);
            pairs.add((Ip(100 + other), Ip(3)), column, 0, Addr(100 + other), UNIT);
        }
        let (mut of_pair, mut of_others, mut of_rest) = (0, 0, 0);
        pairs.drain(|pair, bin, _, count| match pair {
            Some(((Ip(1), Ip(2)), at)) => {
                // Half is in the bin from 992, half in that from 1008, to which the mean is rounded. The hundredth
                // reuse has the second of the two.
                assert_eq!((bin.low(), at), (1008, Addr(0x2063)));
                of_pair += count;
            }
            Some(((earlier, _), at)) => {
                assert_eq!(at, Addr(earlier.0), "what took another's place has its own address");
                of_others += count;
            }
            None => {
                assert_eq!(bin.low(), 0);
                of_rest += count;
            }
        });
        assert_eq!((of_pair, of_others, of_rest), (200, 7, 93));
    }

    /// 2 MiB are 32,768 lines, the first of a doubling; each bin is 1024 wide. A pair that always has this distance
    /// keeps it, also when it is added between two drains.
    #[test]
    fn a_distance_is_kept_within_its_bin() {
        let mut pairs = PairTable::new(8, 64);
        let column = Column::new(false, false, false);
        for distance in [32_768, 32_768 + 3 * 1024 + 1, 40_000, 65_535] {
            for weight in [UNIT, UNIT / 2, UNIT / 2, UNIT] {
                pairs.add((Ip(1), Ip(2)), column, distance, Addr(1), weight);
                pairs.drain(|_, bin, _, count| assert_eq!((bin, count), (LogBin::of(distance), 1)));
            }
        }
    }

    /// A third at 64 lines, two thirds at 70, where bins are 2 wide: the mean bin is 3 * 2 / 3 = 2 beyond the first.
    #[test]
    fn near_distances_of_a_pair_are_averaged() {
        let mut pairs = PairTable::new(8, 64);
        for distance in [64, 70, 70] {
            pairs.add((Ip(1), Ip(2)), Column::new(true, false, false), distance, Addr(1), UNIT);
        }
        pairs.drain(|_, bin, _, count| assert_eq!((bin.low(), count), (68, 3)));
    }
}
