//! What registers hold later in a block, as sums of what one held at its beginning and a constant.

use iced_x86::{Instruction, Mnemonic, OpKind, Register};

use crate::{
    decode::operand::{Finder, Operand},
    lane::registers::{Gpr, number::RSP},
};

/// The value of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sum {
    /// The register whose value at the block's beginning is added; `None` for a constant.
    pub of: Option<Gpr>,
    pub plus: u64,
}

/// The values of all registers in front of an instruction, by hardware number; `None` where that is no such sum.
#[derive(Clone, Copy, Debug)]
pub struct Sums([Option<Sum>; 16]);

impl Sums {
    /// At the beginning of a block.
    pub fn at_the_beginning() -> Self {
        Self(std::array::from_fn(|number| Some(Sum { of: Some(Gpr(number as u8)), plus: 0 })))
    }

    /// Of one register.
    pub fn of(&self, register: Gpr) -> Option<Sum> {
        self.0.get(usize::from(register.0)).copied().flatten()
    }

    /// Goes on behind an instruction.
    pub fn pass(&mut self, instruction: &Instruction, finder: &mut Finder) {
        let known = self.result(instruction);
        let written = finder.written(instruction);
        for (number, value) in self.0.iter_mut().enumerate().filter(|(number, _)| written >> number & 1 == 1)
        {
            *value = known.filter(|&(into, _)| usize::from(into.0) == number).map(|(_, sum)| sum);
        }
    }

    /// The register that an instruction sets to a known sum.
    fn result(&self, instruction: &Instruction) -> Option<(Gpr, Sum)> {
        let pushed = match instruction.mnemonic() {
            Mnemonic::Push | Mnemonic::Pop => instruction.stack_pointer_increment(),
            _ => 0,
        };
        if pushed != 0 {
            let sp = Gpr(RSP as u8);
            let popped =
                instruction.mnemonic() == Mnemonic::Pop && instruction.op0_register() == Register::RSP;
            return Some((sp, self.of(sp).filter(|_| !popped)?.and(pushed as u64)));
        }
        if instruction.op_count() == 0 || instruction.op0_kind() != OpKind::Register {
            return None;
        }
        let into = whole(instruction.op0_register())?;
        let before = self.of(into);
        let sum = match instruction.mnemonic() {
            Mnemonic::Mov if instruction.op1_kind() == OpKind::Register => {
                self.of(whole(instruction.op1_register())?)?
            }
            Mnemonic::Mov => constant(immediate(instruction)?),
            Mnemonic::Lea => self.address(instruction)?,
            Mnemonic::Add => before?.and(immediate(instruction)?),
            Mnemonic::Sub => before?.and(immediate(instruction)?.wrapping_neg()),
            Mnemonic::Inc => before?.and(1),
            Mnemonic::Dec => before?.and(u64::MAX),
            _ => return None,
        };
        Some((into, sum))
    }

    /// The address of a memory operand without an index.
    fn address(&self, instruction: &Instruction) -> Option<Sum> {
        let displacement = instruction.memory_displacement64();
        match (instruction.memory_base(), instruction.memory_index()) {
            (Register::RIP | Register::None, Register::None) => Some(constant(displacement)),
            (base, Register::None) => Some(self.of(whole(base)?)?.and(displacement)),
            _ => None,
        }
    }

    /// The operand of an instruction here, in terms of the registers at the beginning.
    pub fn before(&self, operand: &Operand) -> Option<Operand> {
        let of = |register: Option<Gpr>| register.map_or(Some(constant(0)), |register| self.of(register));
        let (base, index) = (of(operand.base)?, of(operand.index)?);
        let scaled = index.plus.wrapping_mul(u64::from(operand.scale));
        let displacement = operand.displacement.wrapping_add(base.plus).wrapping_add(scaled);
        Some(Operand { base: base.of, index: index.of, displacement, ..*operand })
    }
}

impl Sum {
    const fn and(self, plus: u64) -> Self {
        Self { plus: self.plus.wrapping_add(plus), ..self }
    }
}

const fn constant(plus: u64) -> Sum {
    Sum { of: None, plus }
}

/// The second operand, where it is an immediate.
fn immediate(instruction: &Instruction) -> Option<u64> {
    let is_immediate = matches!(
        instruction.op1_kind(),
        OpKind::Immediate8to64 | OpKind::Immediate32to64 | OpKind::Immediate64
    );
    is_immediate.then(|| instruction.immediate(1))
}

/// The register, if it is one of all 64 bits.
fn whole(register: Register) -> Option<Gpr> {
    register.is_gpr64().then(|| Gpr(register.number() as u8))
}

#[cfg(test)]
mod tests {
    use iced_x86::{Decoder, DecoderOptions};

    use super::*;

    const RAX: Gpr = Gpr::RAX;
    const RBX: Gpr = Gpr(3);
    const SP: Gpr = Gpr(RSP as u8);

    /// The sums behind this code.
    fn behind(code: &[u8]) -> Sums {
        let (mut sums, mut finder) = (Sums::at_the_beginning(), Finder::new());
        for instruction in &mut Decoder::with_ip(64, code, 0x1000, DecoderOptions::NONE) {
            assert!(!instruction.is_invalid());
            sums.pass(&instruction, &mut finder);
        }
        sums
    }

    fn sum(of: Gpr, plus: i64) -> Option<Sum> {
        Some(Sum { of: Some(of), plus: plus as u64 })
    }

    #[test]
    fn pushes_move_the_stack_pointer() {
        // push r15; push rbx; sub rsp, 0x18; pop rax
        let sums = behind(&[0x41, 0x57, 0x53, 0x48, 0x83, 0xec, 0x18, 0x58]);
        assert_eq!((sums.of(SP), sums.of(RAX)), (sum(SP, -8 - 8 - 0x18 + 8), None));
        // pop rsp
        assert_eq!(behind(&[0x5c]).of(SP), None);
        // leave
        assert_eq!(behind(&[0xc9]).of(SP), None);
    }

    #[test]
    fn sums_go_from_register_to_register() {
        // mov rax, rbx; add rax, 8; inc rax; lea rbx, [rax - 1]; lea rax, [rip + 0x10]
        let code = [0x48, 0x89, 0xd8, 0x48, 0x83, 0xc0, 8, 0x48, 0xff, 0xc0, 0x48, 0x8d, 0x58, 0xff];
        assert_eq!((behind(&code).of(RAX), behind(&code).of(RBX)), (sum(RBX, 9), sum(RBX, 8)));
        let address = behind(&[0x48, 0x8d, 0x05, 0x10, 0, 0, 0]);
        assert_eq!(address.of(RAX), Some(constant(0x1017)));
    }

    #[test]
    fn other_values_are_not_known() {
        let codes: [&[u8]; 7] = [
            // mov eax, ebx; add eax, 8; mov rax, [rbx]; add rax, rbx; lea rax, [rbx + rcx]; cmove rax, rbx; mov al, 1
            &[0x89, 0xd8],
            &[0x83, 0xc0, 8],
            &[0x48, 0x8b, 0x03],
            &[0x48, 0x01, 0xd8],
            &[0x48, 0x8d, 0x04, 0x0b],
            &[0x48, 0x0f, 0x44, 0xc3],
            &[0xb0, 1],
        ];
        for code in codes {
            assert_eq!((behind(code).of(RAX), behind(code).of(RBX)), (None, sum(RBX, 0)), "{code:x?}");
        }
    }

    #[test]
    fn operands_are_moved_to_the_beginning() {
        // add rbx, 2; inc rax
        let sums = behind(&[0x48, 0x83, 0xc3, 2, 0x48, 0xff, 0xc0]);
        let operand = Operand {
            nth: 0,
            base: Some(RBX),
            index: Some(RAX),
            scale: 4,
            displacement: 100,
            fs: false,
            width: 8,
            kind: carom_base::AccessKind::Load,
        };
        assert_eq!(sums.before(&operand), Some(Operand { displacement: 106, ..operand }));
    }
}
