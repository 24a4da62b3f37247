//! Instructions whose operands are implied, with registers prepared so that they stay inside the data.

use iced_x86::{Code, Instruction, MemoryOperand, Register as R};

use crate::{
    isa::{address, base_address, gpr},
    place::{CODE, CONSTANTS, MXCSR_VALUES, MXCSRS, X87_CONTROL_VALUES, X87_CONTROLS},
    random::Random,
    sequence::{Step, at, op},
};

/// The arithmetic flags and the direction flag; bit 1 is always set.
const SETTABLE_FLAGS: u64 = 0x8d5 | 1 << 10;
const ALWAYS_SET: u64 = 2;

/// One of them.
pub fn step(random: &mut Random) -> Step {
    match random.below(12) {
        0..=3 => string(random),
        4..=5 => division(random),
        6..=7 => flags(random),
        8 => control(random),
        9 => implied(random),
        10 => stack(random),
        _ => locked(random),
    }
}

/// Instructions that raise a signal whatever the registers hold.
pub fn fault(random: &mut Random) -> Step {
    const NULL: u64 = 0x10;
    const NOT_CANONICAL: u64 = 1 << 62;
    let mut step = Step::default();
    let (register, other) = (random.pick(&[R::RBX, R::RSI, R::R9, R::R14]), gpr(random));
    match random.below(8) {
        0 => step.push(op!(Mov_r64_imm64, register, random.pick(&[NULL, NOT_CANONICAL]))).push(op!(
            Adc_r64_rm64,
            other,
            MemoryOperand::with_base(register)
        )),
        // Memory that may be read but not written.
        1 => step.push(op!(Add_rm64_r64, at(CODE), other)),
        2 => step.push(op!(Mov_r32_imm32, R::ECX, 0u32)).push(op!(Div_rm64, R::RCX)),
        // The quotient does not fit.
        3 => step
            .push(op!(Mov_r32_imm32, R::EDX, 0x7fff_ffffu32))
            .push(op!(Mov_r32_imm32, R::EBX, 1u32))
            .push(op!(Idiv_rm32, R::EBX)),
        4 => step.push(op!(Ud2)),
        5 => step.push(op!(Int3)),
        // A stack pointer without a stack.
        6 => step.push(op!(Mov_r64_imm64, R::RSP, NULL)).push(op!(Push_r64, register)),
        _ => step.push(op!(Mov_r64_imm64, R::RSP, NULL)).push(op!(Retnq)),
    };
    step
}

/// A string instruction, alone or repeated; the count may be 0.
fn string(random: &mut Random) -> Step {
    use Code::*;
    const STRINGS: [Code; 20] = [
        Movsb_m8_m8,
        Movsw_m16_m16,
        Movsd_m32_m32,
        Movsq_m64_m64,
        Stosb_m8_AL,
        Stosw_m16_AX,
        Stosd_m32_EAX,
        Stosq_m64_RAX,
        Lodsb_AL_m8,
        Lodsw_AX_m16,
        Lodsd_EAX_m32,
        Lodsq_RAX_m64,
        Cmpsb_m8_m8,
        Cmpsw_m16_m16,
        Cmpsd_m32_m32,
        Cmpsq_m64_m64,
        Scasb_AL_m8,
        Scasw_AX_m16,
        Scasd_EAX_m32,
        Scasq_RAX_m64,
    ];
    let mut step = Step::default();
    let code = random.pick(&STRINGS);
    let (source, destination) = (address(random, false), address(random, false));
    step.push(base_address(R::RSI, source, random));
    // Sometimes the two overlap closely.
    let destination = if random.chance(20) { source + random.below(9) } else { destination };
    step.push(base_address(R::RDI, destination, random));
    let mut instruction = string_instruction(code);
    if random.chance(75) {
        step.push(op!(Mov_r32_imm32, R::ECX, random.below(24) as u32));
        // Both prefixes mean the same where nothing is compared.
        if random.chance(60) {
            instruction.set_has_rep_prefix(true);
        } else {
            instruction.set_has_repne_prefix(true);
        }
    }
    step.push(instruction);
    step
}

fn string_instruction(code: Code) -> Instruction {
    use iced_x86::{OpCodeOperandKind as Kind, OpKind};
    let mut instruction = Instruction::default();
    instruction.set_code(code);
    for operand in 0..code.op_code().op_count() {
        match code.op_code().op_kind(operand) {
            Kind::seg_rSI => instruction.set_op_kind(operand, OpKind::MemorySegRSI),
            Kind::es_rDI => instruction.set_op_kind(operand, OpKind::MemoryESRDI),
            Kind::al => instruction.set_op_register(operand, R::AL),
            Kind::ax => instruction.set_op_register(operand, R::AX),
            Kind::eax => instruction.set_op_register(operand, R::EAX),
            _ => instruction.set_op_register(operand, R::RAX),
        }
    }
    instruction
}

/// A division that does not overflow: a dividend of half the width, a divisor that is not 0.
fn division(random: &mut Random) -> Step {
    let mut step = Step::default();
    let divisor = random.pick(&[R::RBX, R::RCX, R::RSI, R::RBP, R::R8, R::R11, R::R15]);
    let signed = random.chance(50);
    step.push(op!(Mov_r32_imm32, R::EDX, 0u32));
    step.push(op!(Mov_r32_imm32, divisor.full_register32(), 1 + random.below(1 << 14) as u32));
    let instruction = match (random.below(3), signed) {
        (0, false) => op!(Div_rm64, divisor),
        (1, false) => op!(Div_rm32, divisor.full_register32()),
        (_, false) => {
            step.push(op!(Movzx_r32_rm8, R::EAX, R::AL));
            op!(Div_rm16, divisor.full_register32() - 16u32)
        }
        (0, true) => {
            step.push(Instruction::with(Code::Cqo));
            op!(Idiv_rm64, divisor)
        }
        (1, true) => {
            step.push(Instruction::with(Code::Cdq));
            op!(Idiv_rm32, divisor.full_register32())
        }
        (_, true) => {
            step.push(Instruction::with(Code::Cwd));
            op!(Idiv_rm16, divisor.full_register32() - 16u32)
        }
    };
    step.push(instruction);
    step
}

/// Everything that handles flags as a whole.
fn flags(random: &mut Random) -> Step {
    let mut step = Step::default();
    match random.below(5) {
        0 => step
            .push(op!(Pushq_imm32, (random.number() & SETTABLE_FLAGS | ALWAYS_SET) as i32))
            .push(op!(Popfq)),
        1 => step.push(op!(Pushfq)).push(op!(Pop_r64, gpr(random))),
        2 => step.push(op!(Lahf)),
        3 => step.push(op!(Sahf)),
        _ => step.push(if random.chance(50) { op!(Cld) } else { op!(Std) }),
    };
    step
}

/// Control registers of floating-point units.
fn control(random: &mut Random) -> Step {
    let mut step = Step::default();
    match random.below(5) {
        0 => step.push(op!(
            Fldcw_m2byte,
            at(CONSTANTS + X87_CONTROLS + 2 * random.below(X87_CONTROL_VALUES.len() as u64))
        )),
        1 => {
            step.push(op!(Ldmxcsr_m32, at(CONSTANTS + MXCSRS + 4 * random.below(MXCSR_VALUES.len() as u64))))
        }
        2 => step.push(op!(
            VEX_Vldmxcsr_m32,
            at(CONSTANTS + MXCSRS + 4 * random.below(MXCSR_VALUES.len() as u64))
        )),
        3 => step.push(op!(Mov_r32_imm32, R::ECX, 0u32)).push(op!(Xgetbv)),
        _ => step.push(op!(Fninit)),
    };
    step
}

/// Addresses in registers that the instruction does not name.
fn implied(random: &mut Random) -> Step {
    use iced_x86::OpKind;
    let mut step = Step::default();
    let masked = |code, first, number: u64, other: u64| {
        let mut instruction = Instruction::default();
        instruction.set_code(code);
        instruction.set_op_kind(0, OpKind::MemorySegRDI);
        instruction.set_op1_register(first + number as u32);
        instruction.set_op2_register(first + other as u32);
        instruction
    };
    let (one, other) = (random.below(8), random.below(8));
    match random.below(4) {
        0 => {
            let mut instruction = Instruction::default();
            instruction.set_code(Code::Xlat_m8);
            instruction.set_op0_kind(OpKind::Memory);
            instruction.set_memory_base(R::RBX);
            instruction.set_memory_index(R::AL);
            step.push(base_address(R::RBX, address(random, false), random)).push(instruction)
        }
        1 => step.push(base_address(R::RDI, address(random, false), random)).push(masked(
            Code::Maskmovq_rDI_mm_mm,
            R::MM0,
            one,
            other,
        )),
        2 => step.push(base_address(R::RDI, address(random, false), random)).push(masked(
            Code::Maskmovdqu_rDI_xmm_xmm,
            R::XMM0,
            one,
            other,
        )),
        _ => step.push(base_address(R::RDI, address(random, false), random)).push(masked(
            Code::VEX_Vmaskmovdqu_rDI_xmm_xmm,
            R::XMM0,
            one,
            other,
        )),
    };
    step
}

/// A frame that is made and left again, pushes and pops beside.
fn stack(random: &mut Random) -> Step {
    let mut step = Step::default();
    let register = gpr(random);
    match random.below(3) {
        0 => step
            .push(op!(Enterq_imm16_imm8, random.below(64) as u32, 0u32))
            .push(op!(Pushq_imm8, -3i32))
            .push(op!(Mov_rm64_r64, at(address(random, false)), register))
            .push(op!(Leaveq)),
        1 => step.push(op!(Push_r64, R::RSP)).push(op!(Pop_r64, register)),
        _ => step.push(op!(Push_r64, register)).push(op!(Pop_r64, gpr(random))),
    };
    step
}

/// A read-modify-write that others could compete for.
fn locked(random: &mut Random) -> Step {
    let mut step = Step::default();
    let (place, register) = (at(address(random, true)), gpr(random));
    let mut instruction = match random.below(5) {
        0 => op!(Cmpxchg_rm64_r64, place, register),
        1 => op!(Xadd_rm64_r64, place, register),
        2 => op!(Inc_rm64, place),
        3 => op!(Cmpxchg16b_m128, place),
        _ => op!(Xchg_rm64_r64, place, register),
    };
    instruction.set_has_lock_prefix(random.chance(70));
    step.push(instruction);
    step
}
