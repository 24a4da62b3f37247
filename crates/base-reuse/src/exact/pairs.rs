//! Counts by pair of instructions, in bounded memory.

use std::num::NonZero;

use carom_base::{Addr, LogBin};

use super::histogram::{COLUMNS, Column, take_whole};

/// Entries that one combination may be put in.
const WAYS: usize = 8;

/// Doublings of a `u64`, and 0.
const OCTAVES: usize = u64::BITS as usize + 1;

/// From the fraction of the golden ratio.
const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;

/// What is told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct What {
    earlier: u32,
    later: u32,
    column: Column,
    octave: Octave,
}

impl What {
    /// Of two sites, and of this distance.
    #[inline(always)]
    pub fn new(earlier: u32, later: u32, column: Column, distance: u64) -> Self {
        Self { earlier, later, column, octave: Octave::of(distance) }
    }

    fn hash(self) -> u64 {
        let sites = u64::from(self.earlier) << u32::BITS | u64::from(self.later);
        let rest = (self.column.index() * OCTAVES + self.octave.index()) as u64;
        let product = u128::from(sites.wrapping_add(rest << 24) ^ MULTIPLIER) * u128::from(MULTIPLIER);
        product as u64 ^ (product >> u64::BITS) as u64
    }
}

/// The doubling that a distance is in. One more than its bits, so that a vacant entry needs no room to say so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Octave(NonZero<u8>);

impl Octave {
    #[inline(always)]
    fn of(distance: u64) -> Self {
        Self(NonZero::<u8>::MIN.saturating_add((u64::BITS - distance.leading_zeros()) as u8))
    }

    /// From 0.
    fn index(self) -> usize {
        usize::from(self.0.get() - 1)
    }
}

#[derive(Clone, Copy, Debug)]
struct Counted {
    what: What,
    /// Of the latest.
    at: Addr,
    count: u64,
}

/// Half a cache line.
const _: () = assert!(size_of::<Option<Counted>>() == 32);

/// The frequent combinations of a pair of [sites](super::sites::Sites), a column and an octave of the distance.
///
/// A new one takes the place of the rarest of the few that share its set, whose count goes to the rest: as with a
/// cache that evicts the least frequently used, what is frequent stays.
#[derive(Debug)]
pub(super) struct PairTable {
    sets: Vec<[Option<Counted>; WAYS]>,
    /// What was evicted, or is too near, by octave.
    rest: [[u64; COLUMNS]; OCTAVES],
    /// The first octave that is told apart by pairs.
    nearest: Octave,
}

impl PairTable {
    /// `nearest`: see [`Pairs`](super::Pairs).
    pub fn new(capacity: usize, nearest: u64) -> Self {
        let sets = vec![[None; WAYS]; capacity.div_ceil(WAYS).max(1)];
        Self { sets, rest: [[0; COLUMNS]; OCTAVES], nearest: Octave::of(nearest) }
    }

    #[inline(always)]
    pub fn add(&mut self, what: What, at: Addr, weight: u64) {
        if what.octave.index() < self.nearest.index() {
            self.rest[what.octave.index()][what.column.index()] += weight;
        } else {
            self.tell_apart(what, at, weight);
        }
    }

    #[inline(never)]
    fn tell_apart(&mut self, what: What, at: Addr, weight: u64) {
        let sets = self.sets.len() as u64;
        let set = &mut self.sets[((u128::from(what.hash()) * u128::from(sets)) >> u64::BITS) as usize];
        for entry in set.iter_mut() {
            match entry {
                Some(counted) if counted.what == what => {
                    counted.count += weight;
                    counted.at = at;
                    return;
                }
                Some(_) => {}
                None => {
                    *entry = Some(Counted { what, at, count: weight });
                    return;
                }
            }
        }
        let rarest = set.iter_mut().flatten().min_by_key(|counted| counted.count);
        if let Some(rarest) = rarest {
            let evicted = std::mem::replace(rarest, Counted { what, at, count: weight });
            self.rest[evicted.what.octave.index()][evicted.what.column.index()] += evicted.count;
        }
    }

    /// Takes out whole counts, with the pair of sites and the latest address, `None` for the rest.
    pub fn drain(&mut self, mut taken: impl FnMut(Option<((u32, u32), Addr)>, LogBin, Column, u64)) {
        for counted in self.sets.iter_mut().flatten().flatten() {
            let What { earlier, later, column, octave } = counted.what;
            let count = take_whole(&mut counted.count);
            if count > 0 {
                taken(Some(((earlier, later), counted.at)), bin(octave.index()), column, count);
            }
        }
        for (octave, row) in self.rest.iter_mut().enumerate() {
            for column in Column::all() {
                let count = take_whole(&mut row[column.index()]);
                if count > 0 {
                    taken(None, bin(octave), column, count);
                }
            }
        }
    }
}

/// The bin of the least distance in an octave: 0, or a power of two.
fn bin(octave: usize) -> LogBin {
    match octave.checked_sub(1) {
        Some(bit) => LogBin::of(1 << bit),
        None => LogBin::of(0),
    }
}

#[cfg(test)]
mod tests {
    use super::{super::histogram::UNIT, *};

    #[test]
    fn frequent_pairs_stay_and_the_rest_is_counted() {
        let mut pairs = PairTable::new(1, 0);
        let column = Column::new(false, true, false);
        // One set of 8. Pair (1, 2) comes twice as often as all others together, each of which comes once.
        for other in 0..100 {
            pairs.add(What::new(1, 2, column, 1000), Addr(0x1000), UNIT);
            pairs.add(What::new(1, 2, column, 1023), Addr(0x2000 + u64::from(other)), UNIT);
            pairs.add(What::new(100 + other, 3, column, 0), Addr(u64::from(100 + other)), UNIT);
        }
        let (mut of_pair, mut of_others, mut of_rest) = (0, 0, 0);
        pairs.drain(|pair, bin, _, count| match pair {
            Some(((1, 2), at)) => {
                // The hundredth time, at the second of the two.
                assert_eq!((bin.low(), at), (512, Addr(0x2063)));
                of_pair += count;
            }
            Some(((earlier, _), at)) => {
                assert_eq!(at, Addr(earlier.into()), "what took another's place has its own address");
                of_others += count;
            }
            None => {
                assert_eq!(bin.low(), 0);
                of_rest += count;
            }
        });
        assert_eq!((of_pair, of_others, of_rest), (200, 7, 93));
    }
}
