//! Where DWARF says that variables lie in a frame on the stack.

use gimli::Operation;

use super::dwarf::{DebugInfo, DieRef, Value};
use super::elf::Bytes;

/// The numbers of two registers in DWARF (System V ABI, AMD64 supplement, figure 3.36).
const RBP: gimli::Register = gimli::Register(6);
const RSP: gimli::Register = gimli::Register(7);

/// Bytes of the return address and of the caller's RBP, which lie between RBP and the frame's end in a function that keeps
/// its frame's address there.
const ABOVE_RBP: u64 = 16;

/// A frame while its function calls another one.
#[derive(Clone, Copy, Debug)]
pub(super) struct FrameAt {
    /// An instruction of the call, as the module states it.
    pub(super) probe: u64,
    /// The canonical frame address.
    pub(super) cfa: u64,
    /// The stack pointer before the call.
    pub(super) sp: u64,
}

impl DebugInfo {
    /// The address from which the locations of a function's variables count.
    pub(super) fn frame_base(&self, function: DieRef, at: FrameAt) -> Option<u64> {
        let (die, value) = self.attribute(function, gimli::DW_AT_frame_base)?;
        match self.only_operation(die.unit, value, at.probe)? {
            Operation::CallFrameCFA => Some(at.cfa),
            Operation::Register { register: RBP } => at.cfa.checked_sub(ABOVE_RBP),
            Operation::Register { register: RSP } => Some(at.sp),
            Operation::RegisterOffset { register: RSP, offset, .. } => {
                Some(at.sp.wrapping_add_signed(offset))
            }
            _ => None,
        }
    }

    /// The address of a variable that lies in the frame; `None` where it is in a register, or was optimised away.
    pub(super) fn on_stack(&self, variable: DieRef, at: FrameAt, base: u64) -> Option<u64> {
        let (die, value) = self.attribute(variable, gimli::DW_AT_location)?;
        match self.only_operation(die.unit, value, at.probe)? {
            Operation::FrameOffset { offset } => Some(base.wrapping_add_signed(offset)),
            Operation::RegisterOffset { register: RSP, offset, .. } => {
                Some(at.sp.wrapping_add_signed(offset))
            }
            _ => None,
        }
    }

    /// The operation of a location's expression at an instruction, where it has one only.
    fn only_operation(&self, unit: usize, location: Value, probe: u64) -> Option<Operation<Bytes>> {
        let encoding = self.encoding(unit)?;
        let expression = match location.exprloc_value() {
            Some(expression) => expression,
            None => self.location_at(unit, location, probe)?,
        };
        let mut operations = expression.operations(encoding);
        let only = operations.next().ok()??;
        operations.next().ok()?.is_none().then_some(only)
    }
}
