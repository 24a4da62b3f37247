//! The exact counts of the translate engine.

/// Events that are counted exactly, each at its index in [`crate::SlotHeader::counts`].
///
/// A read-modify-write is one load and one store; push, pop, call, ret and leave access the stack; a repeated
/// string instruction is one instruction with an access per iteration; a gather, scatter or masked move is one
/// access per active lane; prefetches access nothing. The kernel's accesses are not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(usize)]
pub enum Count {
    /// Instructions executed. 0 where nothing was counted in the thread: no thread executes none.
    Instructions = 0,
    /// Loads.
    Loads = 1,
    /// Stores.
    Stores = 2,
    /// Bytes loaded.
    LoadedBytes = 3,
    /// Bytes stored.
    StoredBytes = 4,
    /// Transfers of control: jumps and loops, taken or not, calls and returns. Calls and returns are also counted by
    /// themselves. System calls are none.
    Branches = 5,
    /// The part of [`Count::Branches`] that did not fall through. Calls, returns and unconditional jumps never do.
    BranchesTaken = 6,
    /// Calls, direct and indirect; not those of the kernel.
    Calls = 7,
    /// Returns from calls.
    Returns = 8,
    /// Instructions with a lock prefix, and exchanges with memory, which are locked without one.
    Atomics = 9,
    /// Instructions that enter the kernel: `syscall`, `sysenter`, `int 0x80`.
    SystemCalls = 10,
}

impl Count {
    /// How many there are.
    pub const COUNT: usize = 11;
}

/// Room for future counts.
pub const COUNT_WORDS: usize = 16;

/// The value in [`crate::SlotHeader::counts`] of a count that this agent does not make.
pub const NOT_COUNTED: u64 = u64::MAX;
