//! Transfers of control. Jumps between steps go forward; jumps back consume fuel, so every sequence ends.
//!
//! Flags are live across calls, returns and indirect jumps in most cases. Sometimes the targets begin by overwriting
//! them, as in compiled code: then the translator need not preserve them. The kernel destroys RCX at a system call.

use iced_x86::{Code, Instruction, MemoryOperand, Register as R};

use crate::{
    isa::{address, gpr},
    place::{FLAGLESS_FUEL, FUEL},
    random::Random,
    sequence::{Step, Target, at, op},
};

const CONDITIONS: [Code; 16] = {
    use Code::*;
    [
        Jo_rel32_64,
        Jno_rel32_64,
        Jb_rel32_64,
        Jae_rel32_64,
        Je_rel32_64,
        Jne_rel32_64,
        Jbe_rel32_64,
        Ja_rel32_64,
        Js_rel32_64,
        Jns_rel32_64,
        Jp_rel32_64,
        Jnp_rel32_64,
        Jl_rel32_64,
        Jge_rel32_64,
        Jle_rel32_64,
        Jg_rel32_64,
    ]
};

const SHORT_CONDITIONS: [Code; 4] = [Code::Jb_rel8_64, Code::Jne_rel8_64, Code::Jl_rel8_64, Code::Jp_rel8_64];

const COUNTED: [Code; 7] = [
    Code::Loop_rel8_64_RCX,
    Code::Loope_rel8_64_RCX,
    Code::Loopne_rel8_64_RCX,
    Code::Jrcxz_rel8_64,
    Code::Jecxz_rel8_64,
    Code::Loop_rel8_64_ECX,
    Code::Loope_rel8_64_ECX,
];

/// The largest distance of a jump between steps.
const FARTHEST: u64 = 8;

/// Overwrites all arithmetic flags, or shows them, or does neither.
fn arrive(step: &mut Step, random: &mut Random) {
    if random.chance(25) {
        let condition = random.pick(&[Code::Setb_rm8, Code::Setl_rm8, Code::Setp_rm8, Code::Setbe_rm8]);
        step.push(Instruction::with1(condition, R::BL).expect("operands of the instruction"));
    }
    if random.chance(60) {
        return;
    }
    let (one, other) = (gpr(random), gpr(random));
    step.push(match random.below(3) {
        0 => op!(Cmp_r64_rm64, one, other),
        1 => op!(Add_r32_rm32, one.full_register32(), other.full_register32()),
        _ => op!(Neg_rm64, one),
    });
}

/// A jump, from the step numbered `number` of a sequence of `steps`. `functions`: how many can be called.
pub fn step(random: &mut Random, number: u32, functions: usize) -> Step {
    match random.below(16) {
        0..=4 => conditional(random, number),
        5..=6 => counted(random, number),
        7..=9 => back(random, number),
        10 => Step::default().branch(Code::Jmp_rel32_64, ahead(random, number)).clone(),
        11..=12 if functions > 0 => call(random, functions),
        _ => local(random),
    }
}

fn ahead(random: &mut Random, number: u32) -> Target {
    Target::Step(number + 1 + random.below(FARTHEST) as u32)
}

fn behind(random: &mut Random, number: u32) -> Target {
    Target::Step(number.saturating_sub(random.below(FARTHEST) as u32))
}

fn conditional(random: &mut Random, number: u32) -> Step {
    Step::default().branch(random.pick(&CONDITIONS), ahead(random, number)).clone()
}

/// `loop` and its kin have short forms only: a jump to a jump.
fn counted(random: &mut Random, number: u32) -> Step {
    let mut step = Step::default();
    if random.chance(50) {
        step.push(op!(Mov_r32_imm32, R::ECX, random.below(3) as u32));
    }
    let lines = step.lines.len();
    step.branch(random.pick(&COUNTED), Target::Line(lines + 2))
        .branch(Code::Jmp_rel8_64, Target::Line(lines + 3))
        .branch(Code::Jmp_rel32_64, ahead(random, number));
    step
}

/// A jump back, of any kind, while there is fuel.
fn back(random: &mut Random, number: u32) -> Step {
    let mut step = Step::default();
    let target = behind(random, number);
    if random.chance(50) {
        // Flags are those of the subtraction.
        step.push(op!(Sub_rm64_imm8, at(FUEL), 1i32));
        let code = random.pick(&CONDITIONS);
        if random.chance(50) {
            step.branch(Code::Jns_rel32_64, target);
        } else {
            step.branch(Code::Js_rel8_64, Target::Line(3)).branch(code, target);
        }
    } else {
        // Flags pass through: the loop counts without arithmetic.
        step.push(op!(Mov_r64_rm64, R::RCX, at(FLAGLESS_FUEL)))
            .branch(Code::Jrcxz_rel8_64, Target::Line(5))
            .push(op!(Lea_r64_m, R::RCX, MemoryOperand::with_base_displ(R::RCX, -1)))
            .push(op!(Mov_rm64_r64, at(FLAGLESS_FUEL), R::RCX))
            .branch(random.pick(&CONDITIONS), target);
    }
    step
}

fn call(random: &mut Random, functions: usize) -> Step {
    let mut step = Step::default();
    let function = Target::Function(random.below(functions as u64) as usize);
    let register = gpr(random);
    match random.below(4) {
        0 | 1 => step.branch(Code::Call_rel32_64, function),
        2 => step.address(register, function).push(op!(Call_rm64, register)),
        _ => {
            let place = address(random, false);
            step.address(register, function)
                .push(op!(Mov_rm64_r64, at(place), register))
                .push(op!(Call_rm64, at(place)))
        }
    };
    arrive(&mut step, random);
    step
}

/// Transfers within the step, of kinds that need a target prepared for them.
fn local(random: &mut Random) -> Step {
    let mut step = Step::default();
    let register = gpr(random);
    match random.below(8) {
        // A short jump over one instruction.
        0 => {
            step.branch(random.pick(&SHORT_CONDITIONS), Target::Line(2)).push(op!(Not_rm64, register));
        }
        // A jump to a register.
        1 => {
            step.address(register, Target::Line(3)).push(op!(Jmp_rm64, register)).push(op!(Ud2));
        }
        // A table of jumps in memory.
        2 => {
            let (base, index) = (R::RDX, random.pick(&[R::RAX, R::R8, R::R10, R::R11]));
            let table = address(random, true);
            step.address(base, Target::Line(9))
                .push(op!(Mov_rm64_r64, at(table), base))
                .address(base, Target::Line(7))
                .push(op!(Mov_rm64_r64, at(table + 8), base))
                .push(op!(Lea_r64_m, base, at(table)))
                .push(op!(And_rm32_imm8, index.full_register32(), 1i32))
                .push(op!(Jmp_rm64, MemoryOperand::with_base_index_scale(base, index, 8)));
            // Line 7, and line 8, which reads no flag and leaves them be.
            step.push(op!(Neg_rm64, R::RBX)).push(op!(Not_rm64, R::RBX)).push(op!(
                Sub_r64_rm64,
                R::R9,
                index
            ));
        }
        // As through the linkage table.
        3 => {
            let place = address(random, false);
            step.address(R::RAX, Target::Line(4))
                .push(op!(Mov_rm64_r64, at(place), R::RAX))
                .push(op!(Jmp_rm64, at(place)))
                .push(op!(Ud2));
            arrive(&mut step, random);
        }
        // A return that was never called.
        4 => {
            step.address(register, Target::Line(4))
                .push(op!(Push_r64, register))
                .push(if random.chance(50) { op!(Retnq) } else { op!(Retnq_imm16, 8u32) })
                .push(op!(Ud2));
            arrive(&mut step, random);
        }
        // A call that never returns: the code asks for its own address.
        5 => {
            step.branch(Code::Call_rel32_64, Target::Line(1));
            arrive(&mut step, random);
            step.push(op!(Pop_r64, register));
        }
        // A system call between a flag's producer and its consumer.
        6 => {
            const GETPID: u32 = 39;
            step.push(op!(Cmp_r64_rm64, register, gpr(random)))
                .push(op!(Mov_r32_imm32, R::EAX, GETPID))
                .push(op!(Syscall))
                .push(op!(Mov_r32_imm32, R::ECX, random.below(8) as u32))
                .push(op!(Setbe_rm8, R::BL))
                .push(op!(Mov_r32_imm32, R::EAX, 0u32));
        }
        // An unconditional jump over nonsense.
        _ => {
            step.branch(Code::Jmp_rel8_64, Target::Line(2)).push(op!(Ud2));
        }
    }
    step
}

/// The beginning of a function, wherever it is called from.
pub fn entry(random: &mut Random) -> Step {
    let mut step = Step::default();
    arrive(&mut step, random);
    step
}

/// Its end.
pub fn exit() -> Step {
    Step::default().push(op!(Retnq)).clone()
}

/// A call from one function to a later one.
pub fn nested_call(random: &mut Random, to: usize) -> Step {
    let mut step = Step::default();
    let function = Target::Function(to);
    if random.chance(50) {
        step.branch(Code::Call_rel32_64, function);
    } else {
        let register = gpr(random);
        step.address(register, function).push(op!(Call_rm64, register));
    }
    arrive(&mut step, random);
    step
}

/// Whether the sequence reveals its flags, or the memory around its return addresses, while it is stepped.
pub fn sees_the_trap_flag(instruction: &Instruction) -> bool {
    matches!(instruction.code(), Code::Pushfq | Code::Pushfw | Code::Popfq | Code::Popfw | Code::Syscall)
}
