//! Random sequences.

use iced_x86::{Code, Instruction, Mnemonic, Register};

use crate::{
    fixed, flow, isa,
    random::Random,
    sequence::{Sequence, Step},
};

/// What a campaign draws from.
#[derive(Debug)]
pub struct Generator {
    /// Instructions that this processor has, grouped by how they are made.
    pub integer: Vec<Code>,
    pub vector: Vec<Code>,
    pub seed: u64,
    /// Only instructions that can be single-stepped and counted from outside.
    pub countable: bool,
    /// Also instructions that fault.
    pub faults: bool,
}

const MOST_STEPS: u64 = 28;
const MOST_FUNCTION_STEPS: u64 = 5;
/// Attempts to encode an instruction before its kind is given up.
const ATTEMPTS: usize = 8;

impl Generator {
    pub fn new(codes: Vec<Code>, seed: u64, countable: bool) -> Self {
        let (integer, vector) = codes.into_iter().partition(|code| is_integer(*code));
        Self { integer, vector, seed, countable, faults: false }
    }

    /// The sequence with this number.
    pub fn sequence(&self, index: u64) -> Sequence {
        let mut random = Random::of(self.seed, index);
        let functions = random.below(4) as usize;
        let mut sequence = Sequence::default();
        for number in 0..2 + random.below(MOST_STEPS) as u32 {
            let step = self.step(&mut random, |random| flow::step(random, number, functions));
            sequence.main.push(Step { number, ..step });
        }
        for function in 0..functions {
            let mut steps = vec![flow::entry(&mut random)];
            for _ in 0..random.below(MOST_FUNCTION_STEPS) {
                let nested = function + 1 < functions && random.chance(30);
                steps.push(if nested {
                    flow::nested_call(&mut random, function + 1)
                } else {
                    self.balanced(&mut random)
                });
            }
            steps.push(flow::exit());
            sequence.functions.push(steps);
        }
        sequence
    }

    fn step(&self, random: &mut Random, jump: impl Fn(&mut Random) -> Step) -> Step {
        loop {
            let step = match random.below(100) {
                0..6 if self.faults => fixed::fault(random),
                0..30 => jump(random),
                30..45 => fixed::step(random),
                _ => self.instruction(random),
            };
            if !self.countable || step.lines.iter().all(|line| is_countable(&line.instruction)) {
                return step;
            }
        }
    }

    /// A step of a function: it leaves the stack pointer as it was, and the return address.
    fn balanced(&self, random: &mut Random) -> Step {
        loop {
            let step = self.step(random, fixed::step);
            let instructions = || step.lines.iter().map(|line| &line.instruction);
            let moved: i32 = instructions().map(Instruction::stack_pointer_increment).sum();
            if moved == 0 && instructions().all(spares_the_return_address) {
                return step;
            }
        }
    }

    fn instruction(&self, random: &mut Random) -> Step {
        loop {
            let codes = if random.chance(65) { &self.integer } else { &self.vector };
            let code = random.pick(codes);
            if let Some(step) = (0..ATTEMPTS).find_map(|_| isa::instruction(code, random)) {
                return step;
            }
        }
    }
}

/// Only general-purpose registers: few of the codes, but most of what programs run.
fn is_integer(code: Code) -> bool {
    use iced_x86::OpCodeOperandKind as Kind;
    let info = code.op_code();
    let wide = |kind: &Kind| {
        let name = format!("{kind:?}");
        ["mm", "k_", "kp", "st", "vsib"].iter().any(|part| name.contains(part))
    };
    !info.op_kinds().iter().any(wide) && !format!("{code:?}").starts_with('F')
}

/// Whether an operand on the stack lies below the stack pointer: in the red zone.
fn spares_the_return_address(instruction: &Instruction) -> bool {
    const WIDEST_OPERAND: i64 = 64;
    let displacement = instruction.memory_displacement64() as i64;
    instruction.memory_base() != Register::RSP || displacement <= -WIDEST_OPERAND
}

/// Whether a count by single steps knows what the instruction accesses from its form alone.
fn is_countable(instruction: &Instruction) -> bool {
    let masked =
        instruction.op_mask() != Register::None && instruction.op_count() > 0 && has_memory(instruction);
    let lanes = instruction.is_vsib()
        || matches!(
            instruction.mnemonic(),
            Mnemonic::Vmaskmovps
                | Mnemonic::Vmaskmovpd
                | Mnemonic::Vpmaskmovd
                | Mnemonic::Vpmaskmovq
                | Mnemonic::Maskmovq
                | Mnemonic::Maskmovdqu
                | Mnemonic::Vmaskmovdqu
        );
    !masked && !lanes && !flow::sees_the_trap_flag(instruction)
}

fn has_memory(instruction: &Instruction) -> bool {
    (0..instruction.op_count()).any(|operand| instruction.op_kind(operand) == iced_x86::OpKind::Memory)
}
