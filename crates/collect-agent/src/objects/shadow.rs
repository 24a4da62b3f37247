//! The shadow of the heap: what small and middle-sized blocks are, at places that follow from where they begin.
//!
//! An entry is one word, written by the thread that has just got the block from the allocator or is about to give it
//! back. So blocks come and go by one store each, without a lock, and whoever reads an entry sees one block as a whole.
//! The shadow takes an eighth of the memory of small blocks, less than a hundredth of that of larger ones, and none
//! where no block begins.

use std::{
    ops::Range,
    sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering::*},
};

use carom_base_sys::map;

use super::shard::Object;

/// log2 of the bytes of heap that a leaf stands for.
const REGION_BITS: u32 = 24;

/// log2 of the bytes of which at most one block begins in each: a block of the C library takes 32 bytes at least.
const SMALL_BITS: u32 = 5;
const MIDDLE_BITS: u32 = 10;

/// The largest blocks of either kind, in bytes. A middle-sized one is larger than a granule of its kind.
const MOST_SMALL: u64 = 1 << 10;
const MOST_MIDDLE: u64 = 1 << 18;

/// log2 of the unit in which a block's place in its granule is told: no allocator aligns less.
const UNIT_BITS: u32 = 3;

/// Where size and site begin in an entry, above the block's place in its granule.
const SMALL_SIZE: u32 = SMALL_BITS - UNIT_BITS;
const SMALL_SITE: u32 = SMALL_SIZE + 10;
const MIDDLE_SIZE: u32 = MIDDLE_BITS - UNIT_BITS;
const MIDDLE_SITE: u32 = MIDDLE_SIZE + 19;

/// One past the largest site number.
pub const SITES_END: u32 = 1 << (u32::BITS - SMALL_SITE);

/// What begins in a region. Zeroes stand for no block.
struct Leaf {
    small: [AtomicU32; 1 << (REGION_BITS - SMALL_BITS)],
    middle: [AtomicU64; 1 << (REGION_BITS - MIDDLE_BITS)],
}

/// Leaves of a process at most: 64 GiB of heap.
const MOST_LEAVES: usize = 1 << 12;

/// log2 of the length of the directory, which is at most half full.
const DIRECTORY_BITS: u32 = 13;

/// The leaves by region, with linear probing. A leaf stays where it is for good.
static DIRECTORY: [Place; 1 << DIRECTORY_BITS] = [const { Place::empty() }; 1 << DIRECTORY_BITS];
static LEAVES: AtomicUsize = AtomicUsize::new(0);

struct Place {
    /// The number of the region plus one; 0 in an empty place.
    region: AtomicU64,
    /// Null while it is being made.
    leaf: AtomicPtr<Leaf>,
}

impl Place {
    const fn empty() -> Self {
        Self { region: AtomicU64::new(0), leaf: AtomicPtr::new(std::ptr::null_mut()) }
    }

    #[inline(always)]
    fn leaf(&self) -> Option<&'static Leaf> {
        // SAFETY: leaves are never given back. ATOMICS: pairs with the release in `leaf_made`.
        unsafe { self.leaf.load(Acquire).as_ref() }
    }
}

/// The place of a region, or the empty place where it belongs.
#[inline(always)]
fn place(region: u64) -> &'static Place {
    // 2^64 over the golden ratio (Knuth 6.4).
    const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;
    let mut index = (region.wrapping_mul(GOLDEN) >> (u64::BITS - DIRECTORY_BITS)) as usize;
    loop {
        let place = &DIRECTORY[index % (1 << DIRECTORY_BITS)];
        let found = place.region.load(Relaxed);
        if found == region + 1 || found == 0 {
            return place;
        }
        index += 1;
    }
}

#[inline(always)]
fn leaf(address: u64) -> Option<&'static Leaf> {
    place(address >> REGION_BITS).leaf()
}

/// The leaf of `address`, made where there is none. `None` where there is no memory, or too many.
#[cold]
fn leaf_made(address: u64) -> Option<&'static Leaf> {
    if let Some(leaf) = leaf(address) {
        return Some(leaf);
    }
    if LEAVES.fetch_add(1, Relaxed) >= MOST_LEAVES {
        LEAVES.fetch_sub(1, Relaxed);
        return None;
    }
    let region = address >> REGION_BITS;
    let memory = map::private(size_of::<Leaf>()).ok()?;
    loop {
        let place = place(region);
        match place.region.compare_exchange(0, region + 1, Relaxed, Relaxed) {
            Err(other) if other != region + 1 => {}
            _ => {
                let fresh = memory.cast::<Leaf>().as_ptr();
                // Another thread may have been faster: then ours stays unused.
                // ATOMICS: pairs with the acquire in `Place::leaf`: the kernel's zeroes.
                let _ = place.leaf.compare_exchange(std::ptr::null_mut(), fresh, Release, Relaxed);
                return place.leaf();
            }
        }
    }
}

impl Leaf {
    #[inline(always)]
    fn small(&self, address: u64) -> &AtomicU32 {
        &self.small[(address >> SMALL_BITS) as usize % (1 << (REGION_BITS - SMALL_BITS))]
    }

    #[inline(always)]
    fn middle(&self, address: u64) -> &AtomicU64 {
        &self.middle[(address >> MIDDLE_BITS) as usize % (1 << (REGION_BITS - MIDDLE_BITS))]
    }
}

/// A block's place in its granule, in units.
#[inline(always)]
const fn offset(base: u64, granule_bits: u32) -> u64 {
    (base % (1 << granule_bits)) >> UNIT_BITS
}

#[inline(always)]
const fn small_entry(base: u64, size: u64, site: u32) -> u32 {
    site << SMALL_SITE | ((size - 1) << SMALL_SIZE | offset(base, SMALL_BITS)) as u32
}

const fn small_object(address: u64, entry: u32) -> Object {
    let unit = entry as u64 % (1 << SMALL_SIZE);
    let base = (address >> SMALL_BITS << SMALL_BITS) + (unit << UNIT_BITS);
    let size = (entry >> SMALL_SIZE) as u64 % MOST_SMALL + 1;
    Object { base, size, site: entry >> SMALL_SITE }
}

#[inline(always)]
const fn middle_entry(base: u64, size: u64, site: u32) -> u64 {
    (site as u64) << MIDDLE_SITE | size << MIDDLE_SIZE | offset(base, MIDDLE_BITS)
}

const fn middle_object(address: u64, entry: u64) -> Object {
    let unit = entry % (1 << MIDDLE_SIZE);
    let base = (address >> MIDDLE_BITS << MIDDLE_BITS) + (unit << UNIT_BITS);
    let size = (entry >> MIDDLE_SIZE) % (1 << (MIDDLE_SITE - MIDDLE_SIZE));
    Object { base, size, site: (entry >> MIDDLE_SITE) as u32 }
}

/// Enters a block. False where it must be kept elsewhere: because of its size or its place, or because its leaf is
/// still to be made.
#[inline(always)]
pub fn enter(object: Object) -> bool {
    let Object { base, size, site } = object;
    let Some(leaf) = leaf(base) else { return false };
    if base % (1 << UNIT_BITS) != 0 || size > MOST_MIDDLE {
        return false;
    }
    if size > MOST_SMALL {
        // Another block that begins here was freed unseen.
        leaf.middle(base).store(middle_entry(base, size, site), Relaxed);
        return true;
    }
    let slot = leaf.small(base);
    let before = slot.load(Relaxed);
    if before != 0 && is_apart(small_object(base, before), object) {
        return false;
    }
    // ATOMICS: relaxed: the whole entry is one word, and the program orders what its threads do with a block.
    slot.store(small_entry(base, size, site), Relaxed);
    true
}

/// As [`enter`], for code that may make a leaf.
pub fn enter_anywhere(object: Object) -> bool {
    leaf_made(object.base).is_some() && enter(object)
}

/// Two blocks that can live at a time.
#[inline(always)]
const fn is_apart(one: Object, other: Object) -> bool {
    one.base + one.size <= other.base || other.base + other.size <= one.base
}

/// Removes and returns the block at `base`.
#[inline(always)]
pub fn take(base: u64) -> Option<Object> {
    let leaf = leaf(base)?;
    let slot = leaf.small(base);
    let entry = slot.load(Relaxed);
    if entry != 0 && u64::from(entry) % (1 << SMALL_SIZE) == offset(base, SMALL_BITS) {
        slot.store(0, Relaxed);
        return Some(small_object(base, entry));
    }
    let slot = leaf.middle(base);
    let entry = slot.load(Relaxed);
    if entry != 0 && entry % (1 << MIDDLE_SIZE) == offset(base, MIDDLE_BITS) {
        slot.store(0, Relaxed);
        return Some(middle_object(base, entry));
    }
    None
}

/// The last small block that has a byte in `range`, else the last middle-sized one. Signal-safe.
pub fn find(range: &Range<u64>) -> Option<Object> {
    last_of(range, MOST_SMALL, SMALL_BITS, |leaf, address| {
        let entry = leaf.small(address).load(Relaxed);
        (entry != 0).then(|| small_object(address, entry))
    })
    .or_else(|| {
        last_of(range, MOST_MIDDLE, MIDDLE_BITS, |leaf, address| {
            let entry = leaf.middle(address).load(Relaxed);
            (entry != 0).then(|| middle_object(address, entry))
        })
    })
}

/// The last block that has a byte in `range`, where blocks have `most` bytes at most and `entry` tells which one begins in
/// the granule of an address.
fn last_of(
    range: &Range<u64>,
    most: u64,
    granule_bits: u32,
    entry: impl Fn(&Leaf, u64) -> Option<Object>,
) -> Option<Object> {
    let touches = |object: &Object| object.base < range.end && object.base + object.size > range.start;
    let (first, last) = (range.start.saturating_sub(most), range.end.saturating_sub(1));
    let mut regions = (first >> REGION_BITS..=last >> REGION_BITS).rev();
    regions.find_map(|region| {
        let leaf = place(region).leaf()?;
        let start = (region << REGION_BITS).max(first) >> granule_bits;
        let end = (region << REGION_BITS | ((1 << REGION_BITS) - 1)).min(last) >> granule_bits;
        (start..=end).rev().find_map(|granule| entry(leaf, granule << granule_bits).filter(touches))
    })
}

#[cfg(test)]
mod tests;
