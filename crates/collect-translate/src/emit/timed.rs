//! Added code that times loads, and the copies of blocks in which that happens from time to time.

use iced_x86::FlowControl;

use super::{
    Builder, How, is_syscall, may_set_trap_flag,
    plan::{Plan, free},
};
use crate::{
    decode::{
        block::{Block, Decoded, may_fall_through},
        operand::{Addressed, Operand},
    },
    encode::{
        marks::{Spilled, Undo},
        timing::Ahead,
    },
    lane::{
        exit::{Exit, Reason},
        records::{BUFFER_END, EMPTY, TIMED_BYTES, Token},
        registers::Gpr,
        slots::{POSITION, Scratch, TIMED_ADDRESS, TIMES},
    },
    probes::{counter::Counter, hook::Hook, mode::Mode, templates::Template, timed},
};

/// An upper bound of the code around a timed load: the size of a fragment is limited.
const TIMED_CODE_BYTES: usize = 256;

/// RAX and RDX, one bit each, which reading the counter destroys.
const READING: u16 = 1 << 0 | 1 << 2;

/// A jump to a copy of the block that was translated last.
#[derive(Debug)]
pub struct ToCopy {
    jump: Ahead,
    /// The counter that decides when it is taken.
    counter: u64,
    /// At that point the flags are in AX, and RAX's value in C.
    flags_in_ax: bool,
    /// The operand of each instruction's load.
    operands: Vec<Option<Operand>>,
}

/// A block whose copy is still to be made.
#[derive(Debug)]
pub struct Pending {
    block: Block,
    to_copy: ToCopy,
}

impl Pending {
    /// An upper bound of its copy's size.
    pub fn bytes(&self) -> usize {
        self.block.instructions.len() * TIMED_CODE_BYTES
    }
}

impl Builder<'_> {
    /// The operands of a block's loads that can be timed: those of instructions that make one access, a load, and
    /// neither transfer control nor pop flags. Empty if there is none.
    pub(super) fn timable(&mut self, block: &Block) -> Vec<Option<Operand>> {
        let mut loads_from = |decoded: &Decoded| {
            let Decoded { instruction, .. } = decoded;
            if instruction.flow_control() != FlowControl::Next || may_set_trap_flag(instruction) {
                return None;
            }
            match self.finder.operands(decoded, &mut self.cache.accesses) {
                Addressed::Plain(operands) => match operands.as_slice() {
                    [operand] if operand.kind.reads() => Some(*operand),
                    _ => None,
                },
                Addressed::Otherwise => None,
            }
        };
        let operands: Vec<_> = block.instructions.iter().map(&mut loads_from).collect();
        if operands.iter().any(Option::is_some) { operands } else { Vec::new() }
    }

    /// At the start of a block with accesses that are recorded singly, where the flags may be destroyed: ensures that
    /// there is room.
    pub(super) fn begin_singly(&mut self, pc: u64, plan: &Plan, flags_in_ax: bool, entry: u64) {
        let bytes = plan.single_bytes();
        if self.times_in_copies() || bytes == 0 {
            return;
        }
        self.code.compare_slot(POSITION, -bytes);
        let stub = self.stub(Exit { reason: Reason::Full, detail: 0, pc, back: entry }, flags_in_ax);
        self.code.jump_if_positive(stub);
        if self.mode.streams() {
            self.stamp_if_due_without_record(pc, flags_in_ax);
        }
    }

    /// After counting a block whose loads are timed from time to time: jumps to its copy if the countdown is over.
    pub(super) fn jump_to_copy(&mut self, plan: &Plan, counter: u64, flags_in_ax: bool) {
        if self.times_in_copies() && !plan.timed.is_empty() {
            const NEGATIVE: u8 = 8;
            let jump = self.code.jump_if_ahead(NEGATIVE);
            self.to_copy = Some(ToCopy { jump, counter, flags_in_ax, operands: plan.timed.clone() });
        }
    }

    /// Whether loads are timed from time to time.
    pub(super) fn times_in_copies(&self) -> bool {
        matches!(self.mode, Mode::Time { period } if period != 1)
    }

    /// The block is complete, except for its copy.
    pub(super) fn copy_later(&mut self, block: Block) {
        match self.to_copy.take() {
            Some(to_copy) => self.pending.push(Pending { block, to_copy }),
            None => self.cache.spare.instructions = block.instructions,
        }
    }

    /// Makes the copies of the fragment's blocks.
    pub(super) fn copies(&mut self) {
        for Pending { block, to_copy } in std::mem::take(&mut self.pending) {
            self.timed_copy(&block, to_copy);
        }
    }

    fn timed_copy(&mut self, block: &Block, to_copy: ToCopy) {
        let ToCopy { jump, counter, flags_in_ax, operands } = to_copy;
        let pc = block.pc;
        self.code.lead(jump);
        let entry = self.code.here();
        let Some(arena) = self.cache.arenas.get_mut(self.index) else { return };
        // It counts nothing; it is the counter that is decremented when a signal leads out of the copy.
        arena.add_counter(Counter::block(block, entry));
        self.mark(pc, if flags_in_ax { Undo::CountedFlags } else { Undo::Counted });
        // Records that a copy has left because of a signal are handed over; then the block begins again.
        self.code.compare_slot(POSITION, EMPTY as i32);
        let stub = self.stub(Exit { reason: Reason::Sample, detail: counter, pc, back: 0 }, flags_in_ax);
        self.code.jump_if_not_zero(stub);
        if flags_in_ax {
            self.code.flags_from_ax();
            self.mark(pc, Undo::CountedRax);
            self.code.reload(Gpr::RAX, Scratch::C);
        }
        self.mark(pc, Undo::Counted);
        let over = self.cache.hooks.add(Hook::Timed { arena: self.index, id: counter });
        let plan = Plan { timed: operands, ..Plan::default() };
        let how = How { hooks: &[], shared: false, timed: true, over: Some(over) };
        if let Some(after) = self.instructions(block, &plan, how, Undo::Counted) {
            self.link_behind(after, block.last().is_some_and(may_fall_through));
        }
    }

    /// After the loads of a copy: leaves for the hook, in front of the last instruction or `behind` it.
    pub(super) fn end_copy(&mut self, over: Option<u64>, block: &Block, behind: bool) {
        let Some(last) = block.last() else { return };
        let comes_back = last.flow_control() == FlowControl::Next && !is_syscall(last);
        if let Some(hook) = over.filter(|_| comes_back == behind) {
            let pc = if behind { last.next_ip() } else { last.ip() };
            self.mark(pc, Undo::Nothing);
            self.hook(pc, hook);
            self.mark(pc, Undo::Nothing);
        }
    }

    /// An instruction that loads from `operand`, with the time noted before and after it. False where it must run in
    /// its own place.
    pub(super) fn timed(&mut self, decoded: &Decoded, operand: &Operand) -> bool {
        let instruction = &decoded.instruction;
        let (pc, next) = (instruction.ip(), instruction.next_ip());
        let used = self.finder.registers(instruction) | operand.registers() | READING;
        let template = self.cache.templates.add(&[Template::new(pc, operand.width, operand.kind)]);
        let mut free = free(used);
        let (Some(one), Some(other), Some(template)) = (free.next(), free.next(), template) else {
            return self.copy(decoded);
        };
        drop(free);
        timed::note_use();
        let kept = [one, other];
        self.code.spill(one, Scratch::P);
        self.code.spill(other, Scratch::T);
        self.spilled = Spilled::Two(one, other);
        self.mark(pc, Undo::Nothing);
        self.code.effective_address(one, operand);
        self.code.store_slot(one, TIMED_ADDRESS);
        self.code.keep_rax_and_rdx(kept);
        self.mark(pc, Undo::RaxAndRdx);
        self.code.begin_bracket(kept, instruction.len() as u64);
        let copied = self.copy(decoded);
        if copied {
            self.mark(next, Undo::Nothing);
            self.code.keep_rax_and_rdx(kept);
            self.mark(next, Undo::RaxAndRdx);
            self.code.end_bracket(kept);
            self.mark(next, Undo::Nothing);
            self.write_times(kept, template);
        }
        self.code.restore_spilled(self.spilled);
        self.spilled = Spilled::None;
        self.mark(if copied { next } else { pc }, Undo::Nothing);
        copied
    }

    /// Appends the noted times to the thread's buffer, if there is room.
    fn write_times(&mut self, [position, word]: [Gpr; 2], template: u32) {
        const WORD: u32 = size_of::<u64>() as u32;
        self.code.load_slot(position, POSITION);
        self.code.store_constant_behind(position, BUFFER_END, Token::timed(template));
        for (nth, slot) in [(1, TIMED_ADDRESS), (2, TIMES)] {
            self.code.load_slot(word, slot);
            self.code.store_behind(position, BUFFER_END + nth * WORD, word);
        }
        self.code.step(position, TIMED_BYTES as i8);
        self.code.store_slot(position, POSITION);
    }
}
