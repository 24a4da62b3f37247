use std::collections::BTreeMap;

use carom_base::ThreadId;

use crate::engine::{Detector, Step};

/// The accesses of a thread. A read-modify-write is both a load and a store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadCounts {
    /// Accesses that read.
    pub loads: u64,
    /// Accesses that write.
    pub stores: u64,
    /// Accesses by locked instructions.
    pub atomics: u64,
    /// Bytes that were read.
    pub load_bytes: u64,
    /// Bytes that were written.
    pub store_bytes: u64,
}

/// Counts what each thread accesses.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    threads: BTreeMap<ThreadId, ThreadCounts>,
}

impl Counts {
    /// The accesses of a thread up to now.
    pub fn of(&self, thread: ThreadId) -> ThreadCounts {
        self.threads.get(&thread).copied().unwrap_or_default()
    }

    /// The threads that have accessed something, in the order of their numbers.
    pub fn threads(&self) -> impl Iterator<Item = (ThreadId, ThreadCounts)> + '_ {
        self.threads.iter().map(|(thread, counts)| (*thread, *counts))
    }
}

impl Detector for Counts {
    fn access(&mut self, step: &Step) {
        let counts = self.threads.entry(step.thread).or_default();
        let access = step.streamed.access;
        let width = u64::from(access.width);
        if access.kind.reads() {
            counts.loads += 1;
            counts.load_bytes += width;
        }
        if access.kind.writes() {
            counts.stores += 1;
            counts.store_bytes += width;
        }
        counts.atomics += u64::from(step.streamed.atomic);
    }
}
