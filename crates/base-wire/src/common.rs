use std::{
    mem::offset_of,
    sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed},
};

use crate::VERSION;

/// Name of the file in the session directory that the agents of all processes map.
pub const COMMON_FILE: &str = "common";

/// `"carom-m\0"`.
const COMMON_MAGIC: u64 = u64::from_le_bytes(*b"carom-m\0");

/// Boards: one for each kind of sample.
pub const COMMON_BOARDS: usize = 2;

/// Threads that a common board distinguishes.
pub const COMMON_PUBLISHERS: usize = 1024;

/// Segments of shared memory that are distinguished.
pub const MOST_SEGMENTS: usize = 4096;

const PUBLISHER_BYTES: usize = 8;
const SLOT_BYTES: usize = 64;

/// The head of the file: the segments of shared memory, and the number of threads with a number among all processes.
/// The publishers of all boards follow, then the slots of all boards.
///
/// Any process of the recording can write anything here.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct CommonHeader {
    magic: AtomicU64,
    version: AtomicU32,
    slots: AtomicU32,
    /// The number of the next thread that needs one among all processes.
    pub next_thread: AtomicU32,
    /// For each board, one more than the highest number of a thread that has published.
    pub published: [AtomicU32; COMMON_BOARDS],
    /// The identity of each segment, at its number; 0: free. Entries are taken in order.
    pub segments: [AtomicU64; MOST_SEGMENTS],
}

impl CommonHeader {
    /// The initial content of the file, with this number of slots on each board.
    pub fn file(slots: u32) -> Vec<u8> {
        let mut bytes = vec![0; Self::bytes(slots)];
        let fields: [(usize, &[u8]); 3] = [
            (offset_of!(Self, magic), &COMMON_MAGIC.to_le_bytes()),
            (offset_of!(Self, version), &VERSION.to_le_bytes()),
            (offset_of!(Self, slots), &slots.to_le_bytes()),
        ];
        for (at, value) in fields {
            if let Some(place) = bytes.get_mut(at..at + value.len()) {
                place.copy_from_slice(value);
            }
        }
        bytes
    }

    /// The length of the file with this number of slots on each board.
    pub const fn bytes(slots: u32) -> usize {
        Self::slots_offset(COMMON_BOARDS, slots)
    }

    /// Where the publishers of a board lie.
    pub const fn publishers_offset(board: usize) -> usize {
        size_of::<Self>() + board * COMMON_PUBLISHERS * PUBLISHER_BYTES
    }

    /// Where the slots of a board lie.
    pub const fn slots_offset(board: usize, slots: u32) -> usize {
        Self::publishers_offset(COMMON_BOARDS) + board * slots as usize * SLOT_BYTES
    }

    /// Whether the file has boards with this number of slots, and is of this version.
    pub fn is_good(&self, slots: u32) -> bool {
        let head = (self.magic.load(Relaxed), self.version.load(Relaxed), self.slots.load(Relaxed));
        head == (COMMON_MAGIC, VERSION, slots)
    }

    /// The number of the segment that `identity` tells from others, which is taken where there is none yet. `None` where
    /// there are too many. Signal-safe.
    pub fn segment(&self, identity: u64) -> Option<u32> {
        // 0 is nobody's.
        let identity = identity.max(1);
        let place = self.segments.iter().position(|place| {
            // ATOMICS: a word by itself, which never changes once it is set. Written only then, for all processes read it.
            let there = place.load(Relaxed);
            if there == 0 {
                // Another process may be first, with the same or another one.
                let _ = place.compare_exchange(0, identity, Relaxed, Relaxed);
            }
            there == identity || place.load(Relaxed) == identity
        })?;
        Some(place as u32)
    }
}

const _: () = assert!(size_of::<CommonHeader>().is_multiple_of(64));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_are_numbered_as_they_are_met() {
        let zero = || AtomicU64::new(0);
        let header = CommonHeader {
            magic: zero(),
            version: AtomicU32::new(0),
            slots: AtomicU32::new(0),
            next_thread: AtomicU32::new(0),
            published: [AtomicU32::new(0), AtomicU32::new(0)],
            segments: std::array::from_fn(|_| zero()),
        };
        assert_eq!(
            [7, 0, 7, u64::MAX, 1].map(|identity| header.segment(identity)),
            [0, 1, 0, 2, 1].map(Some)
        );
        for identity in 0..MOST_SEGMENTS as u64 - 3 {
            assert!(header.segment(1000 + identity).is_some());
        }
        assert_eq!((header.segment(5), header.segment(7)), (None, Some(0)));
        assert!(!header.is_good(0));
    }

    #[test]
    fn nothing_overlaps() {
        let file = CommonHeader::file(127);
        assert_eq!(file.len(), CommonHeader::slots_offset(1, 127) + 127 * SLOT_BYTES);
        assert_eq!(CommonHeader::slots_offset(0, 127) % SLOT_BYTES, 0);
        assert_eq!(CommonHeader::publishers_offset(0), size_of::<CommonHeader>());
        assert_eq!(file[..8], *b"carom-m\0");
    }
}
