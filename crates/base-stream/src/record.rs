use carom_base::{Access, Nanos, ProcessId, ThreadId};

use crate::synchronisation::Synchronisation;

/// One thing that a thread did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// The process of the thread.
    pub process: ProcessId,
    /// The thread. Threads of different processes have different numbers.
    pub thread: ThreadId,
    /// When. Times of one thread never decrease; several records may have the same time.
    pub time: Nanos,
    /// What the thread did.
    pub event: Event,
}

/// What a thread did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// It begins. A thread that accesses something before it has begun, begins then.
    Begin,
    /// It accesses memory.
    Access(Streamed),
    /// It waits for another thread, or lets one go on.
    Synchronisation(Synchronisation),
    /// It makes no more accesses.
    End,
}

/// One memory operand of one executed instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Streamed {
    /// The access.
    pub access: Access,
    /// The instruction was locked: it read and wrote at one moment, in one order with all other locked instructions.
    /// Only a read-modify-write can be.
    pub atomic: bool,
}

/// Sorts records of several threads by time. Records of the same time keep their order, and so do those of one
/// thread.
pub fn sort_by_time(records: &mut [Record]) {
    records.sort_by_key(|record| record.time);
}
