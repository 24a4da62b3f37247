//! The top of an LRU stack.

use super::{
    entry::Last,
    grid::{Key, VACANT},
    hash::product,
    table::Home,
};

/// The number of places: one byte for each fills a word.
const DEPTH: usize = u64::BITS as usize / 8;

/// A one in each byte.
const ONES: u64 = 0x0101_0101_0101_0101;

/// Each slot at the position of its own number.
const IN_A_ROW: u64 = 0x0706_0504_0302_0100;

/// A place, its entry in the table, and its last access, which the table does not have yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecentEntry {
    pub home: Home,
    pub last: Last,
}

/// The most recent places: most accesses are to one of them, and need nothing else.
///
/// Places keep their *slots*. In the order of last accesses there are only a byte of each key, its *tag*, and the
/// number of the slot, the most recent in the lowest byte of a word each. So all tags are compared at once, and the
/// order is changed by shifts. No branch depends on the position, which would be mispredicted half the time.
#[derive(Clone, Debug)]
pub(super) struct Recent {
    tags: u64,
    slots: u64,
    /// The number of slots in use: the first ones in the order.
    count: u32,
    /// By slot.
    keys: [Key; DEPTH],
    places: [RecentEntry; DEPTH],
}

impl Recent {
    pub fn new() -> Self {
        let place = RecentEntry { home: Home::FIRST, last: Last::NEVER };
        Self { tags: 0, slots: IN_A_ROW, count: 0, keys: [VACANT; DEPTH], places: [place; DEPTH] }
    }

    /// The number of places.
    #[inline(always)]
    pub fn count(&self) -> u64 {
        self.count.into()
    }

    /// The number of places that are more recent than this one, in bits of the words.
    #[inline(always)]
    fn depth_bits(&self, key: Key) -> Option<u32> {
        let differ = self.tags ^ (tag(key) * ONES);
        // The highest bit of each byte that is zero, and perhaps of some above one that is.
        let mut equal = differ.wrapping_sub(ONES) & !differ & (ONES << 7);
        while equal != 0 {
            let depth_bits = equal.trailing_zeros() / 8 * 8;
            if self.keys[self.slot(depth_bits)] == key {
                return Some(depth_bits);
            }
            equal &= equal - 1;
        }
        None
    }

    #[inline(always)]
    fn slot(&self, depth_bits: u32) -> usize {
        (self.slots >> depth_bits) as usize % DEPTH
    }

    /// The last access to the place that was touched last, if it is this one.
    #[inline(always)]
    pub fn again(&mut self, key: Key) -> Option<&mut Last> {
        let top = self.slot(0);
        (self.keys[top] == key).then(|| &mut self.places[top].last)
    }

    /// Makes the place the most recent one, if it is among them. Returns how many were more recent, and its last
    /// access.
    #[inline(always)]
    pub fn touch(&mut self, key: Key) -> Option<(u64, &mut Last)> {
        let depth_bits = self.depth_bits(key)?;
        let slot = self.slot(depth_bits);
        self.tags = raised(self.tags, depth_bits);
        self.slots = raised(self.slots, depth_bits);
        Some(((depth_bits / 8).into(), &mut self.places[slot].last))
    }

    /// Adds a most recent one; returns the one that falls out.
    #[inline(always)]
    pub fn push(&mut self, key: Key, place: RecentEntry) -> Option<RecentEntry> {
        self.slots = self.slots.rotate_left(8);
        self.tags = self.tags << 8 | tag(key);
        let slot = self.slot(0);
        self.keys[slot] = key;
        let fallen = std::mem::replace(&mut self.places[slot], place);
        if (self.count as usize) < DEPTH {
            self.count += 1;
            return None;
        }
        Some(fallen)
    }

    /// The most recent one.
    #[inline(always)]
    pub fn top(&mut self) -> &mut RecentEntry {
        &mut self.places[self.slot(0)]
    }

    /// A place by its key.
    pub fn get(&mut self, key: Key) -> Option<&mut RecentEntry> {
        self.depth_bits(key).map(|depth_bits| &mut self.places[self.slot(depth_bits)])
    }

    /// Removes one.
    pub fn remove(&mut self, key: Key) -> Option<RecentEntry> {
        let depth_bits = self.depth_bits(key)?;
        let slot = self.slot(depth_bits);
        self.tags = sunk(self.tags, depth_bits);
        self.slots = sunk(self.slots, depth_bits);
        self.keys[slot] = VACANT;
        self.count -= 1;
        Some(self.places[slot])
    }

    /// All of them, in any order.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (Key, &mut RecentEntry)> {
        self.keys.into_iter().zip(&mut self.places).filter(|(key, _)| *key != VACANT)
    }

    /// Removes those that are not kept.
    pub fn retain(&mut self, keep: impl Fn(Key) -> bool) {
        for key in self.keys.into_iter().filter(|key| *key != VACANT && !keep(*key)) {
            self.remove(key);
        }
    }
}

#[inline(always)]
fn tag(key: Key) -> u64 {
    product(key) >> (u64::BITS - 8)
}

/// Moves the byte at this many bits to the lowest position, and those below it up.
#[inline(always)]
fn raised(word: u64, depth_bits: u32) -> u64 {
    let (below, above) = (word & !(u64::MAX << depth_bits), word & (!0xFF << depth_bits));
    above | below << 8 | word >> depth_bits & 0xFF
}

/// Moves it to the highest position, and those above it down.
fn sunk(word: u64, depth_bits: u32) -> u64 {
    let (below, above) = (word & !(u64::MAX << depth_bits), word & (!0xFF << depth_bits));
    below | above >> 8 | (word >> depth_bits & 0xFF) << (u64::BITS - 8)
}

#[cfg(test)]
mod tests {
    use carom_base::Ip;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Compares with a list that is searched and shifted. Of 300 keys some have equal tags.
        #[test]
        fn keeps_the_order_of_a_list(steps in prop::collection::vec((prop_oneof![0..12u64, 0..300u64], 0..10u8), 1..300)) {
            let mut recent = Recent::new();
            let mut list: Vec<Key> = Vec::new();
            for (time, (key, action)) in steps.into_iter().enumerate() {
                let position = list.iter().position(|other| *other == key);
                if action == 0 {
                    prop_assert_eq!(recent.remove(key).is_some(), position.is_some());
                    list.retain(|other| *other != key);
                    continue;
                }
                prop_assert_eq!(recent.again(key).is_some(), position == Some(0));
                let touched = recent.touch(key).map(|(depth, _)| depth as usize);
                prop_assert_eq!(touched, position);
                if touched.is_none() {
                    let last = Last { ip: Ip(time as u64), ..Last::NEVER };
                    let fallen = recent.push(key, RecentEntry { home: Home::FIRST, last });
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
