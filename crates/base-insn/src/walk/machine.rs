use iced_x86::{Instruction, OpKind, Register};

use super::alu::Outcome;
use super::memory::Overlay;
use crate::code::Memory;
use crate::registers::{Registers, mask};

/// Registers and memory of a walk.
pub(super) struct Machine<'m, 'a, M> {
    pub regs: Registers<'a>,
    pub memory: Overlay<'m, M>,
}

/// Where an operand is, evaluated once: instructions that read and write it may change its registers.
#[derive(Clone, Copy)]
pub(super) enum Location {
    Register(Register),
    /// The address, or `None` where it is not known.
    Memory(Option<u64>),
    Immediate(u64),
}

impl<'m, 'a, M: Memory> Machine<'m, 'a, M> {
    pub fn new(regs: Registers<'a>, mem: &'m M) -> Self {
        Self { regs, memory: Overlay::new(mem) }
    }

    /// Where operand `number` of `i` is. Immediates are sign-extended.
    pub fn location(&self, i: &Instruction, number: u32) -> Location {
        match i.try_op_kind(number).unwrap_or(OpKind::Register) {
            OpKind::Register => Location::Register(i.try_op_register(number).unwrap_or_default()),
            OpKind::Memory => Location::Memory(self.address(i)),
            _ => i.try_immediate(number).map_or(Location::Memory(None), Location::Immediate),
        }
    }

    /// The value at `location`, zero-extended.
    pub fn get(&self, location: Location, bytes: u32) -> Option<u64> {
        match location {
            Location::Register(register) => self.regs.read(register),
            Location::Memory(address) => self.memory.load(address?, bytes),
            Location::Immediate(value) => Some(value & mask(bytes)),
        }
    }

    pub fn set(&mut self, location: Location, bytes: u32, value: Option<u64>) {
        match location {
            Location::Register(register) if register.is_gpr() => self.regs.write(register, value),
            Location::Register(register) => self.regs.forget(register),
            Location::Memory(address) => self.memory.store(address, bytes, value),
            Location::Immediate(_) => {}
        }
    }

    /// The value of operand `number`.
    pub fn operand(&self, i: &Instruction, number: u32) -> Option<u64> {
        self.get(self.location(i, number), bytes(i, number))
    }

    /// Writes operand 0.
    pub fn assign(&mut self, i: &Instruction, value: Option<u64>) {
        self.set(self.location(i, 0), bytes(i, 0), value);
    }

    /// The effective address of the memory operand, with its segment.
    pub fn address(&self, i: &Instruction) -> Option<u64> {
        let offset = self.offset(i)?;
        match i.memory_segment() {
            segment @ (Register::FS | Register::GS) => {
                Some(offset.wrapping_add(self.regs.address_part(segment)?))
            }
            _ => Some(offset),
        }
    }

    /// The same without its segment, as `lea` has it.
    pub fn offset(&self, i: &Instruction) -> Option<u64> {
        let (base, index) = (i.memory_base(), i.memory_index());
        if matches!(base, Register::RIP | Register::EIP) {
            return Some(i.memory_displacement64());
        }
        let mut offset = i.memory_displacement64();
        if base != Register::None {
            offset = offset.wrapping_add(self.regs.read(base)?);
        }
        if index != Register::None {
            let scale = u64::from(i.memory_index_scale());
            offset = offset.wrapping_add(self.regs.read(index)?.wrapping_mul(scale));
        }
        let narrow = base.is_gpr32() || index.is_gpr32();
        Some(if narrow { offset & mask(4) } else { offset })
    }

    /// Sets the flags in `written` to those that `outcome` defines; the others become unknown.
    pub fn set_flags(&mut self, outcome: Option<Outcome>, written: u64) {
        self.regs.known.rflags &= !written;
        if let Some(outcome) = outcome {
            self.regs.rflags = self.regs.rflags & !written | outcome.flags & written;
            self.regs.known.rflags |= outcome.defined & written;
        }
    }

    /// One flag, where it is known.
    pub fn flag(&self, flag: u64) -> Option<bool> {
        (self.regs.known.rflags & flag != 0).then_some(self.regs.rflags & flag != 0)
    }
}

/// Bytes of operand `number`, 1 to 8 for everything that is emulated.
pub(super) fn bytes(i: &Instruction, number: u32) -> u32 {
    let bytes = match i.try_op_kind(number) {
        Ok(OpKind::Register) => i.try_op_register(number).unwrap_or_default().size(),
        Ok(OpKind::Memory) => i.memory_size().size(),
        // Immediates are as wide as the other operand.
        _ if number > 0 => return bytes(i, 0),
        _ => 8,
    };
    (bytes as u32).clamp(1, 8)
}

/// RAX and its parts.
pub(super) const fn accumulator(bytes: u32) -> Register {
    match bytes {
        1 => Register::AL,
        2 => Register::AX,
        4 => Register::EAX,
        _ => Register::RAX,
    }
}

/// RDX and its parts, AH for bytes: the upper half of products and dividends.
pub(super) const fn upper_half(bytes: u32) -> Register {
    match bytes {
        1 => Register::AH,
        2 => Register::DX,
        4 => Register::EDX,
        _ => Register::RDX,
    }
}
