/// A process of one recording, numbered from 0 in the order in which the host met it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProcessId(pub u32);

/// A thread, numbered from 0. In a store the numbers are unique in the whole recording; inside an agent,
/// in its process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ThreadId(pub u32);

/// A logical processor, as the kernel numbers them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cpu(pub u32);

/// Nanoseconds of `CLOCK_MONOTONIC`: comparable between the processes of one machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nanos(pub u64);

/// The hash of a call path; paths themselves are stored once. [`StackId::NONE`] where none was taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StackId(pub u64);

impl StackId {
    /// No call path was taken.
    pub const NONE: Self = Self(0);
}
