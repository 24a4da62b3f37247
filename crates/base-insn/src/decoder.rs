use carom_base::Skip;
use iced_x86::{DecoderOptions, Instruction, InstructionInfoFactory};

use crate::operands::{self, Operands};
use crate::predecessor::Boundaries;
use crate::recover;
use crate::registers::Registers;
use crate::walk::{self, Walk};
use crate::xsave::Layout;

/// No x86 instruction is longer.
pub const MAX_INSTRUCTION_BYTES: usize = 15;

/// The code and data of the interrupted process.
pub trait Memory {
    /// Copies up to `buf.len()` bytes from `addr` on and returns how many were readable. Never faults.
    fn read(&self, addr: u64, buf: &mut [u8]) -> usize;
}

/// One of the instructions ahead that access memory.
#[derive(Clone, Copy, Debug)]
pub struct Draw<'a> {
    /// The registers before it, as far as they are known; `None` where no instruction accesses memory.
    pub registers: Option<Registers<'a>>,
    /// How many steps ahead it is.
    pub steps: u32,
    /// Out of how many.
    pub accesses: u32,
}

/// One thread's decoder, with its scratch memory and its caches of instruction boundaries.
pub struct Decoder {
    pub(crate) factory: InstructionInfoFactory,
    pub(crate) layout: Layout,
    boundaries: Boundaries,
}

impl Decoder {
    /// Allocates everything that the other methods need. Not to be called in a handler.
    pub fn new() -> Self {
        let mut factory = InstructionInfoFactory::new();
        for bytes in HUNGRY {
            // The first decoding anywhere in the process also builds the decoder's tables.
            let _ = factory.info(&decode(bytes, 0));
        }
        Self { factory, layout: Layout::of_this_processor(), boundaries: Boundaries::new() }
    }

    /// All memory accesses that the instruction at `regs.rip` is about to make.
    pub fn operands_before(&mut self, regs: &Registers, mem: &impl Memory) -> Operands {
        match fetch(regs.rip, mem) {
            Some(instruction) => operands::of(self, &instruction, regs),
            None => Operands::skipped(Skip::Undecodable),
        }
    }

    /// The accesses of the instruction at `predecessor`, which ran last: it left `regs`.
    ///
    /// Addresses are recomputed from the registers before it, as far as they can be told from those after
    /// it. Where one cannot, the answer is [`Skip::AddressLost`]. For a string instruction this is its last
    /// iteration; that it may have had none is not visible any more.
    pub fn operands_after(&mut self, regs: &Registers, predecessor: u64, mem: &impl Memory) -> Operands {
        match fetch(predecessor, mem) {
            Some(instruction) => recover::operands(self, &instruction, regs),
            None => Operands::skipped(Skip::Undecodable),
        }
    }

    /// The instruction that ran before the one at `ip`, as far as the code tells.
    ///
    /// Decodes from `function_start`, or from a boundary seen earlier, up to `ip`. A repeated string
    /// instruction at `ip` is its own predecessor: nearly always the timer stopped it between two iterations.
    ///
    /// # Errors
    ///
    /// [`Skip::UnknownPredecessor`] where no boundary before `ip` is known, or where decoding from there does
    /// not meet `ip`. [`Skip::NotFallThrough`] where the instruction in front never falls through to `ip`
    /// (jump, return, call: after a call it was the callee's return that ran), and at a function's start.
    pub fn predecessor(
        &mut self,
        ip: u64,
        function_start: Option<u64>,
        mem: &impl Memory,
    ) -> Result<u64, Skip> {
        self.boundaries.predecessor(ip, function_start, mem)
    }

    /// Forgets every cached boundary: to be called when code was unmapped or replaced.
    pub fn forget_code(&mut self) {
        self.boundaries.forget();
    }

    /// Follows the program for `k` instructions from `regs` on, without executing anything.
    ///
    /// One step is what one hardware single-step does: an iteration of a repeated string instruction, else
    /// one instruction. Memory is read where the program would read it, at the time of this call, so the
    /// answer is a prediction where other threads write what this one branches on.
    pub fn walk<'a>(&mut self, regs: &Registers<'a>, k: u32, mem: &impl Memory) -> Walk<'a> {
        walk::walk(&mut self.factory, regs, k, mem, |_, _| {})
    }

    /// Follows the program for `k` instructions, as [`Self::walk`] does, and draws one of those on the way that
    /// access memory, each with equal probability. `below(n)` is a random number from 0 to n - 1.
    ///
    /// `None` where the whole way cannot be followed.
    pub fn draw<'a>(
        &mut self,
        regs: &Registers<'a>,
        k: u32,
        mem: &impl Memory,
        mut below: impl FnMut(u32) -> u32,
    ) -> Option<Draw<'a>> {
        let mut draw = Draw { registers: None, steps: 0, accesses: 0 };
        let mut steps = 0;
        let walked = walk::walk(&mut self.factory, regs, k, mem, |instruction, before| {
            if operands::may_access(instruction) {
                draw.accesses += 1;
                // A reservoir of one.
                if below(draw.accesses) == 0 {
                    draw.registers = Some(*before);
                    draw.steps = steps;
                }
            }
            steps += 1;
        });
        matches!(walked, Walk::Arrived(_)).then_some(draw)
    }
}

impl Default for Decoder {
    fn default() -> Self {
        Self::new()
    }
}

/// The instruction at `ip`.
pub(crate) fn fetch(ip: u64, mem: &impl Memory) -> Option<Instruction> {
    let mut bytes = [0; MAX_INSTRUCTION_BYTES];
    let length = mem.read(ip, &mut bytes);
    let instruction = decode(bytes.get(..length)?, ip);
    (!instruction.is_invalid()).then_some(instruction)
}

fn decode(bytes: &[u8], ip: u64) -> Instruction {
    iced_x86::Decoder::with_ip(64, bytes, ip, DecoderOptions::NONE).decode()
}

/// The instructions with the most registers and the most memory operands: asking for them once makes the
/// factory's lists as long as they will ever be.
const HUNGRY: [&[u8]; 6] = [
    // vzeroall and vzeroupper: all vector registers, the latter twice.
    &[0xc5, 0xfc, 0x77],
    &[0xc5, 0xf8, 0x77],
    // frstor [rax]: all x87 and MMX registers.
    &[0xdd, 0x20],
    // fxrstor [rax]: x87, MMX and XMM registers.
    &[0x0f, 0xae, 0x08],
    // xrstor [rax].
    &[0x0f, 0xae, 0x28],
    // enter 0, 31: 31 frame pointers loaded and stored.
    &[0xc8, 0x00, 0x00, 31],
];
