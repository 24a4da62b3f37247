//! The top of an LRU stack.

use super::{
    entry::Last,
    grid::{Key, VACANT},
    table::Home,
};

/// How many places.
const DEPTH: usize = 16;

/// Bits of a seat's number in the order.
const NIBBLE: u32 = 4;

/// A one in each nibble.
const ONES: u64 = 0x1111_1111_1111_1111;

/// Each seat at the place of its own number.
const IN_A_ROW: u64 = 0xFEDC_BA98_7654_3210;

/// A place, its entry in the table, and its last access, which the table does not know yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub home: Home,
    pub last: Last,
}

/// The most recent places: most accesses go to one of them, and need no more than this.
///
/// Places keep their *seats*; their order is a permutation of the seats in one word, changed by shifts. No branch
/// depends on which of them it is, which would be mispredicted half the time.
#[derive(Clone, Debug)]
pub(super) struct Recent {
    /// Of the keys: half as wide, so that comparing with all of them takes half as long.
    tags: [u32; DEPTH],
    keys: [Key; DEPTH],
    places: [Place; DEPTH],
    /// A seat in each nibble, that of the most recent place in the lowest.
    order: u64,
    /// How many seats are taken: the first so many in the order.
    count: u32,
}

impl Recent {
    pub fn new() -> Self {
        let place = Place { home: Home::default(), last: Last::default() };
        Self {
            tags: [tag(VACANT); DEPTH],
            keys: [VACANT; DEPTH],
            places: [place; DEPTH],
            order: IN_A_ROW,
            count: 0,
        }
    }

    /// How many there are.
    #[inline(always)]
    pub fn count(&self) -> u64 {
        self.count.into()
    }

    /// The seat of a place.
    #[inline(always)]
    fn seat(&self, key: Key) -> Option<usize> {
        let tag = tag(key);
        // Mostly all are different, which takes a few vector instructions to see.
        let mut any = 0;
        for other in &self.tags {
            any |= u32::from(*other == tag);
        }
        if any == 0 {
            return None;
        }
        let mut equal = 0u32;
        for (seat, other) in self.tags.iter().enumerate() {
            equal |= u32::from(*other == tag) << seat;
        }
        // One, unless two tags are equal by chance.
        while equal != 0 {
            let seat = equal.trailing_zeros() as usize % DEPTH;
            if self.keys[seat] == key {
                return Some(seat);
            }
            equal &= equal - 1;
        }
        None
    }

    /// How many places are more recent than the one in this seat, in bits of the order.
    #[inline(always)]
    fn depth_bits(&self, seat: usize) -> u32 {
        let zero_there = self.order ^ (seat as u64 * ONES);
        // The lowest zero nibble: there borrowing sets the highest bit, which was clear.
        let found = zero_there.wrapping_sub(ONES) & !zero_there & (ONES << (NIBBLE - 1));
        found.trailing_zeros() / NIBBLE * NIBBLE
    }

    #[inline(always)]
    fn raise(&mut self, seat: usize, depth_bits: u32) {
        let above = self.order & !(u64::MAX << depth_bits);
        let below = self.order & (!0xF << depth_bits);
        self.order = below | above << NIBBLE | seat as u64;
    }

    /// If it is among them, the place becomes the most recent one. How many were more recent, and its last access.
    #[inline(always)]
    pub fn touch(&mut self, key: Key) -> Option<(u64, &mut Last)> {
        let top = self.top_seat();
        if self.keys[top] == key {
            return Some((0, &mut self.places[top].last));
        }
        let seat = self.seat(key)?;
        let depth_bits = self.depth_bits(seat);
        self.raise(seat, depth_bits);
        Some(((depth_bits / NIBBLE).into(), &mut self.places[seat].last))
    }

    /// A new most recent one; returns the one that falls off the end.
    #[inline(always)]
    pub fn push(&mut self, key: Key, place: Place) -> Option<Place> {
        let seat = (self.order >> (u64::BITS - NIBBLE)) as usize % DEPTH;
        self.order = self.order << NIBBLE | seat as u64;
        self.tags[seat] = tag(key);
        self.keys[seat] = key;
        let fallen = std::mem::replace(&mut self.places[seat], place);
        if (self.count as usize) < DEPTH {
            self.count += 1;
            return None;
        }
        Some(fallen)
    }

    #[inline(always)]
    fn top_seat(&self) -> usize {
        self.order as usize % DEPTH
    }

    /// The most recent one.
    #[inline(always)]
    pub fn top(&mut self) -> &mut Place {
        &mut self.places[self.top_seat()]
    }

    /// A place by its key.
    pub fn get(&mut self, key: Key) -> Option<&mut Place> {
        self.seat(key).map(|seat| &mut self.places[seat])
    }

    /// Takes one out.
    pub fn remove(&mut self, key: Key) -> Option<Place> {
        let seat = self.seat(key)?;
        let depth_bits = self.depth_bits(seat);
        // Its seat goes to the end.
        let above = self.order & !(u64::MAX << depth_bits);
        let below = self.order & (!0xF << depth_bits);
        self.order = above | below >> NIBBLE | (seat as u64) << (u64::BITS - NIBBLE);
        self.tags[seat] = tag(VACANT);
        self.keys[seat] = VACANT;
        self.count -= 1;
        Some(self.places[seat])
    }

    /// All of them, in no order.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (Key, &mut Place)> {
        self.keys.into_iter().zip(&mut self.places).filter(|(key, _)| *key != VACANT)
    }

    /// Takes out those that are not wanted.
    pub fn retain(&mut self, keep: impl Fn(Key) -> bool) {
        for key in self.keys.into_iter().filter(|key| *key != VACANT && !keep(*key)) {
            self.remove(key);
        }
    }
}

/// Neighbours differ in it, and so do places 2^32 apart.
#[inline(always)]
fn tag(key: Key) -> u32 {
    key as u32 ^ (key >> u32::BITS) as u32
}

#[cfg(test)]
mod tests {
    use carom_base::Ip;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Against a list that is searched and shifted. Some tags are equal: those of 1 and 1 << 32, and so on.
        #[test]
        fn keeps_the_order_of_a_list(steps in prop::collection::vec((0..24u64, 0..10u8), 1..300)) {
            let mut recent = Recent::new();
            let mut list: Vec<Key> = Vec::new();
            for (time, (key, action)) in steps.into_iter().enumerate() {
                let key = if key < 16 { key } else { (key - 15) << 32 };
                let position = list.iter().position(|other| *other == key);
                if action == 0 {
                    prop_assert_eq!(recent.remove(key).is_some(), position.is_some());
                    list.retain(|other| *other != key);
                    continue;
                }
                let touched = recent.touch(key).map(|(depth, _)| depth as usize);
                prop_assert_eq!(touched, position);
                if touched.is_none() {
                    let last = Last { ip: Ip(time as u64), ..Last::default() };
                    let fallen = recent.push(key, Place { home: Home::default(), last });
                    prop_assert_eq!(fallen.is_some(), list.len() == DEPTH);
                }
                list.retain(|other| *other != key);
                list.insert(0, key);
                list.truncate(DEPTH);
                prop_assert_eq!(recent.count(), list.len() as u64);
                let mut keys: Vec<Key> = recent.iter_mut().map(|(key, _)| key).collect();
                keys.sort_unstable();
                let mut wanted = list.clone();
                wanted.sort_unstable();
                prop_assert_eq!(keys, wanted);
            }
        }
    }
}
