//! A sequence of instructions that can be placed at an address, and reduced.

use std::mem::offset_of;

use iced_x86::{
    Code, Decoder, DecoderOptions, Encoder, Formatter, Instruction, IntelFormatter, MemoryOperand, Register,
};

use crate::place::{CODE, CONTEXT, Context};

/// The target of an instruction's branch or relative operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    Nothing,
    /// A line of the same step, or its end.
    Line(usize),
    /// The first remaining step from this number on.
    Step(u32),
    Function(usize),
}

#[derive(Clone, Copy, Debug)]
pub struct Line {
    pub instruction: Instruction,
    pub target: Target,
}

/// Instructions that belong together: they are removed as one.
#[derive(Clone, Debug, Default)]
pub struct Step {
    /// Ascending in a sequence; jumps name it.
    pub number: u32,
    pub lines: Vec<Line>,
}

#[derive(Clone, Debug, Default)]
pub struct Sequence {
    pub main: Vec<Step>,
    /// Called from `main` and from functions before them.
    pub functions: Vec<Vec<Step>>,
}

pub const GPRS: [Register; 16] = [
    Register::RAX,
    Register::RCX,
    Register::RDX,
    Register::RBX,
    Register::RSP,
    Register::RBP,
    Register::RSI,
    Register::RDI,
    Register::R8,
    Register::R9,
    Register::R10,
    Register::R11,
    Register::R12,
    Register::R13,
    Register::R14,
    Register::R15,
];

impl Step {
    pub fn push(&mut self, instruction: Instruction) -> &mut Self {
        self.to(instruction, Target::Nothing)
    }

    pub fn to(&mut self, instruction: Instruction, target: Target) -> &mut Self {
        self.lines.push(Line { instruction, target });
        self
    }

    /// A branch without its target yet.
    pub fn branch(&mut self, code: Code, target: Target) -> &mut Self {
        self.to(Instruction::with_branch(code, 0).expect("a branch"), target)
    }

    /// `lea register, [rip+target]`
    pub fn address(&mut self, register: Register, target: Target) -> &mut Self {
        self.to(op!(Lea_r64_m, register, at(0)), target)
    }

    fn encode(&self, start: u64, place: &impl Fn(Target) -> u64) -> Result<(Vec<u8>, Vec<u64>), String> {
        let mut bytes = Vec::new();
        let mut starts = Vec::new();
        for line in &self.lines {
            let mut instruction = line.instruction;
            let here = start + bytes.len() as u64;
            starts.push(here);
            if line.target != Target::Nothing {
                let to = match place(line.target) {
                    0 => here,
                    to => to,
                };
                if instruction.is_ip_rel_memory_operand() {
                    instruction.set_memory_displacement64(to);
                } else {
                    instruction.set_near_branch64(to);
                }
            }
            bytes.extend(encode(&instruction, here)?);
        }
        starts.push(start + bytes.len() as u64);
        Ok((bytes, starts))
    }
}

/// The bytes of an instruction at `here`.
pub fn encode(instruction: &Instruction, here: u64) -> Result<Vec<u8>, String> {
    let mut encoder = Encoder::new(64);
    encoder.encode(instruction, here).map_err(|error| format!("{:?}: {error}", instruction.code()))?;
    Ok(encoder.take_buffer())
}

/// A relative memory operand.
pub fn at(address: u64) -> MemoryOperand {
    MemoryOperand::with_base_displ(Register::RIP, address as i64)
}

/// `op!(code, operands...)`: an instruction with operands that fit.
macro_rules! op {
    ($code:ident) => {
        iced_x86::Instruction::with(iced_x86::Code::$code)
    };
    ($code:ident, $a:expr) => {
        iced_x86::Instruction::with1(iced_x86::Code::$code, $a).expect("operands of the instruction")
    };
    ($code:ident, $a:expr, $b:expr) => {
        iced_x86::Instruction::with2(iced_x86::Code::$code, $a, $b).expect("operands of the instruction")
    };
}
pub(crate) use op;

/// Loads every register from the context, including the flags. The stack pointer is the last but one.
fn prologue() -> Step {
    let mut step = Step::default();
    let context = |offset: usize| at(CONTEXT + offset as u64);
    step.push(op!(Lea_r64_m, Register::RSP, context(offset_of!(Context, flags_before))));
    step.push(op!(Popfq));
    for (number, register) in GPRS.into_iter().enumerate() {
        step.push(op!(Mov_r64_rm64, register, context(offset_of!(Context, before) + 8 * number)));
    }
    step
}

/// How many bytes load the registers.
pub fn prologue_bytes() -> u64 {
    prologue().encode(CODE, &|_| 0).expect("instructions that can be encoded").0.len() as u64
}

/// Stores them, and returns to the address in the context.
fn epilogue() -> Step {
    let mut step = Step::default();
    let context = |offset: usize| at(CONTEXT + offset as u64);
    for (number, register) in GPRS.into_iter().enumerate() {
        step.push(op!(Mov_rm64_r64, context(offset_of!(Context, after) + 8 * number), register));
    }
    step.push(op!(Lea_r64_m, Register::RSP, context(offset_of!(Context, flags_after) + 8)));
    step.push(op!(Pushfq));
    step.push(op!(Lea_r64_m, Register::RSP, context(offset_of!(Context, back))));
    step.push(op!(Retnq));
    step
}

impl Sequence {
    /// Its bytes at `start`.
    pub fn encode(&self, start: u64) -> Result<Vec<u8>, String> {
        // The length of an instruction does not depend on its target, so a first pass finds the addresses.
        let none = |_: Target| 0;
        let (first, last) = (prologue(), epilogue());
        let mut here = start + first.encode(start, &none)?.0.len() as u64;
        let mut steps = Vec::new();
        for step in &self.main {
            steps.push((step.number, here));
            here += step.encode(here, &none)?.0.len() as u64;
        }
        let end = here;
        here += last.encode(here, &none)?.0.len() as u64;
        let mut functions = Vec::new();
        for function in &self.functions {
            functions.push(here);
            for step in function {
                here += step.encode(here, &none)?.0.len() as u64;
            }
        }
        let mut bytes = Vec::new();
        for step in
            [&first].into_iter().chain(&self.main).chain([&last]).chain(self.functions.iter().flatten())
        {
            let here = start + bytes.len() as u64;
            let (_, lines) = step.encode(here, &none)?;
            let place = |target| match target {
                Target::Nothing => 0,
                Target::Line(line) => lines[line],
                Target::Step(number) => {
                    steps.iter().find(|(known, _)| *known >= number).map_or(end, |(_, place)| *place)
                }
                Target::Function(function) => functions[function],
            };
            bytes.extend(step.encode(here, &place)?.0);
        }
        Ok(bytes)
    }

    /// Reduced forms of the sequence, the smaller ones first.
    pub fn without(&self) -> Vec<Self> {
        let mut smaller = Vec::new();
        let mut half = self.main.len() / 2;
        while half > 0 {
            for start in (0..self.main.len()).step_by(half) {
                let mut copy = self.clone();
                copy.main.drain(start..(start + half).min(self.main.len()));
                smaller.push(copy);
            }
            half /= 2;
        }
        for (index, function) in self.functions.iter().enumerate() {
            // The first and the last line make a function callable.
            for step in 1..function.len().saturating_sub(1) {
                let mut copy = self.clone();
                copy.functions[index].remove(step);
                smaller.push(copy);
            }
        }
        smaller
    }
}

/// Code in Intel's notation.
pub fn listing(bytes: &[u8], start: u64) -> String {
    let mut formatter = IntelFormatter::new();
    let mut text = String::new();
    for instruction in &mut Decoder::with_ip(64, bytes, start, DecoderOptions::NONE) {
        let mut line = String::new();
        formatter.format(&instruction, &mut line);
        let at = (instruction.ip() - start) as usize;
        let code: String =
            bytes[at..at + instruction.len()].iter().map(|byte| format!("{byte:02x}")).collect();
        text += &format!("  {:x}: {code:<24} {line}\n", instruction.ip());
    }
    text
}
