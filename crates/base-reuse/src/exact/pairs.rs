//! Counts by pair of instructions, in bounded memory.

use std::num::NonZero;

use carom_base::{Addr, Ip, LogBin};

use super::histogram::{COLUMNS, Column, UNIT, take_whole};

/// Entries that one combination may be put in.
const WAYS: usize = 8;

/// Doublings of a `u64`, and 0.
const OCTAVES: usize = u64::BITS as usize + 1;

/// From the fraction of the golden ratio.
const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;

/// What is told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct What {
    earlier: Ip,
    later: Ip,
    column: Column,
    octave: Octave,
}

impl What {
    /// Of two instructions, and of this distance.
    #[inline(always)]
    pub fn new(earlier: Ip, later: Ip, column: Column, distance: u64) -> Self {
        Self { earlier, later, column, octave: Octave::of(distance) }
    }

    fn hash(self) -> u64 {
        let both = self.earlier.0.rotate_left(u32::BITS) ^ self.later.0;
        let rest = (self.column.index() * OCTAVES + self.octave.index()) as u64;
        let product = u128::from(both.wrapping_add(rest << 24) ^ MULTIPLIER) * u128::from(MULTIPLIER);
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

    /// The least distance in it: 0, or a power of two.
    fn low(self) -> u64 {
        low(self.index())
    }
}

#[derive(Clone, Copy, Debug)]
struct Counted {
    what: What,
    /// Of the latest.
    at: Addr,
    count: u64,
}

const _: () = assert!(size_of::<Option<Counted>>() == 40);

/// The frequent combinations of a pair of instructions, a column and an octave of the distance.
///
/// A new one takes the place of the rarest of the few that share its set, whose count goes to the rest: as with a
/// cache that evicts the least frequently used, what is frequent stays.
#[derive(Clone, Debug)]
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

    /// The least distance that is told apart by pairs. Nearer ones are not to be [added](Self::add) one by one.
    pub fn nearest(&self) -> u64 {
        self.nearest.low()
    }

    /// So many reuses at this distance, nearer than what is told apart.
    pub fn add_near(&mut self, distance: u64, column: Column, count: u64) {
        self.rest[Octave::of(distance).index()][column.index()] += count * UNIT;
    }

    /// A reuse at [`nearest`](Self::nearest) or further.
    #[inline(never)]
    pub fn add(&mut self, what: What, at: Addr, weight: u64) {
        let sets = self.sets.len() as u64;
        let set = &mut self.sets[((u128::from(what.hash()) * u128::from(sets)) >> u64::BITS) as usize];
        for way in 0..WAYS {
            match &mut set[way] {
                Some(counted) if counted.what == what => {
                    counted.count += weight;
                    counted.at = at;
                    return move_up(set, way);
                }
                Some(_) => {}
                None => {
                    set[way] = Some(Counted { what, at, count: weight });
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

    /// Takes out whole counts, with the pair of instructions and the latest address, `None` for the rest.
    pub fn drain(&mut self, mut taken: impl FnMut(Option<((Ip, Ip), Addr)>, LogBin, Column, u64)) {
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

/// What is frequent is found first.
#[inline(always)]
fn move_up(set: &mut [Option<Counted>; WAYS], way: usize) {
    let count = |way: usize| set[way].map_or(0, |counted| counted.count);
    if way > 0 && count(way) > count(way - 1) {
        set.swap(way, way - 1);
    }
}

/// The least distance in an octave: 0, or a power of two.
fn low(octave: usize) -> u64 {
    octave.checked_sub(1).map_or(0, |bit| 1 << bit)
}

/// The bin of that.
fn bin(octave: usize) -> LogBin {
    LogBin::of(low(octave))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequent_pairs_stay_and_the_rest_is_counted() {
        let mut pairs = PairTable::new(1, 0);
        let column = Column::new(false, true, false);
        // One set of 8. Pair (1, 2) comes twice as often as all others together, each of which comes once.
        for other in 0..100u64 {
            pairs.add(What::new(Ip(1), Ip(2), column, 1000), Addr(0x1000), UNIT);
            pairs.add(What::new(Ip(1), Ip(2), column, 1023), Addr(0x2000 + other), UNIT);
            pairs.add(What::new(Ip(100 + other), Ip(3), column, 0), Addr(100 + other), UNIT);
        }
        let (mut of_pair, mut of_others, mut of_rest) = (0, 0, 0);
        pairs.drain(|pair, bin, _, count| match pair {
            Some(((Ip(1), Ip(2)), at)) => {
                // The hundredth time, at the second of the two.
                assert_eq!((bin.low(), at), (512, Addr(0x2063)));
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
}
