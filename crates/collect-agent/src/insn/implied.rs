//! What an operand's address and size are made of beside what is written in it.

use carom_base::{AccessKind, Addr, LINE_BYTES, Skip};
use iced_x86::{Instruction, MemorySize, Mnemonic, OpKind, Register};

use super::operands::Operands;
use super::registers::Registers;
use super::xsave::Layout;

/// The bytes of an operand whose size the encoding does not tell. `None` where nothing tells.
pub(super) fn width(
    instruction: &Instruction,
    size: MemorySize,
    layout: &Layout,
    regs: &Registers,
) -> Option<u32> {
    if !matches!(size, MemorySize::Xsave | MemorySize::Xsave64) {
        return None;
    }
    let requested = regs.read(Register::EDX)? << 32 | regs.read(Register::EAX)?;
    let compacted = matches!(
        instruction.mnemonic(),
        Mnemonic::Xsavec
            | Mnemonic::Xsavec64
            | Mnemonic::Xsaves
            | Mnemonic::Xsaves64
            | Mnemonic::Xrstors
            | Mnemonic::Xrstors64
    );
    Some(layout.bytes(requested, compacted))
}

/// XSAVE and its kin look at the area's header before they write it: a store all the same.
pub(super) fn kind(size: MemorySize, stated: AccessKind) -> AccessKind {
    match size {
        MemorySize::Xsave | MemorySize::Xsave64 if stated.writes() => AccessKind::Store,
        _ => stated,
    }
}

/// `clzero` stores zeroes to the line that RAX points into; the decoder tells no operand for it.
pub(super) fn clzero(instruction: &Instruction, regs: &Registers, found: &mut Operands) {
    match regs.read(Register::RAX) {
        Some(address) => {
            let line = Addr(address).line().start();
            found.push(instruction.ip(), line.0, LINE_BYTES as u32, AccessKind::Store);
        }
        None => found.miss(Skip::AddressLost),
    }
}

/// The byte that is really touched first, given the address that the operand states.
pub(super) fn adjust(instruction: &Instruction, address: u64, width: u32, regs: &Registers) -> Option<u64> {
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
pub(super) fn bit_string_element(address: u64, bit: u64, width: u32) -> u64 {
    let bits = width.saturating_mul(8).clamp(1, 64);
    let bit = (bit << (64 - bits)) as i64 >> (64 - bits);
    let element = bit.div_euclid(i64::from(bits));
    address.wrapping_add((element as u64).wrapping_mul(u64::from(width)))
}
