//! Which thread watches what, and how a watch is set and removed.

use carom_base::Addr;
use carom_base_reuse::sampled::{Modes, Watch, WatchId};
use carom_collect_translate::{Watched, Watches};

use super::{
    debug_registers::DebugRegisters,
    thread_table::{ThreadIndex, ThreadTable, WatchedThread},
    watch_tables::{Entry, WatchTables},
};
use crate::sampler::Mode;

/// All watches of the process. Under a lock that handlers only try.
///
/// A watch belongs to the slot of a detector. Slots are numbered through all detectors.
pub enum ArmedWatches {
    /// Translated code looks up its accesses.
    Software(WatchTables),
    /// Debug registers.
    Registers(DebugRegisters),
}

/// How setting a watch went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Set {
    /// Threads that watch.
    pub armed: u64,
    /// Threads that cannot, though they should.
    pub unarmed: u64,
    /// The owner is one of those.
    pub owner_unarmed: bool,
}

impl ArmedWatches {
    /// Nothing is watched. `registers`: how debug registers are delivered, where these watch.
    pub fn new(registers: Option<Mode>, slot_count: usize) -> Self {
        match registers {
            None => Self::Software(WatchTables::new(slot_count)),
            Some(mode) => Self::Registers(DebugRegisters::new(mode)),
        }
    }

    /// Makes room for a thread. Allocates.
    pub fn make_room(&mut self, index: ThreadIndex) {
        match self {
            Self::Software(tables) => tables.make_room(index),
            Self::Registers(registers) => registers.make_room(index),
        }
    }

    /// Has every thread watch as it should.
    pub fn set(&mut self, slot: usize, watch: &Watch, threads: &ThreadTable) -> Set {
        let mut set = Set::default();
        for (index, thread) in threads.all() {
            if self.set_in(slot, watch, index, &thread) {
                set.armed += 1;
            } else {
                set.unarmed += 1;
                set.owner_unarmed |= thread.thread == watch.owner;
            }
        }
        set
    }

    /// Has one thread watch as it should, in place of what it watched in that slot before.
    pub fn set_in(&mut self, slot: usize, watch: &Watch, index: ThreadIndex, thread: &WatchedThread) -> bool {
        let modes: Modes = watch.modes(thread.thread, thread.domain);
        let name = watch.id.to_bits();
        match self {
            Self::Software(tables) => {
                let start = watch.start(thread.thread, thread.domain);
                let watched = start.map_or(Watched::Line(watch.first.0), |start| Watched::Byte(start.0));
                let entry = Entry { name, watched, modes };
                thread.watches.is_some_and(|table| tables.set(index, slot, entry, &table))
            }
            Self::Registers(registers) => {
                let bytes = (watch.first.0, watch.bytes, modes);
                registers.set((index, thread.tid), slot, name, bytes).is_ok()
            }
        }
    }

    /// Has no thread watch for this use any more.
    pub fn remove(&mut self, slot: usize, id: WatchId, threads: &ThreadTable) {
        for (index, thread) in threads.all() {
            self.remove_in(slot, id, index, thread.watches);
        }
    }

    /// Has one thread not watch for this use any more. A watch for another use in that slot stays.
    pub fn remove_in(&mut self, slot: usize, id: WatchId, index: ThreadIndex, table: Option<Watches>) {
        match self {
            Self::Software(tables) => {
                let named = tables.entry(index, slot).is_some_and(|entry| entry.name == id.to_bits());
                if let Some(table) = table.filter(|_| named) {
                    tables.clear(index, slot, &table);
                }
            }
            Self::Registers(registers) => {
                if registers.name(index, slot) == Some(id.to_bits()) {
                    registers.clear(index, slot);
                }
            }
        }
    }

    /// A thread has touched the line of `at`, and no active use is there: removes its watches there that `is_over` confirms.
    pub fn sweep(
        &mut self,
        at: Addr,
        index: ThreadIndex,
        table: Option<Watches>,
        is_over: impl Fn(usize, WatchId) -> bool,
    ) {
        let (Self::Software(tables), Some(table)) = (self, table) else { return };
        let over = |(slot, entry): &(usize, Entry)| is_over(*slot, WatchId::from_bits(entry.name));
        let first = |tables: &WatchTables| tables.at(index, at.line()).find(over).map(|(slot, _)| slot);
        while let Some(slot) = first(tables) {
            tables.clear(index, slot, &table);
        }
    }

    /// What the register of `slot` watches in a thread.
    pub fn register(&self, slot: usize, index: ThreadIndex) -> Option<WatchId> {
        match self {
            Self::Software(_) => None,
            Self::Registers(registers) => registers.name(index, slot).map(WatchId::from_bits),
        }
    }

    /// Has a thread's register trap no more, whatever it watches.
    pub fn silence(&mut self, slot: usize, index: ThreadIndex) {
        if let Self::Registers(registers) = self {
            registers.clear(index, slot);
        }
    }

    /// The thread has ended.
    pub fn forget(&mut self, index: ThreadIndex, table: Option<Watches>) {
        match self {
            Self::Software(tables) => {
                if let Some(table) = table {
                    tables.forget(index, &table);
                }
            }
            Self::Registers(registers) => registers.forget(index),
        }
    }

    /// In a forked child: the registers are those of the parent's threads, which go on watching.
    pub fn abandon(&mut self) {
        if let Self::Registers(registers) = self {
            registers.abandon();
        }
    }
}
