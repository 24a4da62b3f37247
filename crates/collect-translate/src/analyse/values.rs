//! What registers hold in a block, as unknown numbers plus constants: which addresses differ by constants.

use iced_x86::{Instruction, Mnemonic, OpKind, Register};

use crate::{
    decode::{
        block::{Block, Decoded},
        operand::{Finder, Operand},
    },
    lane::registers::Gpr,
};

/// What a register holds, as far as the block tells: an unknown number with a name, plus a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Value {
    name: u32,
    offset: i64,
}

/// What all registers hold.
#[derive(Clone, Copy, Debug)]
pub struct Values {
    registers: [Value; 16],
    names: u32,
}

/// An address without its constant part: the names of what base and index hold, the scale, and whether it is relative
/// to FS.
pub type Unknown = (Option<u32>, Option<u32>, u8, bool);

/// What the registers hold in front of each instruction of a block.
pub fn values(finder: &mut Finder, block: &Block) -> Vec<Values> {
    let mut values = Values {
        registers: std::array::from_fn(|number| Value { name: number as u32, offset: 0 }),
        names: 16,
    };
    let mut all = Vec::with_capacity(block.instructions.len());
    for Decoded { instruction, .. } in &block.instructions {
        all.push(values);
        values.step(finder, instruction);
    }
    all
}

impl Values {
    fn of(&self, register: Gpr) -> Value {
        // There are 16 of them.
        self.registers.get(usize::from(register.0)).copied().unwrap_or(Value { name: u32::MAX, offset: 0 })
    }

    fn set(&mut self, register: Gpr, value: Value) {
        if let Some(place) = self.registers.get_mut(usize::from(register.0)) {
            *place = value;
        }
    }

    /// The parts of an address.
    pub fn address(&self, operand: &Operand) -> (Unknown, i64) {
        let [base, index] = [operand.base, operand.index].map(|register| register.map(|it| self.of(it)));
        let offset = |value: Option<Value>| value.map_or(0, |value| value.offset);
        let constant = (operand.displacement as i64)
            .wrapping_add(offset(base))
            .wrapping_add(offset(index).wrapping_mul(i64::from(operand.scale)));
        let name = |value: Option<Value>| value.map(|value| value.name);
        ((name(base), name(index), operand.scale, operand.fs), constant)
    }

    /// The state after `instruction`.
    fn step(&mut self, finder: &mut Finder, instruction: &Instruction) {
        let known = self.known(instruction);
        let pushed = i64::from(instruction.stack_pointer_increment());
        let written = finder.written(instruction);
        for number in (0..16).filter(|number| written >> number & 1 != 0) {
            let register = Gpr(number);
            let value = match known {
                Some((it, value)) if it == register => value,
                // `pop rsp` is excluded: it replaces RSP.
                _ if register == RSP && pushed != 0 && instruction.op0_register() != Register::RSP => {
                    self.of(RSP).plus(pushed)
                }
                _ => {
                    self.names += 1;
                    Value { name: self.names, offset: 0 }
                }
            };
            self.set(register, value);
        }
    }

    /// The register that `instruction` changes and what it holds afterwards, where that is known.
    fn known(&self, instruction: &Instruction) -> Option<(Gpr, Value)> {
        let register = |register: Register| register.is_gpr64().then(|| Gpr(register.number() as u8));
        let target = register(instruction.op0_register())?;
        let constant = |kind| match kind {
            OpKind::Immediate8to64 | OpKind::Immediate32to64 => Some(instruction.immediate(1) as i64),
            _ => None,
        };
        let value = match instruction.mnemonic() {
            Mnemonic::Add => self.of(target).plus(constant(instruction.op1_kind())?),
            Mnemonic::Sub => self.of(target).plus(constant(instruction.op1_kind())?.wrapping_neg()),
            Mnemonic::Inc => self.of(target).plus(1),
            Mnemonic::Dec => self.of(target).plus(-1),
            Mnemonic::Mov if instruction.op1_kind() == OpKind::Register => {
                self.of(register(instruction.op1_register())?)
            }
            Mnemonic::Lea if instruction.memory_index() == Register::None => {
                let base = self.of(register(instruction.memory_base())?);
                base.plus(instruction.memory_displacement64() as i64)
            }
            _ => return None,
        };
        Some((target, value))
    }
}

const RSP: Gpr = Gpr(4);

impl Value {
    const fn plus(self, constant: i64) -> Self {
        Self { offset: self.offset.wrapping_add(constant), ..self }
    }
}
