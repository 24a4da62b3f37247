use carom_base::{Cpu, Line, ProcessId, Sample, SharingEvent, ThreadId};

use super::Periods;

/// What the study needs to know of a recording. Filled from a store in `recording.rs`, by hand in tests.
///
/// Events and samples are read once each, front to back, so that a recording never has to fit in memory.
pub trait ShareInput {
    /// Every thread, in order of id, which is its index.
    fn threads(&self) -> &[ThreadEntry];

    /// How many processes there are; ids are below that.
    fn processes(&self) -> u32;

    /// One more than the highest number of a logical processor, or of a core if that is higher.
    fn cpus(&self) -> u32;

    /// The machine's name: recordings of equal names share their processors. `None` is like no other.
    fn machine(&self) -> Option<&str>;

    /// The core that a logical processor belongs to: equal numbers are hardware threads of one core. `None`
    /// where the recording does not say.
    fn core_of(&self, cpu: Cpu) -> Option<u32>;

    /// How long the recording is, in seconds.
    fn seconds(&self) -> f64;

    /// How many accesses the samples of this thread stand for; `None` where they stand for something else. The
    /// weight of an event is then in units of [`Periods::shortest`].
    fn periods(&self, thread: ThreadId) -> Option<Periods>;

    /// How long a line takes from one core to another that contends for it, in nanoseconds, where that was measured.
    fn transfer_ns(&self) -> Option<f64>;

    /// What was lost or counted while recording.
    fn losses(&self) -> Losses;

    /// Every sharing event, in any order.
    fn events(&self) -> Box<dyn Iterator<Item = SharingEvent> + '_>;

    /// Every sample. The parts of one sample follow each other; otherwise the order is that of time except
    /// for the delays between the rings of different threads, up to 65,536 samples.
    fn samples(&self) -> Box<dyn Iterator<Item = Sample> + '_>;
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

/// Counters of a recording that go into [`super::Quality`] as they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Records that did not fit the ring.
    pub dropped: u64,
    /// What was left out to stay within the budget: step samples, or watches of samples by accesses.
    pub budget_skipped: u64,
    /// Addresses that found their slot on the board taken.
    pub collisions: u64,
    /// Watchpoints set.
    pub armed: u64,
    /// Watchpoints that trapped.
    pub traps: u64,
    /// Threads that ran unprofiled.
    pub unprofiled_threads: u64,
}

impl Losses {
    /// Both together.
    pub fn plus(self, other: Self) -> Self {
        Self {
            dropped: self.dropped.saturating_add(other.dropped),
            budget_skipped: self.budget_skipped.saturating_add(other.budget_skipped),
            collisions: self.collisions.saturating_add(other.collisions),
            armed: self.armed.saturating_add(other.armed),
            traps: self.traps.saturating_add(other.traps),
            unprofiled_threads: self.unprofiled_threads.saturating_add(other.unprofiled_threads),
        }
    }
}
