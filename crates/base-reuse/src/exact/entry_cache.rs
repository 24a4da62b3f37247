//! A direct-mapped cache of the entries of places that were touched not long ago.

use super::{
    grid::{Key, VACANT},
    hash::product,
    table::{Home, Moved},
};

/// Bits of an entry's number.
const INDEX_BITS: u32 = 9;

/// The number of places: 8 KiB of them, which stay in a core's first-level cache beside other data in constant use.
const ENTRIES: usize = 1 << INDEX_BITS;

/// A cache of the [table](super::table), with one entry for each value of a hash: most touches are of places that were
/// touched a moment ago, and are found with one look-up.
#[derive(Clone, Debug)]
pub(super) struct EntryCache {
    entries: Box<[Cached; ENTRIES]>,
}

#[derive(Clone, Copy, Debug)]
struct Cached {
    key: Key,
    home: Home,
}

impl EntryCache {
    pub fn new() -> Self {
        let vacant = Cached { key: VACANT, home: Home::FIRST };
        Self { entries: Box::new([vacant; ENTRIES]) }
    }

    #[inline(always)]
    pub fn get(&self, key: Key) -> Option<Home> {
        let entry = &self.entries[index(key)];
        (entry.key == key).then_some(entry.home)
    }

    /// Notes the place's entry; a place of the same hash is forgotten.
    #[inline(always)]
    pub fn put(&mut self, key: Key, home: Home) {
        self.entries[index(key)] = Cached { key, home };
    }

    /// Entries have moved, perhaps including this place's.
    pub fn follow(&mut self, key: Key, moved: Moved) {
        let entry = &mut self.entries[index(key)];
        if entry.key == key {
            moved.follow(&mut entry.home);
        }
    }

    /// Forgets all entries.
    pub fn clear(&mut self) {
        *self = Self::new();
    }
}

#[inline(always)]
fn index(key: Key) -> usize {
    (product(key) >> (u64::BITS - INDEX_BITS)) as usize % ENTRIES
}
