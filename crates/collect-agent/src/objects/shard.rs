//! One part of the table: a hash table that keeps neighbours together.

use std::ptr::NonNull;

use carom_base_sys::map;

/// A live block of the heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Object {
    /// Its first byte; never 0.
    pub base: u64,
    /// Bytes, as the program asked for them; never 0.
    pub size: u64,
    /// The number of the call path that allocated it; 0 where that is not known.
    pub site: u32,
}

/// Granules in a block of the key space; the objects of one block lie in one window of one shard.
pub const BLOCK_GRANULES: u64 = 256;

/// Levels that sizes are divided into; the last one's granules are 8 TiB.
pub const LEVELS: u32 = 6;

/// log2 of the bytes in a granule of level 0: no allocator aligns less.
const FIRST_SHIFT: u32 = 3;

/// log2 of [`BLOCK_GRANULES`]: how much coarser each level is.
const LEVEL_SHIFT: u32 = 8;

/// Which object: at most one of a level begins in a granule.
///
/// Objects of level l are at most 256 granules of that level long, and longer than one unless l is 0: so two of
/// them never begin in the same granule, and the one that holds an address begins at most 256 granules before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    pub level: u32,
    pub granule: u64,
}

impl Key {
    /// The key of `level` for an object at `base`.
    pub const fn at(level: u32, base: u64) -> Self {
        Self { level, granule: base >> (FIRST_SHIFT + LEVEL_SHIFT * level) }
    }

    fn of(object: &Object) -> Self {
        Self::at(level(object.size), object.base)
    }

    /// The hash of the key's block: the upper bits choose the shard, those below the place in it.
    pub const fn hash(self) -> u64 {
        // Two rounds of multiplication by 2^64 over the golden ratio (Knuth 6.4).
        const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;
        let block = (self.granule / BLOCK_GRANULES * LEVELS as u64 + self.level as u64).wrapping_mul(GOLDEN);
        (block ^ block >> 32).wrapping_mul(GOLDEN)
    }
}

/// The level of objects of `size` bytes.
pub const fn level(size: u64) -> u32 {
    let mut level = 0;
    while level + 1 < LEVELS && size > 1 << (FIRST_SHIFT + LEVEL_SHIFT * (level + 1)) {
        level += 1;
    }
    level
}

const EMPTY: Object = Object { base: 0, size: 0, site: 0 };

/// Slots of a shard's first table, 12 KiB.
const FIRST_SLOTS: usize = 512;

/// Linear probing (Knuth 6.4, algorithms L and R). A key's place is that of its block plus its granule in the
/// block, so that a walk over neighbouring granules goes through neighbouring slots.
pub struct Shard {
    /// Empty or a power of two long.
    slots: &'static mut [Object],
    used: usize,
}

impl Shard {
    /// Holds nothing and has no memory.
    pub const fn new() -> Self {
        Self { slots: &mut [], used: 0 }
    }

    fn home(&self, key: Key) -> usize {
        (key.hash() >> 20).wrapping_add(key.granule % BLOCK_GRANULES) as usize & (self.slots.len() - 1)
    }

    fn next(&self, place: usize) -> usize {
        (place + 1) & (self.slots.len() - 1)
    }

    /// Where `key` is (`Ok`) or belongs (`Err`). The table has an empty slot.
    fn place(&self, key: Key) -> Result<usize, usize> {
        let mut place = self.home(key);
        loop {
            let object = &self.slots[place];
            if object.base == 0 {
                return Err(place);
            }
            if Key::of(object) == key {
                return Ok(place);
            }
            place = self.next(place);
        }
    }

    /// The object of `key`. Signal-safe.
    pub fn get(&self, key: Key) -> Option<Object> {
        if self.slots.is_empty() {
            return None;
        }
        self.place(key).ok().and_then(|place| self.slots.get(place)).copied()
    }

    /// Enters `object`; one of the same key was freed unseen. False where there is no memory.
    pub fn insert(&mut self, object: Object) -> bool {
        // At two thirds a search looks at 2 slots of present keys and 5 of absent ones (Knuth 6.4).
        if (self.used + 1) * 3 > self.slots.len() * 2 && !self.grow() {
            return false;
        }
        let place = self.place(Key::of(&object));
        self.used += usize::from(place.is_err());
        let (Ok(place) | Err(place)) = place;
        self.slots[place] = object;
        true
    }

    /// Removes the object at `base` if it has `key`, and closes the gap.
    pub fn remove(&mut self, key: Key, base: u64) -> Option<Object> {
        if self.slots.is_empty() {
            return None;
        }
        let mut gap = self.place(key).ok()?;
        let removed = self.slots[gap];
        if removed.base != base {
            return None;
        }
        let mask = self.slots.len() - 1;
        let mut place = gap;
        loop {
            place = self.next(place);
            let object = self.slots[place];
            if object.base == 0 {
                break;
            }
            // It may move back into the gap unless its home lies behind it.
            let home = self.home(Key::of(&object));
            if place.wrapping_sub(home) & mask >= place.wrapping_sub(gap) & mask {
                self.slots[gap] = object;
                gap = place;
            }
        }
        self.slots[gap] = EMPTY;
        self.used -= 1;
        Some(removed)
    }

    fn grow(&mut self) -> bool {
        let length = (self.slots.len() * 2).max(FIRST_SLOTS);
        let Ok(memory) = map::private(length * size_of::<Object>()) else { return false };
        // SAFETY: fresh zeroed memory of that size, in nobody's hands but ours; zeroes are empty slots.
        let slots = unsafe { std::slice::from_raw_parts_mut(memory.cast::<Object>().as_ptr(), length) };
        let old = std::mem::replace(&mut self.slots, slots);
        for &object in old.iter().filter(|object| object.base != 0) {
            let (Ok(place) | Err(place)) = self.place(Key::of(&object));
            self.slots[place] = object;
        }
        if !old.is_empty() {
            // SAFETY: mapped by an earlier call; `old` was the only reference and ends here.
            unsafe { map::unmap(NonNull::from(&mut *old).cast(), size_of_val(old)) };
        }
        true
    }
}
