//! The table of this process's mappings of shared memory, which handlers read without a lock.

use std::{
    ops::Range,
    sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering::*, fence},
};

use carom_base::Addr;

/// Ranges that are kept. Programs with more map files by the hundred.
pub const MOST: usize = 512;

/// How often a reader tries again while the table changes. It changes when the program maps something.
const ATTEMPTS: u32 = 8;

/// Addresses of this process and the shared address of the first of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shared {
    pub low: u64,
    pub high: u64,
    pub at: Addr,
}

#[derive(Default)]
struct AtomicRange {
    low: AtomicU64,
    high: AtomicU64,
    at: AtomicU64,
}

impl AtomicRange {
    fn get(&self) -> Shared {
        Shared { low: self.low.load(Relaxed), high: self.high.load(Relaxed), at: Addr(self.at.load(Relaxed)) }
    }
}

/// Ranges in order of their addresses. One thread at a time writes.
pub struct Ranges {
    /// Odd while they change.
    sequence: AtomicU32,
    count: AtomicUsize,
    entries: [AtomicRange; MOST],
}

impl Ranges {
    /// None.
    pub const fn new() -> Self {
        let entries = [const {
            AtomicRange { low: AtomicU64::new(0), high: AtomicU64::new(0), at: AtomicU64::new(0) }
        }; MOST];
        Self { sequence: AtomicU32::new(0), count: AtomicUsize::new(0), entries }
    }

    /// The shared address of a byte of this process, where it has one. Signal-safe.
    pub fn common(&self, addr: Addr) -> Option<Addr> {
        self.read(|entries| {
            let after = entries.partition_point(|entry| entry.low.load(Relaxed) <= addr.0);
            let range = entries.get(after.checked_sub(1)?)?.get();
            (addr.0 < range.high).then(|| Addr(range.at.0 + (addr.0 - range.low)))
        })
    }

    /// A byte of this process that has this shared address. Signal-safe.
    pub fn local(&self, addr: Addr) -> Option<Addr> {
        self.read(|entries| {
            entries.iter().map(AtomicRange::get).find_map(|range| {
                let offset = addr.0.checked_sub(range.at.0)?;
                (offset < range.high - range.low).then(|| Addr(range.low + offset))
            })
        })
    }

    /// Whether a byte of `bytes` is in a range. Signal-safe.
    pub fn overlap(&self, bytes: &Range<u64>) -> bool {
        let overlaps = |range: Shared| range.low < bytes.end && bytes.start < range.high;
        self.read(|entries| entries.iter().any(|entry| overlaps(entry.get())).then_some(())).is_some()
    }

    fn read<R>(&self, find: impl Fn(&[AtomicRange]) -> Option<R>) -> Option<R> {
        for _ in 0..ATTEMPTS {
            // ATOMICS: pairs with the release store that ends `set`.
            let before = self.sequence.load(Acquire);
            let found = find(self.entries.get(..self.count.load(Relaxed))?);
            // ATOMICS: pairs with the release fence in `set`: a reader that has seen one of its words sees its odd
            // number here.
            fence(Acquire);
            if before.is_multiple_of(2) && self.sequence.load(Relaxed) == before {
                return found;
            }
        }
        None
    }

    /// Whether the table holds these.
    pub fn are(&self, ranges: &[Shared]) -> bool {
        let here = self.entries.iter().take(self.count.load(Relaxed)).map(AtomicRange::get);
        here.eq(ranges.iter().copied())
    }

    /// Copies the ranges that `keep` keeps, and returns their number. For the writer.
    pub fn copy_to(&self, to: &mut [Shared; MOST], keep: impl Fn(&Shared) -> bool) -> usize {
        let here = self.entries.iter().take(self.count.load(Relaxed)).map(AtomicRange::get);
        to.iter_mut().zip(here.filter(keep)).map(|(entry, range)| *entry = range).count()
    }

    /// Whether the table holds this one. For the writer.
    pub fn hold(&self, range: Shared) -> bool {
        self.entries.iter().take(self.count.load(Relaxed)).any(|entry| entry.get() == range)
    }

    /// Replaces all ranges by these, in order of their addresses. Called by one thread at a time.
    pub fn set(&self, ranges: &[Shared]) {
        let odd = self.sequence.load(Relaxed) | 1;
        self.sequence.store(odd, Relaxed);
        // ATOMICS: pairs with the acquire fence in `read`.
        fence(Release);
        for (entry, range) in self.entries.iter().zip(ranges) {
            entry.low.store(range.low, Relaxed);
            entry.high.store(range.high, Relaxed);
            entry.at.store(range.at.0, Relaxed);
        }
        self.count.store(ranges.len().min(MOST), Relaxed);
        self.sequence.store(odd.wrapping_add(1), Release);
    }
}

#[cfg(test)]
mod tests {
    use carom_base::SegmentId;

    use super::*;

    fn shared(low: u64, high: u64, segment: u32, offset: u64) -> Shared {
        Shared { low, high, at: Addr::shared(SegmentId(segment), offset).unwrap() }
    }

    #[test]
    fn addresses_go_there_and_back() {
        let ranges = Ranges::new();
        assert_eq!(ranges.common(Addr(0x1000)), None);
        let both = [shared(0x1000, 0x2000, 3, 0x5000), shared(0x4000, 0x6000, 0, 0)];
        ranges.set(&both);
        assert!(ranges.are(&both) && !ranges.are(&both[1..]) && ranges.hold(both[1]));
        for (local, segment, offset) in [(0x1000, 3, 0x5000), (0x1fff, 3, 0x5fff), (0x4040, 0, 0x40)] {
            let common = Addr::shared(SegmentId(segment), offset).unwrap();
            assert_eq!(ranges.common(Addr(local)), Some(common));
            assert_eq!(ranges.local(common), Some(Addr(local)));
        }
        for private in [0, 0xfff, 0x2000, 0x3fff, 0x6000, u64::MAX] {
            assert_eq!(ranges.common(Addr(private)), None);
        }
        for absent in [shared(0, 0, 3, 0x4fff), shared(0, 0, 3, 0x6000), shared(0, 0, 1, 0)] {
            assert_eq!(ranges.local(absent.at), None);
        }
        assert!(ranges.overlap(&(0..0x1001)) && !ranges.overlap(&(0x2000..0x4000)));
        ranges.set(&[]);
        assert_eq!(ranges.common(Addr(0x1000)), None);
    }

    #[test]
    fn a_reader_does_not_wait_for_a_writer_that_stopped() {
        let ranges = Ranges::new();
        ranges.set(&[shared(0x1000, 0x2000, 3, 0)]);
        ranges.sequence.fetch_add(1, Relaxed);
        assert_eq!(ranges.common(Addr(0x1000)), None);
        ranges.set(&[shared(0x1000, 0x2000, 3, 0)]);
        assert!(ranges.common(Addr(0x1000)).is_some());
    }
}
