//! A small emulator that tracks which values are known.
//!
//! Each general register and flag is known or unknown. An instruction that is not emulated makes everything that it
//! writes unknown. So the walk passes vector code, and stops only where the next instruction depends on an unknown
//! value.

mod alu;
mod bits;
mod execute;
mod flow;
mod integer;
mod machine;
mod memory;
mod poison;
mod repeat;

use carom_base::Skip;
use iced_x86::{DecoderOptions, Instruction, InstructionInfoFactory};

use self::machine::Machine;
use crate::code::{MAX_INSTRUCTION_BYTES, Memory};
use crate::registers::Registers;

/// Code is read in pieces of this size.
const WINDOW_BYTES: usize = 256;

/// Where a walk ended.
#[derive(Clone, Copy, Debug)]
pub enum Walk<'a> {
    /// After exactly `k` steps, with these registers as far as [`Registers::known`] says. The instruction
    /// pointer is always known.
    Arrived(Registers<'a>),
    /// In front of an instruction that the walk cannot pass.
    Stuck {
        /// Steps taken before it.
        after: u32,
        /// The instruction.
        at: u64,
        /// The obstacle.
        why: Obstacle,
    },
}

/// What ends a walk early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// The next instruction depends on an unknown value. The thread can still be single-stepped.
    Unknown,
    /// The next instruction must not be single-stepped either.
    Unsteppable,
    /// There is no instruction that the decoder knows, or its memory cannot be read.
    Undecodable,
}

impl Obstacle {
    /// The sample's fate, or `None` where single-stepping can still reach it.
    pub const fn skip(self) -> Option<Skip> {
        match self {
            Self::Unknown => None,
            Self::Unsteppable => Some(Skip::Unsteppable),
            Self::Undecodable => Some(Skip::Undecodable),
        }
    }
}

/// Where an emulated instruction leads.
enum Next {
    /// To the instruction behind it.
    Through,
    /// To this address.
    To(u64),
    /// To itself: a repeated string instruction with iterations left.
    Again,
    /// Nowhere.
    Stop(Obstacle),
}

/// Takes `k` steps from `regs` on. `visit` sees every instruction that is stepped over, with the registers before it.
pub(super) fn walk<'a>(
    factory: &mut InstructionInfoFactory,
    regs: &Registers<'a>,
    k: u32,
    mem: &impl Memory,
    mut visit: impl FnMut(&Instruction, &Registers<'a>),
) -> Walk<'a> {
    let mut machine = Machine::new(*regs, mem);
    let mut instruction = Instruction::default();
    let mut window = [0; WINDOW_BYTES];
    let mut after = 0;
    loop {
        let start = machine.regs.rip;
        let length = mem.read(start, &mut window);
        let code = window.get(..length).unwrap_or_default();
        let mut decoder = iced_x86::Decoder::with_ip(64, code, start, DecoderOptions::NONE);
        // Where an instruction may start so that it is whole; a short window ends with the readable code.
        let starts = if length == WINDOW_BYTES { length - MAX_INSTRUCTION_BYTES } else { length };
        loop {
            if after == k {
                return Walk::Arrived(machine.regs);
            }
            let at = machine.regs.rip;
            let offset = at.wrapping_sub(start);
            if offset >= starts.max(1) as u64 {
                break;
            }
            let stuck = |why| Walk::Stuck { after, at, why };
            if decoder.set_position(offset as usize).is_err() {
                return stuck(Obstacle::Undecodable);
            }
            decoder.set_ip(at);
            decoder.decode_out(&mut instruction);
            if instruction.is_invalid() {
                return stuck(Obstacle::Undecodable);
            }
            visit(&instruction, &machine.regs);
            machine.regs.rip = match machine.execute(factory, &instruction) {
                Next::Through => instruction.next_ip(),
                Next::To(target) => target,
                Next::Again => at,
                Next::Stop(why) => return stuck(why),
            };
            after += 1;
        }
    }
}
