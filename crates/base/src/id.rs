/// A process of one recording, numbered from 0 in the order in which the host met it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProcessId(pub u32);

/// A thread, numbered from 0. In a store the numbers are unique in the whole recording, inside an agent in its
/// process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ThreadId(pub u32);

impl ThreadId {
    /// Marks the numbers of threads among all processes of a recording that is being made.
    const AMONG_PROCESSES: u32 = 1 << 31;

    /// The thread with this number among all processes, below 2^31. Threads of other processes know it by this number
    /// until the host gives it its number in the store.
    pub const fn among_processes(number: u32) -> Self {
        Self(number | Self::AMONG_PROCESSES)
    }

    /// Its number among all processes; `None` for a number in its own process.
    pub const fn number_among_processes(self) -> Option<u32> {
        if self.0 & Self::AMONG_PROCESSES == 0 { None } else { Some(self.0 & !Self::AMONG_PROCESSES) }
    }
}

/// A logical processor, as the kernel numbers them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cpu(pub u32);

/// A shared cache, under any numbering; the threads that use it are its domain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Domain(pub u32);

/// Nanoseconds of `CLOCK_MONOTONIC`: comparable between the processes of one machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nanos(pub u64);

/// The hash of a call path; paths themselves are stored once. [`StackId::NONE`] if none was taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StackId(pub u64);

impl StackId {
    /// No call path was taken.
    pub const NONE: Self = Self(0);
}
