use carom_base::Skip;
use iced_x86::Instruction;

use crate::accesses::{Operands, StaticAccess};
use crate::code::{Memory, fetch};
use crate::info::Info;
use crate::predecessor::Boundaries;
use crate::registers::Registers;
use crate::shape::may_access;
use crate::statics::{self, Statics};
use crate::walk::{self, Walk};
use crate::{operands, recover};

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
    info: Info,
    boundaries: Boundaries,
}

impl Decoder {
    /// Allocates everything that the other methods need. Not to be called in a handler.
    pub fn new() -> Self {
        Self { info: Info::new(), boundaries: Boundaries::new() }
    }

    /// All memory accesses that the instruction at `regs.rip` is about to make.
    pub fn operands_before(&mut self, regs: &Registers, mem: &impl Memory) -> Operands {
        match fetch(regs.rip, mem) {
            Some(instruction) => operands::of(&mut self.info, &instruction, regs),
            None => Operands::skipped(Skip::Undecodable),
        }
    }

    /// The accesses of the instruction at `predecessor`, which ran last: it left `regs`.
    ///
    /// Addresses are recomputed from the registers before it, which are recovered from those after it where possible.
    /// Where one cannot, the answer is [`Skip::AddressLost`]. For a string instruction this is its last iteration; an
    /// instruction without iterations looks the same.
    pub fn operands_after(&mut self, regs: &Registers, predecessor: u64, mem: &impl Memory) -> Operands {
        match fetch(predecessor, mem) {
            Some(instruction) => recover::operands(&mut self.info, &instruction, regs),
            None => Operands::skipped(Skip::Undecodable),
        }
    }

    /// The instruction that ran before the one at `ip`, by the code alone.
    ///
    /// Decodes from `function_start`, or from a boundary seen earlier, up to `ip`; where neither is known, from several
    /// places, which must agree. A repeated string
    /// instruction at `ip` is its own predecessor: nearly always the timer stopped it between two iterations.
    ///
    /// # Errors
    ///
    /// [`Skip::UnknownPredecessor`] where no boundary before `ip` is known nor found, or where decoding from there
    /// does not meet `ip`. [`Skip::NotFallThrough`] where the instruction in front never falls through to `ip`
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
        walk::walk(&mut self.info.factory, regs, k, mem, |_, _| {})
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
        let walked = walk::walk(&mut self.info.factory, regs, k, mem, |instruction, before| {
            if may_access(instruction) {
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

    /// What `instruction` does each time it runs.
    pub fn statics(&mut self, instruction: &Instruction) -> Statics {
        statics::of(&mut self.info, instruction)
    }

    /// The accesses that `instruction` makes each time it runs, or in one iteration where it is repeated, in the order
    /// of the addresses that [`Self::operands_before`] returns. None where lanes are accessed one by one.
    pub fn each_access(&mut self, instruction: &Instruction, visit: impl FnMut(StaticAccess)) {
        statics::each_access(&mut self.info, instruction, visit);
    }
}

impl Default for Decoder {
    fn default() -> Self {
        Self::new()
    }
}
