use std::ops::AddAssign;

use carom_base::{Line, ProcessId, ThreadId};
use carom_store::ThreadCounters;

/// The facts of a recording that every study needs. Read from a store in `recorded.rs`, made by hand in tests.
pub trait Input {
    /// Every thread, in order of id, which is its index.
    fn threads(&self) -> &[ThreadEntry];

    /// How many processes there are; ids are below that.
    fn processes(&self) -> u32;

    /// One more than the highest number of a logical processor, or of a core if that is higher.
    fn cpus(&self) -> u32;

    /// The machine's name: recordings of equal names share their processors. `None` equals no other name.
    fn machine(&self) -> Option<&str>;

    /// How long the recording is, in seconds.
    fn seconds(&self) -> f64;

    /// Numbers and losses of the recording.
    fn losses(&self) -> Losses;
}

/// A thread of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadEntry {
    /// Who.
    pub id: ThreadId,
    /// Where it belongs.
    pub process: ProcessId,
    /// The first process of its recording, for all processes that may share memory with its own.
    pub recording: ProcessId,
}

impl ThreadEntry {
    /// A thread of a recording by itself.
    pub const fn new(id: ThreadId, process: ProcessId) -> Self {
        Self { id, process, recording: ProcessId(0) }
    }

    /// The process under which a line that the thread touches is kept: its own or, for memory that processes share, the
    /// first of the recording.
    pub const fn keeper(self, line: Line) -> ProcessId {
        if line.is_shared() { self.recording } else { self.process }
    }
}

/// Numbers and losses of a recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Of all threads together.
    pub counters: ThreadCounters,
    /// Threads that ran unprofiled.
    pub unprofiled_threads: u64,
}

impl AddAssign for Losses {
    fn add_assign(&mut self, other: Self) {
        self.counters += other.counters;
        self.unprofiled_threads = self.unprofiled_threads.saturating_add(other.unprofiled_threads);
    }
}
