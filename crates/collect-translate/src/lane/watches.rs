//! Watched places: tables for each thread, in which its code looks every access up ([`Mode::Watch`]).
//!
//! There are two look-ups. The first table has an entry for each value of 16 bits of a line's number. The entry also
//! stands for the line before, so one look-up serves several accesses within 64 bytes. An access that is found there
//! is looked up again among exactly the watched lines and bytes (`exact::look_up_exactly`), and mostly is not found.
//! Only accesses that are found twice are reported.
//!
//! The first look-up takes five instructions without a store. Where flags are live, it moves up to where they are
//! dead. The exact look-up does not enter the dispatcher either. Only if it finds the access too, the rest of the
//! block runs in a copy in which each access is looked up separately and reported. Any thread may change any entry.
//!
//! An entry counts its watches of loads and those of stores, so that removing one does not disturb the others.
//!
//! [`Mode::Watch`]: crate::Mode::Watch

use std::sync::atomic::{AtomicU16, Ordering::Relaxed};

use carom_base::{AccessKind, LINE_BYTES};

use crate::memory::{LaneId, WATCHED_BYTES, WATCHED_OFFSET, opened};

/// A byte for loads, one for stores.
const ENTRY_BYTES: u64 = 2;

/// Entries of the first table, and its place relative to GS.
const NEAR_ENTRIES: u64 = 1 << 16;
pub const NEAR: u32 = WATCHED_OFFSET as u32;

/// log2 of the number of entries of each of the other tables.
const CLOSE_BITS: u32 = 11;

/// The tables of lines and of bytes, relative to GS.
pub const LINES: u32 = NEAR + (NEAR_ENTRIES * ENTRY_BYTES) as u32;
pub const BYTES: u32 = LINES + (ENTRY_BYTES << CLOSE_BITS) as u32;

const _: () = assert!(BYTES as u64 + (ENTRY_BYTES << CLOSE_BITS) == WATCHED_OFFSET + WATCHED_BYTES);

/// The index of a line or byte in its table is the upper bits of the low 32 bits of its number times this (Knuth, The
/// Art of Computer Programming, volume 3, 6.4: 2^32 by the golden ratio).
pub const FACTOR: i32 = 0x9e37_79b1_u32 as i32;
pub const SHIFT: u32 = u32::BITS - CLOSE_BITS;

/// log2 of a line's bytes.
pub const LINE_SHIFT: u32 = LINE_BYTES.trailing_zeros();

/// Which accesses of a thread are to be reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watched {
    /// Those that begin in the line of this address.
    Line(u64),
    /// Those that begin at this address.
    Byte(u64),
}

impl Watched {
    const fn address(self) -> u64 {
        match self {
            Self::Line(address) | Self::Byte(address) => address,
        }
    }

    /// Its entry in its exact table, relative to GS.
    const fn close(self) -> u64 {
        let (table, number) = match self {
            Self::Line(address) => (LINES, address >> LINE_SHIFT),
            Self::Byte(address) => (BYTES, address),
        };
        table as u64 + ((number as u32).wrapping_mul(FACTOR as u32) >> SHIFT) as u64 * ENTRY_BYTES
    }

    /// Its entries in the first table, relative to GS.
    const fn near(self) -> [u64; 2] {
        let line = self.address() >> LINE_SHIFT;
        [near(line), near(line.wrapping_sub(1))]
    }
}

/// The first table's entry for a line, relative to GS.
pub const fn near(line: u64) -> u64 {
    NEAR as u64 + line % NEAR_ENTRIES * ENTRY_BYTES
}

/// The bytes of an entry that an access concerns.
pub const fn mask(kind: AccessKind) -> u16 {
    match kind {
        AccessKind::Load => 0x00ff,
        AccessKind::Store => 0xff00,
        AccessKind::ReadModifyWrite => 0xffff,
    }
}

/// The watched places of one thread: a number that may be kept anywhere. After the thread has ended it may belong to
/// another thread, whose touches are then reported although nothing waits for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Watches(u16);

impl Watches {
    /// The places with this number; `None` for a number that has never been used.
    pub fn from_index(index: u16) -> Option<Self> {
        opened::base(index).map(|_| Self(index))
    }

    /// Those of a lane.
    pub(crate) fn of(lane: LaneId) -> Self {
        Self(lane.index() as u16)
    }

    /// Their number.
    pub const fn index(self) -> u16 {
        self.0
    }

    /// Reports the thread's accesses to the line of this address. May be called from any thread, also in signal
    /// handlers. Each call is undone by one of [`unwatch`](Self::unwatch) with the same arguments. False, and nothing
    /// changed, where the line's entry already has 255 watches.
    ///
    /// The thread notices at its next access after the change has reached its processor. An access counts for the
    /// line of its first byte.
    pub fn watch(self, address: u64, loads: bool, stores: bool) -> bool {
        self.set(Watched::Line(address), loads, stores)
    }

    /// Undoes [`watch`](Self::watch).
    pub fn unwatch(self, address: u64, loads: bool, stores: bool) {
        self.clear(Watched::Line(address), loads, stores);
    }

    /// As [`watch`](Self::watch), for lines and bytes.
    pub fn set(self, place: Watched, loads: bool, stores: bool) -> bool {
        // The table that is looked up last is changed first.
        let [line, before] = place.near();
        let entries = [place.close(), before, line];
        let enters = |entry: &&u64| self.change(**entry, [loads, stores], |count| count.checked_add(1));
        let entered = entries.iter().take_while(enters).count();
        if entered < entries.len() {
            entries.iter().take(entered).for_each(|entry| self.leave(*entry, loads, stores));
        }
        entered == entries.len()
    }

    /// Undoes [`set`](Self::set).
    pub fn clear(self, place: Watched, loads: bool, stores: bool) {
        let [line, before] = place.near();
        [line, before, place.close()].into_iter().for_each(|entry| self.leave(entry, loads, stores));
    }

    fn leave(self, entry: u64, loads: bool, stores: bool) {
        self.change(entry, [loads, stores], |count| count.checked_sub(1));
    }

    /// Whether an access of this kind to the line of this address may have to be reported.
    pub(crate) fn has_near(self, address: u64, kind: AccessKind) -> bool {
        self.has(near(address >> LINE_SHIFT), kind)
    }

    /// Whether an access of this kind that begins there is reported as one to its line.
    pub(crate) fn has_line(self, address: u64, kind: AccessKind) -> bool {
        self.has(Watched::Line(address).close(), kind)
    }

    /// Whether it is reported for its first byte.
    pub(crate) fn has_byte(self, address: u64, kind: AccessKind) -> bool {
        self.has(Watched::Byte(address).close(), kind)
    }

    fn has(self, entry: u64, kind: AccessKind) -> bool {
        self.entry(entry).is_some_and(|entry| entry.load(Relaxed) & mask(kind) != 0)
    }

    /// Changes the `wanted` counts of an entry: all of them, or nothing where one cannot change.
    fn change(self, entry: u64, wanted: [bool; 2], step: impl Fn(u8) -> Option<u8>) -> bool {
        let change = |entry: u16| {
            let [loads, stores] = entry.to_le_bytes();
            let stepped = |count, wanted| if wanted { step(count) } else { Some(count) };
            let [of_loads, of_stores] = wanted;
            Some(u16::from_le_bytes([stepped(loads, of_loads)?, stepped(stores, of_stores)?]))
        };
        // ATOMICS: relaxed: what is found through a watch is looked up in memory of the embedder's.
        self.entry(entry).is_some_and(|entry| entry.fetch_update(Relaxed, Relaxed, change).is_ok())
    }

    fn entry(self, entry: u64) -> Option<&'static AtomicU16> {
        let place = opened::base(self.0)? + entry;
        let place = std::ptr::with_exposed_provenance_mut::<u16>(place as usize);
        // SAFETY: aligned; a lane that was opened stays open, and nothing but these functions writes to its tables.
        Some(unsafe { AtomicU16::from_ptr(place) })
    }
}
