use carom_base::{Access, Nanos, ProcessId, ThreadId};

/// One thing that a thread did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// The process of the thread.
    pub process: ProcessId,
    /// The thread. Threads of different processes have different numbers.
    pub thread: ThreadId,
    /// When. Times of one thread never go back; several records may have the same time.
    pub time: Nanos,
    /// What.
    pub event: Event,
}

/// What a thread did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// It begins. A thread that accesses something without having begun, begins then.
    Begin,
    /// It accesses memory.
    Access(Streamed),
    /// It makes no more accesses.
    End,
}

/// One memory operand of one executed instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Streamed {
    /// What was accessed, and how.
    pub access: Access,
    /// The instruction was locked: it read and wrote at one moment, in one order with all other locked instructions. Only
    /// what reads and writes can be.
    pub atomic: bool,
}

/// Puts records of several threads in the order of time. Records of the same time stay as they are, and so do those of one
/// thread.
pub fn sort_by_time(records: &mut [Record]) {
    records.sort_by_key(|record| record.time);
}
