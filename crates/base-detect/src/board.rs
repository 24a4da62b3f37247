use core::sync::atomic::{AtomicU32, Ordering};

use carom_base::{Line, ThreadId};

use crate::slot::{Entry, Slot};

/// Slots that the paper uses (ComDetective 4); a prime, so that strides do not pile up.
pub const DEFAULT_BOARD_SIZE: usize = 127;

/// The bulletin board: where the threads of a process publish the lines that they write.
///
/// A hash table with one slot per bucket: a line belongs in slot (line number modulo size). An entry knows
/// its full address, so that two lines in one bucket are never confused. Storage is borrowed and may be any
/// zeroed memory that all threads see; every operation is lock-free and bounded, also while others are
/// stopped in the middle of theirs.
#[derive(Clone, Copy, Debug)]
pub struct Board<'a> {
    slots: &'a [Slot],
    epochs: &'a [AtomicU32],
}

impl<'a> Board<'a> {
    /// A board of any size over storage that starts zeroed. `epochs` should have an element per thread;
    /// threads that share one age each other's entries faster. Without slots nothing can be published,
    /// without epochs entries age by the looking thread's samples only.
    pub const fn new(slots: &'a [Slot], epochs: &'a [AtomicU32]) -> Self {
        Self { slots, epochs }
    }

    /// What the line's slot holds, be it this line or another.
    pub fn occupant(&self, line: Line) -> Option<Entry> {
        self.slot(line)?.read()
    }

    /// Puts an entry in its slot, whatever was there. False where another thread was just writing it.
    pub fn try_put(&self, entry: &Entry) -> bool {
        self.slot(entry.write.access.addr.line()).is_some_and(|slot| slot.try_write(entry))
    }

    /// All entries, each read once. Costs one cache line per slot, and those that others have written since
    /// the last time have to come from their caches.
    pub fn entries(&self) -> impl Iterator<Item = Entry> + 'a {
        self.slots.iter().filter_map(Slot::read)
    }

    /// Counts a store sample of a thread and returns the thread's new store epoch.
    pub fn note_store(&self, thread: ThreadId) -> u32 {
        // ATOMICS: a counter by itself; no other data hangs on its value.
        self.epoch_cell(thread).map_or(0, |epoch| epoch.fetch_add(1, Ordering::Relaxed).wrapping_add(1))
    }

    /// Store samples of the publisher since it published this entry.
    pub fn store_samples_since(&self, entry: &Entry) -> u32 {
        // ATOMICS: as in `note_store`.
        self.epoch_cell(entry.write.thread)
            .map_or(0, |epoch| epoch.load(Ordering::Relaxed).wrapping_sub(entry.epoch))
    }

    /// Empties every slot. Only for when no other thread uses the board, as in the child of a fork.
    pub fn clear(&self) {
        self.slots.iter().for_each(Slot::clear);
    }

    fn slot(&self, line: Line) -> Option<&'a Slot> {
        let index = line.0.checked_rem(self.slots.len() as u64)?;
        self.slots.get(index as usize)
    }

    fn epoch_cell(&self, thread: ThreadId) -> Option<&'a AtomicU32> {
        let index = (thread.0 as usize).checked_rem(self.epochs.len())?;
        self.epochs.get(index)
    }
}
