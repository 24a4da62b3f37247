//! Counters of instructions that make a number of like accesses.

/// The counter of such an instruction, and where to find it.
#[derive(Clone, Copy, Debug)]
pub struct Units {
    /// The instruction.
    pub pc: u64,
    pub arena: usize,
    pub id: u64,
    /// Loads and stores of the block behind the instruction.
    pub ahead: u32,
}

/// A repeated comparison under way whose accesses are all to be seen: only behind it is it known how many there were.
#[derive(Clone, Copy, Debug)]
pub struct Comparison {
    pub what: Units,
    /// Iterations counted before.
    pub from: u64,
}
