use carom_store::{InstructionCounts, ThreadCounts};

/// What can be counted exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Event {
    /// Instructions executed.
    Instructions,
    /// Loads.
    Loads,
    /// Stores.
    Stores,
    /// Bytes loaded.
    LoadedBytes,
    /// Bytes stored.
    StoredBytes,
    /// Transfers of control: jumps, taken or not, calls and returns.
    Branches,
    /// Those of them that transferred control.
    BranchesTaken,
    /// Calls.
    Calls,
    /// Returns.
    Returns,
    /// Atomic instructions.
    Atomics,
    /// Entries into the kernel.
    SystemCalls,
}

impl Event {
    /// All, in the order in which reports have them.
    pub const ALL: [Self; 11] = [
        Self::Instructions,
        Self::Loads,
        Self::Stores,
        Self::LoadedBytes,
        Self::StoredBytes,
        Self::Branches,
        Self::BranchesTaken,
        Self::Calls,
        Self::Returns,
        Self::Atomics,
        Self::SystemCalls,
    ];

    /// The stable name, in kebab case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Instructions => "instructions",
            Self::Loads => "loads",
            Self::Stores => "stores",
            Self::LoadedBytes => "loaded-bytes",
            Self::StoredBytes => "stored-bytes",
            Self::Branches => "branches",
            Self::BranchesTaken => "branches-taken",
            Self::Calls => "calls",
            Self::Returns => "returns",
            Self::Atomics => "atomics",
            Self::SystemCalls => "system-calls",
        }
    }

    /// What it is, in a few words.
    pub const fn describe(self) -> &'static str {
        match self {
            Self::Instructions => "instructions executed in user mode",
            Self::Loads => "loads of memory",
            Self::Stores => "stores to memory",
            Self::LoadedBytes => "bytes loaded",
            Self::StoredBytes => "bytes stored",
            Self::Branches => "jumps, taken or not, calls and returns",
            Self::BranchesTaken => "those of them that were taken",
            Self::Calls => "calls of functions",
            Self::Returns => "returns from functions",
            Self::Atomics => "atomic instructions",
            Self::SystemCalls => "entries into the kernel",
        }
    }

    /// What one of it is.
    pub const fn unit(self) -> &'static str {
        match self {
            Self::Loads | Self::Stores => "accesses",
            Self::LoadedBytes | Self::StoredBytes => "bytes",
            Self::SystemCalls => "calls",
            _ => "instructions",
        }
    }

    /// How often a thread did it; `None` where that was not counted.
    pub const fn of(self, counts: &ThreadCounts) -> Option<u64> {
        match self {
            Self::Instructions => counts.instructions,
            Self::Loads => counts.loads,
            Self::Stores => counts.stores,
            Self::LoadedBytes => counts.loaded_bytes,
            Self::StoredBytes => counts.stored_bytes,
            Self::Branches => counts.branches,
            Self::BranchesTaken => counts.branches_taken,
            Self::Calls => counts.calls,
            Self::Returns => counts.returns,
            Self::Atomics => counts.atomics,
            Self::SystemCalls => counts.system_calls,
        }
    }

    /// How often one instruction did it.
    pub const fn of_instruction(self, counts: &InstructionCounts) -> u64 {
        match self {
            Self::Instructions => counts.instructions,
            Self::Loads => counts.loads,
            Self::Stores => counts.stores,
            Self::LoadedBytes => counts.loaded_bytes,
            Self::StoredBytes => counts.stored_bytes,
            Self::Branches => counts.branches,
            Self::BranchesTaken => counts.branches_taken,
            Self::Calls => counts.calls,
            Self::Returns => counts.returns,
            Self::Atomics => counts.atomics,
            Self::SystemCalls => counts.system_calls,
        }
    }
}
