//! Which samples of a block are reported when it begins.

use carom_base::AccessKind;

use super::strata::Due;
use crate::decode::operand::Operand;

/// How the accesses that are due in one execution of a block are reported.
#[derive(Clone, Copy, Debug, Default)]
pub struct Split {
    /// In the order of the accesses that are due: what is reported at once. The others are reported in front of each.
    pub now: [Option<Known>; Due::MOST],
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
    pub kind: AccessKind,
    /// Loads and stores of the block that are counted and still to come, including this one.
    pub ahead: i64,
}
