use carom_base::{Cpu, ProcessId, ThreadId};

use super::ThreadEntry;

/// Added to the numbers of one of several recordings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offsets {
    /// To its processes.
    pub process: u32,
    /// To its threads.
    pub thread: u32,
    /// To its processors and its cores.
    pub cpu: u32,
}

impl Offsets {
    /// The number among all recordings of a thread.
    pub fn thread(self, id: ThreadId) -> ThreadId {
        ThreadId(id.0.saturating_add(self.thread))
    }

    /// The number among all recordings of a process.
    pub fn process(self, id: ProcessId) -> ProcessId {
        ProcessId(id.0.saturating_add(self.process))
    }

    /// The number among all recordings of a processor.
    pub fn cpu(self, cpu: Cpu) -> Cpu {
        Cpu(cpu.0.saturating_add(self.cpu))
    }

    pub(super) fn entry(self, entry: ThreadEntry) -> ThreadEntry {
        let ThreadEntry { id, process, recording } = entry;
        ThreadEntry {
            id: self.thread(id),
            process: self.process(process),
            recording: self.process(recording),
        }
    }
}
