//! Which samples of a block are told when it begins.

use carom_base::AccessKind;

use super::strata::Due;
use crate::decode::operand::Operand;

/// What becomes of the accesses that are due in one execution of a block.
#[derive(Clone, Copy, Debug, Default)]
pub struct Split {
    /// Told at once.
    pub now: [Option<Known>; Due::MOST],
    /// Told in front of each.
    pub later: Due,
}

/// An access whose address is known at the block's beginning.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// Its instruction.
    pub pc: u64,
    pub operand: Operand,
    pub drawn_as: AccessKind,
    /// Loads and stores of the block that are counted and still to come, this one included.
    pub ahead: i64,
}
