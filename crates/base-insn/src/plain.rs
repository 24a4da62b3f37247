//! Ordinary memory operands, as the decoder lists them.

use carom_base::{AccessKind, Skip};
use iced_x86::{Instruction, InstructionInfoFactory, InstructionInfoOptions, OpAccess, Register, UsedMemory};

use crate::implied;
use crate::registers::Registers;

/// The operands of an ordinary instruction that are loaded or stored, in the decoder's order.
pub(crate) fn operands<'a>(
    factory: &'a mut InstructionInfoFactory,
    instruction: &Instruction,
) -> impl Iterator<Item = (&'a UsedMemory, AccessKind)> + use<'a> {
    let info = factory.info_options(instruction, InstructionInfoOptions::NO_REGISTER_USAGE);
    info.used_memory().iter().filter_map(|memory| {
        let kind = implied::kind(memory.memory_size(), access_kind(memory.access())?);
        Some((memory, kind))
    })
}

/// The effective address of a scalar operand.
pub(crate) fn address(memory: &UsedMemory, regs: &Registers) -> Option<u64> {
    memory.virtual_address(0, |register, _, _| regs.address_part(register))
}

/// Why [`address`] is `None`.
pub(crate) fn unknown_address(memory: &UsedMemory, regs: &Registers) -> Skip {
    if memory.segment() == Register::GS && regs.gs_base.is_none() {
        Skip::HiddenState
    } else {
        Skip::AddressLost
    }
}

/// Converts iced's kind of access. A conditional access is an access: conditional loads (`cmov`) always take place, and
/// a compare-and-swap that stores nothing locks the line as well. Masked forms are handled elsewhere.
#[must_use]
pub fn access_kind(access: OpAccess) -> Option<AccessKind> {
    match access {
        OpAccess::Read | OpAccess::CondRead => Some(AccessKind::Load),
        OpAccess::Write | OpAccess::CondWrite => Some(AccessKind::Store),
        OpAccess::ReadWrite | OpAccess::ReadCondWrite => Some(AccessKind::ReadModifyWrite),
        OpAccess::None | OpAccess::NoMemAccess => None,
    }
}
