//! Hooks: what exits are for that come back.

use super::{mode::Version, units::Units};

/// What to do in front of an instruction.
#[derive(Clone, Copy, Debug)]
pub enum Hook {
    /// Count the lanes of an instruction, and report them.
    Lanes(Units),
    /// The lanes of an instruction were counted, and some are to be sampled.
    DueLanes(Units),
    /// In front of a repeated instruction: report its iterations.
    Repeat { what: Units, ends_early: bool },
    /// After it, where their number is only known then.
    AfterRepeat,
    /// The iterations of a repeated instruction were counted, and some are to be sampled. `over`: they were made.
    DueIterations { what: Units, over: bool },
    /// Sample one access of the instruction at `pc`: the nth of its loads or stores. `ahead`: the loads and stores of
    /// the block from that instruction on. `of`: the block whose countdown was over, and which of the loads or stores of its
    /// superblock it is.
    Sample { of: (u64, u32), pc: u64, nth: u32, store: bool, ahead: u32 },
    /// The nth access of the instruction at `pc` is to a watched line. `ahead`: as above.
    Touch { pc: u64, nth: u32, ahead: u32 },
    /// An access in the rest of this block is to a watched place.
    Near { block: u64, version: Version },
    /// A copy of the block with this counter has timed its loads.
    Timed { arena: usize, id: u64 },
    /// Record, or look up, all accesses of the instruction at `pc`.
    Accesses { pc: u64, ahead: u32 },
}
