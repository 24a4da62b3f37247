//! A cache of the entries of places that were touched not long ago.

use super::{
    grid::{Key, VACANT},
    hash::product,
    table::{Home, Moved},
};

/// Bits of a seat's number.
const SEAT_BITS: u32 = 9;

/// The number of places: 8 KiB of them, which stay in a core's first-level cache beside other data in constant use.
const SEATS: usize = 1 << SEAT_BITS;

/// A cache of the [table](super::table), with one seat for each value of a hash: most touches are of places that were
/// touched a moment ago, and are found with one look-up.
#[derive(Clone, Debug)]
pub(super) struct Near {
    seats: Box<[Seat; SEATS]>,
}

#[derive(Clone, Copy, Debug)]
struct Seat {
    key: Key,
    home: Home,
}

impl Near {
    pub fn new() -> Self {
        let vacant = Seat { key: VACANT, home: Home::FIRST };
        Self { seats: Box::new([vacant; SEATS]) }
    }

    #[inline(always)]
    pub fn get(&self, key: Key) -> Option<Home> {
        let seat = &self.seats[index(key)];
        (seat.key == key).then_some(seat.home)
    }

    /// Notes the place's entry; another place in the same seat is forgotten.
    #[inline(always)]
    pub fn put(&mut self, key: Key, home: Home) {
        self.seats[index(key)] = Seat { key, home };
    }

    /// Entries have moved, perhaps including this place's.
    pub fn follow(&mut self, key: Key, moved: Moved) {
        let seat = &mut self.seats[index(key)];
        if seat.key == key {
            moved.follow(&mut seat.home);
        }
    }

    /// Forgets all entries.
    pub fn clear(&mut self) {
        *self = Self::new();
    }
}

#[inline(always)]
fn index(key: Key) -> usize {
    (product(key) >> (u64::BITS - SEAT_BITS)) as usize % SEATS
}
