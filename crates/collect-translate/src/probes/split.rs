//! Which samples of a block are reported when it begins.

use carom_base::AccessKind;

use super::strata::Due;
use crate::decode::operand::Operand;

/// How the accesses that are due in one execution of a block are reported.
#[derive(Clone, Copy, Debug, Default)]
pub struct Split {
    /// Reported at once.
    pub now: [Option<Known>; Due::MOST],
    /// Reported in front of each.
    pub later: Due,
}

/// An access whose address is known at the block's beginning.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// Its instruction.
    pub pc: u64,
    /// Its address, by the registers at the beginning.
    pub operand: Operand,
    /// By how much the stack pointer is larger in front of the instruction than at the beginning.
    pub sp: u64,
    pub drawn_as: AccessKind,
    /// Loads and stores of the block that are counted and still to come, including this one.
    pub ahead: i64,
}
