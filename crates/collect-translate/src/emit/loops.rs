//! Blocks that jump to themselves count in a register.
//!
//! A counter in memory costs such a loop a read, a write, and the time from a write to the next read of the same word,
//! which may be longer than all else that a short loop does. So a register that the block does not use holds the
//! counter from the entry of the loop to its end:
//!
//! ```text
//!   entry:  mov gs:[L], register; mov register, gs:[counter]
//!   top:    sub register, 1; js exit             (where flags are live and nothing is sampled: lea)
//!           the block; jcc top
//!           mov gs:[counter], register; mov register, gs:[L]
//! ```
//!
//! The exits restore both as well. A signal finds the register by its mark, and writes the counter to memory first
//! (`signal::context`). What other threads read of the counter is as old as the last of these;
//! [`count_in_memory`](crate::count_in_memory) is for those who need it to be new.

use iced_x86::Instruction;

use super::{Builder, count::JUMP_BYTES, is_syscall, may_set_trap_flag, plan::free, transfer::condition};
use crate::{
    blocks::code::{Code, jumps::Loop},
    decode::block::{Block, may_fall_through},
    encode::{loops::Counting, marks::Undo},
    lane::{
        exit::{Exit, Reason},
        registers::Gpr,
    },
    probes::{counter::Counter, mode::Mode},
};

/// The size of `sub`.
const COUNT_BYTES: u64 = 4;

/// A loop that counts in a register.
#[derive(Clone, Copy, Debug)]
pub struct Looping {
    pub counting: Counting,
    /// Where it is entered, and where a round begins.
    entry: u64,
    top: u64,
}

impl Builder<'_> {
    /// The register that can hold the block's counter, where the block jumps to itself.
    pub(super) fn register_for_loop(&mut self, block: &Block) -> Option<Gpr> {
        let counts = self.cache.counts_in_registers && matches!(self.mode, Mode::Count | Mode::Sample { .. });
        let is_loop = |last: &Instruction| {
            last.is_jcc_short_or_near() && may_fall_through(last) && last.near_branch_target() == block.pc
        };
        if !counts || !block.last().is_some_and(is_loop) {
            return None;
        }
        let mut used = 0;
        for decoded in &block.instructions {
            let (instruction, statics) = (&decoded.instruction, &decoded.statics);
            let is_plain = !statics.lanes && statics.repeated.is_none() && !is_syscall(instruction);
            if !is_plain || may_set_trap_flag(instruction) {
                return None;
            }
            used |= self.finder.registers(instruction);
        }
        // Whether a sample is due is found out by the flags.
        let flags_are_free = !self.is_sampled(block) || !self.flags_matter_before(block);
        free(used).next().filter(|_| flags_are_free)
    }

    /// Pads in front of a loop.
    pub(super) fn align_loop(&mut self, block: &Block) {
        let jump_to_exit = if self.is_sampled(block) { JUMP_BYTES } else { 0 };
        let body = block.instructions.iter().rev().skip(1).map(|decoded| decoded.instruction.len() as u64);
        let Some(counter) = self.cache.arenas.get(self.index).map(Code::next_counter) else { return };
        let before = self.code.bytes_to_begin_counting(counter);
        self.code.align_loop(before, COUNT_BYTES + jump_to_exit + body.sum::<u64>() + JUMP_BYTES);
    }

    /// Counts a block that jumps to itself, at its entry and in each round.
    pub(super) fn count_loop(&mut self, block: &Block, entry: u64, register: Gpr) {
        let (pc, index) = (block.pc, self.index);
        let sampled = self.is_sampled(block);
        let live = self.flags_matter_before(block);
        let Some(arena) = self.cache.arenas.get_mut(index) else { return };
        let (id, place) = arena.add_counter(Counter::block(block, entry));
        if sampled {
            self.cache.arenas.counter_added(index, id);
        }
        let counting = Counting { register, place };
        self.mark(pc, Undo::Nothing);
        self.code.begin_counting(counting);
        self.looping = Some(Looping { counting, entry, top: self.code.here() });
        self.mark(pc, Undo::Nothing);
        if live {
            self.code.step(register, -1);
        } else {
            self.code.decrement(register);
        }
        self.mark(pc, Undo::Counted);
        if sampled {
            let stub = self.stub(Exit { reason: Reason::Sample, detail: id, pc, back: 0 }, false);
            self.code.jump_if_negative(stub);
        }
    }

    /// The branch at the end of a block whose counter a register holds. False for other blocks.
    pub(super) fn loops_back(&mut self, last: &Instruction) -> bool {
        let Some(Looping { counting, entry, top }) = self.looping else { return false };
        let (pc, next) = (last.near_branch_target(), last.next_ip());
        let patch = self.code.jump_if(condition(last), |_| top);
        let stub = self.stub(Exit { reason: Reason::Link, detail: patch, pc, back: 0 }, false);
        if let Some(arena) = self.cache.arenas.get_mut(self.index) {
            arena.loops_back(Loop { pc, patch, entry, top, stub });
        }
        self.mark(next, Undo::Fallen);
        self.code.end_counting(counting);
        self.looping = None;
        self.mark(next, Undo::Fallen);
        true
    }
}
