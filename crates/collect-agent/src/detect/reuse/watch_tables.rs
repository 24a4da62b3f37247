//! The tables that translated code looks up: what each thread watches, and for which use.

use carom_base::{Addr, Line};
use carom_base_reuse::sampled::Modes;
use carom_collect_translate::{Watched, Watches};

use super::thread_table::ThreadIndex;

/// What one thread watches in one slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The watch's name as a word.
    pub name: u64,
    /// Where.
    pub watched: Watched,
    /// Which accesses.
    pub modes: Modes,
}

/// The tables of all threads, by thread and slot.
pub struct WatchTables {
    slot_count: usize,
    entries: Vec<Vec<Option<Entry>>>,
}

/// A thread's table.
pub trait WatchTable {
    /// Enters a watch. False where there is no room.
    fn enter(&self, entry: &Entry) -> bool;
    /// Removes an entered watch.
    fn withdraw(&self, entry: &Entry);
}

impl WatchTable for Watches {
    fn enter(&self, Entry { watched, modes, .. }: &Entry) -> bool {
        self.set(*watched, modes.reads, modes.writes)
    }

    fn withdraw(&self, Entry { watched, modes, .. }: &Entry) {
        self.clear(*watched, modes.reads, modes.writes);
    }
}

impl WatchTables {
    /// Empty, for `slot_count` watches at a time.
    pub fn new(slot_count: usize) -> Self {
        Self { slot_count, entries: Vec::new() }
    }

    /// Makes room for a thread. Allocates.
    pub fn make_room(&mut self, index: ThreadIndex) {
        if self.entries.len() <= index.0 {
            self.entries.resize_with(index.0 + 1, || vec![None; self.slot_count]);
        }
    }

    /// Has a thread watch this in `slot`, in place of what it watched there before.
    pub fn set(&mut self, index: ThreadIndex, slot: usize, entry: Entry, table: &impl WatchTable) -> bool {
        self.clear(index, slot, table);
        let at = self.entries.get_mut(index.0).and_then(|entries| entries.get_mut(slot));
        let Some(at) = at.filter(|_| table.enter(&entry)) else { return false };
        *at = Some(entry);
        true
    }

    /// What a thread watches in `slot`.
    pub fn entry(&self, index: ThreadIndex, slot: usize) -> Option<Entry> {
        *self.entries.get(index.0)?.get(slot)?
    }

    /// Has a thread watch nothing in `slot`.
    pub fn clear(&mut self, index: ThreadIndex, slot: usize, table: &impl WatchTable) {
        let at = self.entries.get_mut(index.0).and_then(|entries| entries.get_mut(slot));
        if let Some(gone) = at.and_then(Option::take) {
            table.withdraw(&gone);
        }
    }

    /// The slots in which a thread watches `line` or a byte of it.
    pub fn at(&self, index: ThreadIndex, line: Line) -> impl Iterator<Item = (usize, Entry)> {
        let entries = self.entries.get(index.0).into_iter().flatten().enumerate();
        let is_there = move |entry: &Entry| match entry.watched {
            Watched::Line(address) | Watched::Byte(address) => Addr(address).line() == line,
        };
        entries.filter_map(move |(slot, entry)| Some((slot, entry.filter(is_there)?)))
    }

    /// Has a thread watch nothing any more.
    pub fn forget(&mut self, index: ThreadIndex, table: &impl WatchTable) {
        for slot in 0..self.slot_count {
            self.clear(index, slot, table);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    const BOTH: Modes = Modes { reads: true, writes: true };
    const WRITES: Modes = Modes { reads: false, writes: true };

    /// A table with limited room that lists its entries.
    struct Small {
        room: usize,
        entered: RefCell<Vec<Entry>>,
    }

    impl Small {
        fn with_room(room: usize) -> Self {
            Self { room, entered: RefCell::new(Vec::new()) }
        }
    }

    impl WatchTable for Small {
        fn enter(&self, entry: &Entry) -> bool {
            let mut entered = self.entered.borrow_mut();
            let fits = entered.len() < self.room;
            if fits {
                entered.push(*entry);
            }
            fits
        }

        fn withdraw(&self, entry: &Entry) {
            let mut entered = self.entered.borrow_mut();
            let at = entered.iter().position(|known| known == entry).expect("what was entered");
            entered.remove(at);
        }
    }

    const fn entry(name: u64, watched: Watched, modes: Modes) -> Entry {
        Entry { name, watched, modes }
    }

    /// Lines are 64 bytes: 448 begins line 7, which has byte 500.
    #[test]
    fn what_is_in_a_spot_is_in_the_table() {
        let (table, here) = (Small::with_room(9), ThreadIndex(0));
        let (line, byte) = (entry(1, Watched::Line(448), WRITES), entry(2, Watched::Byte(500), BOTH));
        let mut tables = WatchTables::new(2);
        tables.make_room(here);
        assert!(tables.set(here, 0, line, &table) && tables.set(here, 1, byte, &table));
        assert_eq!(*table.entered.borrow(), [line, byte]);
        assert_eq!(tables.at(here, Line(7)).collect::<Vec<_>>(), [(0, line), (1, byte)]);
        // Another use in a slot replaces the one before.
        let other = entry(3, Watched::Line(512), BOTH);
        assert!(tables.set(here, 1, other, &table));
        assert_eq!(*table.entered.borrow(), [line, other]);
        assert_eq!((tables.entry(here, 1), tables.at(here, Line(7)).count()), (Some(other), 1));
        tables.forget(here, &table);
        assert!(table.entered.borrow().is_empty());
    }

    #[test]
    fn without_room_there_is_no_watch() {
        let (table, here) = (Small::with_room(1), ThreadIndex(0));
        let mut tables = WatchTables::new(2);
        tables.make_room(here);
        let one = entry(1, Watched::Line(448), BOTH);
        assert!(tables.set(here, 0, one, &table));
        assert!(!tables.set(here, 1, one, &table));
        assert_eq!(tables.entry(here, 1), None);
        assert!(!tables.set(ThreadIndex(5), 0, one, &table), "nobody made room for that thread");
    }
}
