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

/// What an instruction has executed in all threads of its process: a record of `PID.STARTED.counts`. All records of an instruction
/// together are what it has executed, so a part may be negative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InstructionRecord {
    /// The instruction's address.
    pub ip: u64,
    /// By [`Count`].
    pub counts: [i64; Count::COUNT],
}

impl InstructionRecord {
    /// The bytes of a record.
    pub const BYTES: usize = 8 * (1 + Count::COUNT);

    /// The record's bytes.
    pub fn encode(&self) -> impl Iterator<Item = u8> {
        std::iter::once(self.ip as i64).chain(self.counts).flat_map(i64::to_le_bytes)
    }

    /// The inverse of [`Self::encode`].
    pub fn decode(bytes: &[u8; Self::BYTES]) -> Self {
        let mut words = bytes.as_chunks().0.iter().copied().map(i64::from_le_bytes);
        let ip = words.next().unwrap_or_default() as u64;
        Self { ip, counts: std::array::from_fn(|_| words.next().unwrap_or_default()) }
    }
}

/// Room for future counts.
pub const COUNT_WORDS: usize = 16;

/// The value in [`crate::SlotHeader::counts`] of a count that this agent does not make.
pub const NOT_COUNTED: u64 = u64::MAX;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_come_back() {
        let record = InstructionRecord { ip: u64::MAX - 7, counts: std::array::from_fn(|n| 3 - n as i64) };
        let bytes: Vec<u8> = record.encode().collect();
        assert_eq!(InstructionRecord::decode(&bytes.try_into().unwrap()), record);
    }
}
