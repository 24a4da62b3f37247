//! Counters of instructions that make a number of similar accesses.

/// The counter of one of these instructions, and where it is.
#[derive(Clone, Copy, Debug)]
pub struct Units {
    /// The instruction.
    pub pc: u64,
    pub arena: usize,
    pub id: u64,
    /// Loads and stores of the block behind the instruction.
    pub ahead: u32,
}

/// A repeated comparison in progress whose accesses are all observed: their number is known only afterwards.
#[derive(Clone, Copy, Debug)]
pub struct Comparison {
    pub what: Units,
    /// Iterations that were counted before.
    pub from: u64,
}
