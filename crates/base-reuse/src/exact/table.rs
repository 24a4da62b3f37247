//! A hash table from a place to its last access.

use super::{
    entry::Entry,
    grid::{Grid, Key},
    hash::{GOLDEN, folded},
    pool::{LARGEST, Pool},
};

/// Independent parts, so that growing one needs memory for a copy of that part only.
const SEGMENTS: usize = 64;

const SEGMENT_BITS: u32 = SEGMENTS.ilog2();

/// Places in a block, as a power of two.
const BLOCK_BITS: u32 = LARGEST.ilog2();

/// Blocks of a bucket, which fills a cache line.
const LANES: usize = 4;

/// A segment is full when this many of this many lanes hold blocks ...
const FULL: (usize, usize) = (4, 5);

/// ... and then grows by one bucket for this many.
const GROWTH: usize = 3;

/// The number of no block: numbers have fewer bits.
const VACANT: u64 = u64::MAX;

/// Bits of an index in a piece.
const INDEX_BITS: u32 = 4;

/// The index of a place without an entry.
const NO_INDEX: u32 = 0xF;

/// The position of an entry, until a place of the same block is added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Home(u32);

impl Home {
    /// Any value will do.
    pub const FIRST: Self = Self(0);
}

/// Entries of a block that have moved.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moved {
    from: u32,
    to: u32,
    count: u32,
}

impl Moved {
    /// Corrects a home, if it is that of a moved entry.
    #[inline(always)]
    pub fn follow(self, home: &mut Home) {
        let nth = home.0.wrapping_sub(self.from);
        if nth < self.count {
            home.0 = self.to + nth;
        }
    }
}

/// Entries of places by key; none is ever removed singly.
///
/// Neighbouring places form a *block*. A block is found by hash (open addressing; whole buckets are compared at once,
/// so no branch depends on the lane). The entries of its places are adjacent in a piece of memory of the size that
/// they need, in the order in which they were added. So a place takes 20 bytes if its neighbours are in the table
/// too, and some 40 if it is alone.
#[derive(Clone, Debug)]
pub(super) struct EntryTable {
    segments: [Segment; SEGMENTS],
    pool: Pool,
    split: Split,
    len: usize,
}

/// How a key is split into its block's number and its own in the block: the latter is in the lowest bits once the key
/// is rotated by this many.
#[derive(Clone, Copy, Debug)]
struct Split(u32);

#[derive(Clone, Debug, Default)]
struct Segment {
    buckets: Vec<Bucket>,
    len: usize,
}

#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Bucket {
    /// The first ones are in use, the others [`VACANT`].
    blocks: [u64; LANES],
    /// The first entry of each block.
    pieces: [u32; LANES],
    /// For each block, which entry of the piece belongs to which place: an [index](NO_INDEX) for each of its places.
    indices: [u32; LANES],
}

/// A block's bucket and lane.
#[derive(Clone, Copy)]
struct Found {
    segment: usize,
    bucket: usize,
    lane: usize,
}

impl EntryTable {
    pub fn new(grid: Grid) -> Self {
        Self::empty(Split(grid.neighbour_bits()))
    }

    fn empty(split: Split) -> Self {
        let segments = std::array::from_fn(|_| Segment::default());
        Self { segments, pool: Pool::default(), split, len: 0 }
    }

    /// The number of places, including invalidated ones.
    pub fn len(&self) -> usize {
        self.len
    }

    #[inline(always)]
    fn locate(&self, block: u64) -> Option<Found> {
        let (segment, hash) = hash(block);
        let (bucket, lane) = self.segments[segment].locate(block, hash)?;
        Some(Found { segment, bucket, lane })
    }

    /// The position of the place's entry.
    #[inline(always)]
    pub fn home(&self, key: Key) -> Option<Home> {
        let (block, neighbour) = self.split.parts(key);
        let Found { segment, bucket, lane } = self.locate(block)?;
        let bucket = &self.segments[segment].buckets[bucket];
        let index = bucket.indices[lane] >> (neighbour * INDEX_BITS) & NO_INDEX;
        (index != NO_INDEX).then_some(Home(bucket.pieces[lane] + index))
    }

    #[inline(always)]
    pub fn find(&mut self, key: Key) -> Option<(Home, &mut Entry)> {
        let home = self.home(key)?;
        Some((home, self.at(home)))
    }

    #[inline(always)]
    pub fn at(&mut self, home: Home) -> &mut Entry {
        self.pool.at(home.0)
    }

    /// The keys of a place's block.
    pub fn neighbours(&self, key: Key) -> impl Iterator<Item = Key> + use<> {
        let (split, (block, _)) = (self.split, self.split.parts(key));
        (0..LARGEST as u32).map(move |neighbour| split.key(block, neighbour))
    }

    /// Makes an entry, without a slot, for a place without one. The entries of its block may move.
    pub fn insert(&mut self, key: Key) -> (Home, Option<Moved>) {
        let (block, neighbour) = self.split.parts(key);
        let found = self.locate(block).unwrap_or_else(|| self.insert_block(block));
        let bucket = &mut self.segments[found.segment].buckets[found.bucket];
        let (piece, indices) = (&mut bucket.pieces[found.lane], &mut bucket.indices[found.lane]);
        let (count, from) = (taken(*indices), *piece);
        let mut moved = None;
        if count == 0 {
            *piece = self.pool.take(0);
        } else if count.is_power_of_two() {
            *piece = self.pool.enlarge(from, count.ilog2() as usize);
            moved = Some(Moved { from, to: *piece, count });
        }
        *indices ^= (count ^ NO_INDEX) << (neighbour * INDEX_BITS);
        self.len += 1;
        (Home(*piece + count), moved)
    }

    fn insert_block(&mut self, block: u64) -> Found {
        let (segment, hash) = hash(block);
        let grown = &mut self.segments[segment];
        if grown.is_full() {
            grown.grow();
        }
        let (bucket, lane) = grown.insert(block, hash, 0, u32::MAX);
        Found { segment, bucket, lane }
    }

    /// Prefetches the bucket of the place's block. The result has no meaning.
    #[inline(always)]
    pub fn touch_ahead(&self, key: Key) -> u64 {
        let (segment, hash) = hash(self.split.parts(key).0);
        let segment = &self.segments[segment];
        segment.buckets.get(segment.first(hash)).map_or(0, |bucket| bucket.blocks[0])
    }

    /// All places.
    pub fn iter(&self) -> impl Iterator<Item = (Key, &Entry)> {
        let buckets = self.segments.iter().flat_map(|segment| &segment.buckets);
        let blocks = buckets.flat_map(|bucket| {
            bucket
                .blocks
                .into_iter()
                .zip(bucket.pieces)
                .zip(bucket.indices)
                .map(|((block, piece), indices)| (block, piece, indices))
        });
        let blocks = blocks.filter(|(block, ..)| *block != VACANT);
        blocks.flat_map(move |(block, piece, indices)| {
            (0..LARGEST as u32).filter_map(move |neighbour| {
                let index = indices >> (neighbour * INDEX_BITS) & NO_INDEX;
                let entry = if index == NO_INDEX { None } else { self.pool.get(piece + index) };
                entry.map(|entry| (self.split.key(block, neighbour), entry))
            })
        })
    }

    /// The entries of all places, and empty ones.
    pub fn entries_mut(&mut self) -> impl Iterator<Item = &mut Entry> {
        self.pool.iter_mut()
    }

    /// Keeps only these places. All homes change.
    pub fn retain(&mut self, mut keep: impl FnMut(Key, &Entry) -> bool) {
        let empty = Self::empty(self.split);
        let old = std::mem::replace(self, empty);
        for (key, entry) in old.iter().filter(|(key, entry)| keep(*key, entry)) {
            let (home, _) = self.insert(key);
            *self.at(home) = *entry;
        }
    }
}

impl Split {
    /// The number of the block, and of the place in it.
    #[inline(always)]
    fn parts(self, key: Key) -> (u64, u32) {
        let rotated = key.rotate_right(self.0);
        (rotated >> BLOCK_BITS, rotated as u32 % LARGEST as u32)
    }

    /// The inverse.
    fn key(self, block: u64, neighbour: u32) -> Key {
        (block << BLOCK_BITS | u64::from(neighbour)).rotate_left(self.0)
    }
}

/// The segment of a block, and the hash without the bits that choose it.
#[inline(always)]
fn hash(block: u64) -> (usize, u64) {
    let hash = folded(block, GOLDEN);
    ((hash >> (u64::BITS - SEGMENT_BITS)) as usize, hash << SEGMENT_BITS)
}

/// The number of indices in use.
fn taken(indices: u32) -> u32 {
    const ONES: u32 = 0x1111_1111;
    // A one for each index with all bits set; the product's highest index is their sum.
    let vacant = indices & indices >> 1 & indices >> 2 & indices >> 3 & ONES;
    LARGEST as u32 - (vacant.wrapping_mul(ONES) >> (u32::BITS - INDEX_BITS))
}

impl Bucket {
    const EMPTY: Self = Self { blocks: [VACANT; LANES], pieces: [0; LANES], indices: [u32::MAX; LANES] };
}

impl Segment {
    #[inline(always)]
    fn first(&self, hash: u64) -> usize {
        ((u128::from(hash) * self.buckets.len() as u128) >> u64::BITS) as usize
    }

    /// The bucket and the lane of a block.
    #[inline(always)]
    fn locate(&self, block: u64, hash: u64) -> Option<(usize, usize)> {
        let mut at = self.first(hash);
        for _ in 0..self.buckets.len() {
            let bucket = &self.buckets[at];
            let mut equal = 0u32;
            for (lane, other) in bucket.blocks.iter().enumerate() {
                equal |= u32::from(*other == block) << lane;
            }
            if equal != 0 {
                return Some((at, equal.trailing_zeros() as usize % LANES));
            }
            if bucket.blocks[LANES - 1] == VACANT {
                return None;
            }
            at = self.after(at);
        }
        None
    }

    #[inline(always)]
    fn after(&self, at: usize) -> usize {
        if at + 1 == self.buckets.len() { 0 } else { at + 1 }
    }

    fn is_full(&self) -> bool {
        self.len * FULL.1 >= self.buckets.len() * LANES * FULL.0
    }

    /// A block that is not in the table, in a segment that is not full.
    fn insert(&mut self, block: u64, hash: u64, piece: u32, indices: u32) -> (usize, usize) {
        let mut at = self.first(hash);
        let lane = loop {
            let bucket = &mut self.buckets[at];
            match bucket.blocks.iter().position(|other| *other == VACANT) {
                Some(lane) => break lane,
                None => at = self.after(at),
            }
        };
        let bucket = &mut self.buckets[at];
        (bucket.blocks[lane], bucket.pieces[lane], bucket.indices[lane]) = (block, piece, indices);
        self.len += 1;
        (at, lane)
    }

    fn grow(&mut self) {
        let more = self.buckets.len().div_ceil(GROWTH).max(1);
        let larger = vec![Bucket::EMPTY; self.buckets.len() + more];
        self.len = 0;
        for bucket in std::mem::replace(&mut self.buckets, larger) {
            for lane in (0..LANES).filter(|lane| bucket.blocks[*lane] != VACANT) {
                let block = bucket.blocks[lane];
                self.insert(block, hash(block).1, bucket.pieces[lane], bucket.indices[lane]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// Strides that are multiples of the block, of the segment count, and of neither; sparse and dense.
    #[test]
    fn every_place_is_found_again_and_no_other() {
        for (granularity, stride) in
            [(64, 1), (64, 8), (64, 512), (64, 4096), (64, 999), (1, 128), (1, 1024), (1, 1025)]
        {
            let mut table = EntryTable::new(Grid::new(granularity));
            let keys: Vec<Key> = (0..20_000).map(|nth| 1 + nth * stride).collect();
            for (nth, &key) in keys.iter().enumerate() {
                assert!(table.find(key).is_none());
                let (home, _) = table.insert(key);
                assert_eq!(table.len(), nth + 1);
                assert_eq!(table.at(home).slot(), None);
                table.at(home).set_slot(nth as u32);
            }
            for (nth, &key) in keys.iter().enumerate() {
                let (home, entry) = table.find(key).expect("it was put in");
                assert_eq!(entry.slot(), Some(nth as u32));
                assert_eq!(table.at(home).slot(), Some(nth as u32));
            }
            let all: HashSet<Key> = table.iter().map(|(key, _)| key).collect();
            assert_eq!(all, keys.iter().copied().collect());
            assert_eq!(table.entries_mut().filter(|entry| entry.slot().is_some()).count(), keys.len());
            table.retain(|key, _| key % 3 == 0);
            for (nth, key) in keys.into_iter().enumerate() {
                let kept = (key % 3 == 0).then_some(nth as u32);
                assert_eq!(table.find(key).and_then(|(_, entry)| entry.slot()), kept);
            }
        }
    }

    /// In a shuffled order: 8 x 7 + 3 is odd and so visits every place of 2^14.
    #[test]
    fn a_block_keeps_its_places_as_it_grows() {
        let mut table = EntryTable::new(Grid::new(64));
        let keys = (0..1u64 << 14).map(|nth| nth * 59 % (1 << 14));
        let mut first = Home::default();
        for key in keys.clone() {
            let (home, moved) = table.insert(key);
            table.at(home).set_slot(key as u32);
            if key == 0 {
                first = home;
            } else if let Some(moved) = moved {
                moved.follow(&mut first);
            }
            assert_eq!(table.at(first).slot(), Some(0));
        }
        for key in keys {
            assert_eq!(table.find(key).and_then(|(_, entry)| entry.slot()), Some(key as u32));
        }
    }

    /// All eight vacant, indices 0 to 2 given to some, and all given.
    #[test]
    fn indices_are_counted() {
        assert_eq!([u32::MAX, 0xFF2F_F01F, 0x7654_3210].map(taken), [0, 3, 8]);
    }

    /// A key comes back from its parts, for lines and for ranges: the 12 bits above and below the split.
    #[test]
    fn keys_are_split_without_loss() {
        for split in [Split(0), Split(10)] {
            for key in (0..1 << 24).step_by(997) {
                let (block, neighbour) = split.parts(key);
                assert_eq!(split.key(block, neighbour), key);
            }
        }
    }
}
