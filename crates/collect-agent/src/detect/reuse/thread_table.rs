//! The table of the process's threads for the reuse detector: which there are, and the domain of each.
//!
//! Handlers read it without a lock. It changes where threads begin and end.

use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering::*};

use carom_base::ThreadId;
use carom_base_reuse::Domain;
use carom_collect_translate as engine;
use carom_collect_translate::Watches;

/// Threads that can be watched at a time: one for each lane of translated code.
pub const MAX_THREADS: usize = 1024;

/// The number of domains: they are named by a byte.
const DOMAINS: usize = 256;

/// One thread, while it is watched.
#[derive(Default)]
struct Entry {
    /// One more than its serial number; 0: the entry is free.
    serial: AtomicU32,
    domain: AtomicU32,
    /// Its kernel thread id.
    tid: AtomicU32,
    /// One more than the number of its table of watched lines; 0 where it has none.
    watches: AtomicU32,
    /// What the engine calls it.
    name: AtomicU64,
    pace: Pace,
    /// Its accesses when they were [noted](ThreadTable::note_accesses) last.
    accesses: AtomicU64,
}

/// Accesses of a thread per tick that it ran lately. The thread itself notes them.
#[derive(Default)]
struct Pace {
    /// Bits of an `f64`.
    latest: AtomicU64,
    /// Where the latest measurement began.
    accesses: AtomicU64,
    ran: AtomicU64,
}

impl Pace {
    fn note(&self, accesses: u64, ran: u64) {
        let time = ran.saturating_sub(self.ran.load(Relaxed));
        if time < GRAIN {
            return;
        }
        let made = accesses.saturating_sub(self.accesses.load(Relaxed));
        self.latest.store((made as f64 / time as f64).to_bits(), Relaxed);
        self.begin(accesses, ran);
    }

    fn begin(&self, accesses: u64, ran: u64) {
        self.accesses.store(accesses, Relaxed);
        self.ran.store(ran, Relaxed);
    }
}

/// Ticks of the time-stamp counter, some 40 us: many times the time to stop a thread.
pub const GRAIN: u64 = 100_000;

/// The index of a thread in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadIndex(pub usize);

/// A thread to be watched.
#[derive(Clone, Copy)]
pub struct WatchedThread {
    /// Its serial number.
    pub thread: ThreadId,
    /// Its domain.
    pub domain: Domain,
    /// Its kernel thread id.
    pub tid: i32,
    /// Its table of watched lines, where its code is translated.
    pub watches: Option<Watches>,
    /// What the engine calls it.
    pub name: u64,
}

/// The serial number of an entry that is being written.
const RESERVED: u32 = u32::MAX;

/// The threads of the process.
pub struct ThreadTable {
    entries: Box<[Entry]>,
    /// One past the highest index that was ever taken.
    top: AtomicUsize,
    /// Accesses of threads that have ended, by domain.
    ended: Box<[AtomicU64]>,
}

impl ThreadTable {
    /// An empty table.
    pub fn new() -> Self {
        Self {
            entries: (0..MAX_THREADS).map(|_| Entry::default()).collect(),
            top: AtomicUsize::new(0),
            ended: (0..DOMAINS).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    /// Enters a thread. `None` where the table is full.
    pub fn join(&self, thread: WatchedThread) -> Option<ThreadIndex> {
        let free = |entry: &Entry| entry.serial.compare_exchange(0, RESERVED, Acquire, Relaxed).is_ok();
        let index = self.entries.iter().position(free)?;
        let entry = self.entries.get(index)?;
        entry.domain.store(thread.domain.0, Relaxed);
        entry.tid.store(thread.tid as u32, Relaxed);
        entry.watches.store(thread.watches.map_or(0, |watches| u32::from(watches.index()) + 1), Relaxed);
        entry.name.store(thread.name, Relaxed);
        entry.pace.latest.store(0, Relaxed);
        entry.accesses.store(0, Relaxed);
        entry.pace.begin(0, thread.watches.map_or(0, |watches| watches.held().ran(engine::ticks())));
        self.top.fetch_max(index + 1, Relaxed);
        // ATOMICS: a reader that finds the serial number finds the rest. Sequentially consistent, because the thread that
        // arms a watch looks for threads after it has published the watch, and a new thread looks for watches after this.
        entry.serial.store(thread.thread.0.wrapping_add(1), SeqCst);
        Some(ThreadIndex(index))
    }

    /// The thread has ended, after this number of accesses.
    pub fn leave(&self, index: ThreadIndex, accesses: u64) {
        let Some(entry) = self.entries.get(index.0) else { return };
        if let Some(ended) = self.ended.get(entry.domain.load(Relaxed) as usize) {
            ended.fetch_add(accesses, Relaxed);
        }
        entry.serial.store(0, Release);
    }

    /// Accesses of threads of a domain that have ended.
    pub fn ended(&self, domain: Domain) -> u64 {
        self.ended.get(domain.0 as usize).map_or(0, |ended| ended.load(Relaxed))
    }

    /// The thread has no table of watched lines any more.
    pub fn clear_watches(&self, index: ThreadIndex) {
        if let Some(entry) = self.entries.get(index.0) {
            entry.watches.store(0, Relaxed);
        }
    }

    /// The thread has moved to another domain.
    pub fn set_domain(&self, index: ThreadIndex, domain: Domain) {
        if let Some(entry) = self.entries.get(index.0) {
            entry.domain.store(domain.0, Relaxed);
        }
    }

    /// The calling thread has made this number of accesses.
    pub fn note_pace(&self, index: ThreadIndex, accesses: u64) {
        if let (Some(entry), Some(watches)) = (self.entries.get(index.0), engine::watches()) {
            entry.pace.note(accesses, watches.held().ran(engine::ticks()));
        }
    }

    /// The calling thread has made this number of accesses. Returns those since the last call.
    pub fn note_accesses(&self, index: ThreadIndex, accesses: u64) -> u64 {
        let entry = self.entries.get(index.0);
        entry.map_or(0, |entry| accesses.saturating_sub(entry.accesses.swap(accesses, Relaxed)))
    }

    /// Accesses of a thread per tick that it ran lately.
    pub fn pace(&self, index: ThreadIndex) -> f64 {
        self.entries.get(index.0).map_or(0.0, |entry| f64::from_bits(entry.pace.latest.load(Relaxed)))
    }

    /// All threads, with their indices.
    pub fn all(&self) -> impl Iterator<Item = (ThreadIndex, WatchedThread)> {
        self.entries.iter().take(self.top.load(Relaxed)).enumerate().filter_map(|(index, entry)| {
            let serial = entry.serial.load(SeqCst);
            let thread = ThreadId(serial.checked_sub(1).filter(|_| serial != RESERVED)?);
            Some((
                ThreadIndex(index),
                WatchedThread {
                    thread,
                    domain: Domain(entry.domain.load(Relaxed)),
                    tid: entry.tid.load(Relaxed) as i32,
                    watches: (entry.watches.load(Relaxed) as u16)
                        .checked_sub(1)
                        .and_then(Watches::from_index),
                    name: entry.name.load(Relaxed),
                },
            ))
        })
    }

    /// The thread with this serial number.
    pub fn find(&self, thread: ThreadId) -> Option<WatchedThread> {
        self.all().find(|(_, watched)| watched.thread == thread).map(|(_, watched)| watched)
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A thread of this serial number in this domain, which the engine calls 100 more.
    pub fn watched(serial: u32, domain: u32) -> WatchedThread {
        WatchedThread {
            thread: ThreadId(serial),
            domain: Domain(domain),
            tid: 7,
            watches: None,
            name: 100 + u64::from(serial),
        }
    }

    #[test]
    fn a_thread_that_is_being_entered_is_not_found() {
        let threads = ThreadTable::new();
        let index = threads.join(watched(5, 0)).unwrap();
        assert_eq!(threads.all().map(|(_, thread)| thread.thread).collect::<Vec<_>>(), [ThreadId(5)]);
        threads.entries[index.0].serial.store(RESERVED, SeqCst);
        assert_eq!(threads.all().count(), 0);
    }

    #[test]
    fn a_full_table_takes_no_more_threads() {
        let threads = ThreadTable::new();
        assert!((0..MAX_THREADS as u32).all(|serial| threads.join(watched(serial, 0)).is_some()));
        assert_eq!(threads.join(watched(5000, 0)), None);
        assert_eq!(threads.all().count(), MAX_THREADS);
    }
}
