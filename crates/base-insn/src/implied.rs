//! Parts of an operand's address and size that the operand itself does not state.

use carom_base::AccessKind;
use iced_x86::{Instruction, MemorySize, Mnemonic, OpKind, Register};

use crate::registers::Registers;
use crate::xsave::Layout;

/// The bytes of an operand, given the state components that the XSAVE family is asked for. `None` where they are
/// unknown.
pub(crate) fn width(
    instruction: &Instruction,
    size: MemorySize,
    layout: &Layout,
    requested: Option<u64>,
) -> Option<u32> {
    if !is_xsave(size) {
        return (size.size() != 0).then(|| size.size() as u32);
    }
    let compacted = matches!(
        instruction.mnemonic(),
        Mnemonic::Xsavec
            | Mnemonic::Xsavec64
            | Mnemonic::Xsaves
            | Mnemonic::Xsaves64
            | Mnemonic::Xrstors
            | Mnemonic::Xrstors64
    );
    Some(layout.bytes(requested?, compacted))
}

/// The state components that the XSAVE family takes: EDX:EAX.
pub(crate) fn requested(regs: &Registers) -> Option<u64> {
    Some(regs.read(Register::EDX)? << 32 | regs.read(Register::EAX)?)
}

/// The XSAVE family reads the area's header before writing it: this counts as a store.
pub(crate) fn kind(size: MemorySize, stated: AccessKind) -> AccessKind {
    if is_xsave(size) && stated.writes() { AccessKind::Store } else { stated }
}

fn is_xsave(size: MemorySize) -> bool {
    matches!(size, MemorySize::Xsave | MemorySize::Xsave64)
}

/// The byte that is really touched first, given the address that the operand states.
pub(crate) fn adjust(instruction: &Instruction, address: u64, width: u32, regs: &Registers) -> Option<u64> {
    match instruction.mnemonic() {
        Mnemonic::Bt | Mnemonic::Bts | Mnemonic::Btr | Mnemonic::Btc
            if instruction.op1_kind() == OpKind::Register =>
        {
            let bit = regs.read(instruction.op1_register())?;
            Some(bit_string_element(address, bit, width))
        }
        _ => Some(address),
    }
}

/// Bit tests with a register operand see memory as a string of bits: the register is a signed bit number
/// from the stated address on (Intel SDM volume 2, "BT"). This is the element that holds the bit.
pub(crate) fn bit_string_element(address: u64, bit: u64, width: u32) -> u64 {
    let bits = width.saturating_mul(8).clamp(1, 64);
    let bit = (bit << (64 - bits)) as i64 >> (64 - bits);
    let element = bit.div_euclid(i64::from(bits));
    address.wrapping_add((element as u64).wrapping_mul(u64::from(width)))
}
