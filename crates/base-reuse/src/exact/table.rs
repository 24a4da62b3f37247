//! Where a place's last access is found.

use super::{
    entry::Entry,
    grid::{Grid, Key, VACANT},
};

/// Independent parts, so that growing one needs memory for the copy of that one only.
const SEGMENTS: usize = 64;

const SEGMENT_BITS: u32 = SEGMENTS.ilog2();

/// Entries in a group: neighbours hash to the same one.
const GROUP: usize = 8;

/// A segment is full at this many entries in so many ...
const FULL: (usize, usize) = (3, 4);

/// ... and then becomes larger by one in so many.
const GROWTH: usize = 8;

/// From the fraction of the golden ratio: no arithmetic progression has a pattern under it.
const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;

/// Where an entry is, until the table grows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Home {
    segment: u32,
    at: u32,
}

/// Places by key, never fewer: open addressing with linear probing, in segments by the hash's upper bits.
///
/// The hash is of a group of neighbouring places, which lie side by side, as they tend to be accessed together. Probing
/// goes on from group to group and keeps the position in it: eight tables, interleaved. Which position a neighbour has
/// depends on the hash too, so that strides spread over all.
#[derive(Debug)]
pub(super) struct Table {
    segments: [Segment; SEGMENTS],
    neighbour_bits: u32,
    len: usize,
}

#[derive(Clone, Debug, Default)]
struct Segment {
    entries: Vec<Entry>,
    len: usize,
}

/// Where to begin looking.
#[derive(Clone, Copy)]
struct Start {
    /// The hash without the bits that choose the segment.
    hash: u64,
    lane: usize,
}

impl Table {
    pub fn new(grid: Grid) -> Self {
        Self {
            segments: std::array::from_fn(|_| Segment::default()),
            neighbour_bits: grid.neighbour_bits(),
            len: 0,
        }
    }

    /// Places, also those that are gone.
    pub fn len(&self) -> usize {
        self.len
    }

    #[inline(always)]
    fn start(&self, key: Key) -> (usize, Start) {
        start(key, self.neighbour_bits)
    }

    #[inline(always)]
    pub fn find(&mut self, key: Key) -> Option<(Home, &mut Entry)> {
        let (number, start) = self.start(key);
        let segment = &mut self.segments[number];
        let at = segment.probe(key, start).ok()?;
        Some((Home { segment: number as u32, at: at as u32 }, &mut segment.entries[at]))
    }

    /// Makes an entry, without a slot, for a place that has none. True if all homes have changed.
    pub fn insert(&mut self, key: Key) -> (Home, bool) {
        let (number, start) = self.start(key);
        let segment = &mut self.segments[number];
        let mut vacant = segment.probe(key, start).err().flatten();
        let mut moved = false;
        while vacant.is_none() || segment.is_full() {
            segment.grow(self.neighbour_bits);
            vacant = segment.probe(key, start).err().flatten();
            moved = true;
        }
        let at = vacant.unwrap_or_default();
        segment.entries[at] = Entry::new(key);
        segment.len += 1;
        self.len += 1;
        (Home { segment: number as u32, at: at as u32 }, moved)
    }

    #[inline(always)]
    pub fn at(&mut self, home: Home) -> &mut Entry {
        &mut self.segments[home.segment as usize % SEGMENTS].entries[home.at as usize]
    }

    /// Brings the entry's memory near. The result means nothing.
    #[inline(always)]
    pub fn touch_ahead(&self, key: Key) -> u64 {
        let (segment, start) = self.start(key);
        let segment = &self.segments[segment];
        segment.entries.get(segment.first(start)).map_or(0, |entry| entry.key)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.segments.iter().flat_map(|segment| &segment.entries).filter(|entry| entry.key != VACANT)
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Entry> {
        self.segments.iter_mut().flat_map(|segment| &mut segment.entries).filter(|entry| entry.key != VACANT)
    }

    /// Keeps only these. All homes change.
    pub fn retain(&mut self, mut keep: impl FnMut(&Entry) -> bool) {
        self.len = 0;
        for segment in &mut self.segments {
            let entries = std::mem::take(&mut segment.entries);
            let groups = entries.len() / GROUP;
            segment.refill(entries.into_iter().filter(&mut keep), groups, self.neighbour_bits);
            self.len += segment.len;
        }
    }
}

/// The segment of a key, and where in it to begin.
#[inline(always)]
fn start(key: Key, neighbour_bits: u32) -> (usize, Start) {
    let product = u128::from((key >> neighbour_bits) ^ MULTIPLIER) * u128::from(MULTIPLIER);
    let hash = product as u64 ^ (product >> u64::BITS) as u64;
    let neighbour = key >> (neighbour_bits - GROUP.ilog2());
    let lane = (neighbour ^ hash) as usize % GROUP;
    ((hash >> (u64::BITS - SEGMENT_BITS)) as usize, Start { hash: hash << SEGMENT_BITS, lane })
}

impl Segment {
    #[inline(always)]
    fn first(&self, start: Start) -> usize {
        let groups = (self.entries.len() / GROUP) as u64;
        let group = (u128::from(start.hash) * u128::from(groups)) >> u64::BITS;
        group as usize * GROUP + start.lane
    }

    /// Where the key is; if it is not there, where it can be put, unless there is no room where it would be looked for.
    #[inline(always)]
    fn probe(&self, key: Key, start: Start) -> Result<usize, Option<usize>> {
        let mut at = self.first(start);
        for _ in 0..self.entries.len() / GROUP {
            match self.entries[at].key {
                found if found == key => return Ok(at),
                VACANT => return Err(Some(at)),
                _ => at += GROUP,
            }
            if at >= self.entries.len() {
                at -= self.entries.len();
            }
        }
        Err(None)
    }

    fn is_full(&self) -> bool {
        self.len * FULL.1 >= self.entries.len() * FULL.0
    }

    fn grow(&mut self, neighbour_bits: u32) {
        let entries = std::mem::take(&mut self.entries);
        let groups = entries.len() / GROUP;
        self.refill(entries.into_iter(), groups + groups.div_ceil(GROWTH).max(1), neighbour_bits);
    }

    /// Takes these entries in place of its own, in at least so many groups.
    fn refill(&mut self, entries: impl Iterator<Item = Entry>, mut groups: usize, neighbour_bits: u32) {
        let mut left: Vec<Entry> = Vec::new();
        self.entries = vec![Entry::EMPTY; groups * GROUP];
        self.len = 0;
        for entry in entries.filter(|entry| entry.key != VACANT) {
            match self.probe(entry.key, start(entry.key, neighbour_bits).1) {
                Err(Some(at)) => {
                    self.entries[at] = entry;
                    self.len += 1;
                }
                // A lane may be full in a small segment.
                _ => left.push(entry),
            }
        }
        if !left.is_empty() {
            groups += groups.div_ceil(GROWTH);
            left.append(&mut self.entries);
            self.refill(left.into_iter(), groups, neighbour_bits);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// Strides that are multiples of the group, of the segment count, and of neither; sparse and dense.
    #[test]
    fn every_place_is_found_again_and_no_other() {
        for (granularity, stride) in [(64, 1), (64, 8), (64, 512), (64, 4096), (64, 999), (1, 128), (1, 1024)]
        {
            let mut table = Table::new(Grid::new(granularity));
            let keys: Vec<Key> = (0..20_000).map(|nth| 1 + nth * stride).collect();
            for (nth, &key) in keys.iter().enumerate() {
                assert!(table.find(key).is_none());
                let (home, _) = table.insert(key);
                assert_eq!(table.len(), nth + 1);
                table.at(home).set_slot(Some(nth as u32));
            }
            for (nth, &key) in keys.iter().enumerate() {
                let (home, entry) = table.find(key).expect("it was put in");
                assert_eq!((entry.key, entry.slot()), (key, Some(nth as u32)));
                assert_eq!(table.at(home).key, key);
            }
            let all: HashSet<Key> = table.iter().map(|entry| entry.key).collect();
            assert_eq!(all.len(), keys.len());
            let room: usize = table.segments.iter().map(|segment| segment.entries.len()).sum();
            // Filled to between 0.75 / 1.125 and 0.75, and no stride makes lanes so uneven that they overflow early.
            assert!((keys.len() as f64) > 0.6 * room as f64, "stride {stride}: {} of {room}", keys.len());
            table.retain(|entry| entry.key % 3 == 0);
            for key in keys {
                assert_eq!(table.find(key).is_some(), key % 3 == 0);
            }
        }
    }
}
