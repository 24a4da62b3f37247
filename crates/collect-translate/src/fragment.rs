//! From the program's code to the cache: one fragment, of up to [`MOST_BLOCKS`] blocks that follow each other.

use std::ops::Range;

use iced_x86::{Code as Opcode, FlowControl, Instruction, Register};

use crate::{
    block::{Block, Decoded},
    cache::{Cache, Hook, Landing},
    code::Counter,
    emit::{Emitter, Gpr},
    exit::{Exit, Reason},
    liveness::{flags_matter, flags_matter_before},
    marks::{Marks, Undo},
    memory::TableKind,
    mode::Mode,
    relocate,
    repeat::Repeated,
    state::Scratch,
    system::gate,
};

/// Longer fragments gain nothing; single blocks cost jumps.
const MOST_BLOCKS: usize = 16;

/// The opcode of the jump to a hook, and the bytes of it all: `jmp rel32`.
pub const HOOK_JUMP: u8 = 0xe9;
pub const HOOK_BYTES: u64 = 5;

/// Room that a fragment is given in each half of its arena: 16 blocks of 64 instructions with their additions.
pub const MOST_HOT: usize = 64 << 10;
pub const MOST_COLD: usize = 64 << 10;

/// A hook in front of one of a block's instructions. There may be several: one that reads and writes is drawn as either.
#[derive(Clone, Copy, Debug)]
pub struct Hooked {
    /// Which instruction of the block.
    pub instruction: usize,
    /// Which hook.
    pub hook: u64,
}

/// A fragment in the making.
struct Builder<'c> {
    cache: &'c mut Cache,
    /// Which arena.
    index: usize,
    code: Emitter,
    marks: Marks,
    /// From the first to the last byte that it was made from.
    original: Range<u64>,
}

/// Translates the code at `pc` for everybody's use. The cache address, or `None` where it cannot be translated.
pub fn translate(cache: &mut Cache, pc: u64) -> Option<u64> {
    let mut builder = Builder::begin(cache, pc)?;
    let entry = builder.code.here();
    let mut next = pc;
    for _ in 0..MOST_BLOCKS {
        let Some(block) = builder.decode(next) else { break };
        let after = builder.block(&block, &[], true);
        match after {
            Some(after) if builder.goes_on(pc, after) => next = after,
            Some(after) => {
                builder.link(after);
                return builder.finish().then_some(entry);
            }
            None => return builder.finish().then_some(entry),
        }
    }
    if builder.code.here() == entry {
        return None;
    }
    builder.link(next);
    builder.finish().then_some(entry)
}

/// Translates the block at `pc` once more, uncounted, with hooks in front of some of its instructions.
pub fn variant(cache: &mut Cache, pc: u64, hooks: &[Hooked]) -> Option<u64> {
    let mut builder = Builder::begin(cache, pc)?;
    let entry = builder.code.here();
    let block = builder.decode(pc)?;
    if let Some(after) = builder.block(&block, hooks, false) {
        builder.link(after);
    }
    builder.finish().then_some(entry)
}

impl<'c> Builder<'c> {
    fn begin(cache: &'c mut Cache, pc: u64) -> Option<Self> {
        let index = cache.room_near(pc)?;
        let start = cache.codes.get(index)?.next_hot();
        let (code, marks) = (Emitter::at(start), Marks::new(start, pc));
        Some(Self { cache, index, code, marks, original: pc..pc + 1 })
    }

    fn decode(&mut self, pc: u64) -> Option<Block> {
        let code = self.cache.code_after(pc)?;
        Block::decode(pc, code, &mut self.cache.accesses)
    }

    /// Whether the fragment that began at `first` goes on with the block at `next`.
    fn goes_on(&self, first: u64, next: u64) -> bool {
        !self.cache.blocks.contains_key(&next)
            && self.cache.regions.contains(first) == self.cache.regions.contains(next)
    }

    fn finish(self) -> bool {
        let Self { cache, index, code, marks, original } = self;
        cache.codes.get_mut(index).is_some_and(|arena| arena.add_fragment(&code, marks.finish(), original))
    }

    fn mark(&mut self, pc: u64, undo: Undo) {
        self.marks.push(self.code.here(), pc, undo);
    }

    /// One block. Returns where the program goes on behind it, `None` where the block's end leads elsewhere.
    fn block(&mut self, block: &Block, hooks: &[Hooked], shared: bool) -> Option<u64> {
        self.original = self.original.start.min(block.pc)..self.original.end.max(block.end());
        let mut first = Undo::Nothing;
        if shared {
            self.cache.blocks.insert(block.pc, self.code.here());
            if self.cache.mode != Mode::Bare {
                self.count_block(block);
                first = Undo::Counted;
            }
        }
        let transfers =
            block.last().is_some_and(|last| last.flow_control() != FlowControl::Next && !is_syscall(last));
        let copied = block.instructions.len() - usize::from(transfers);
        for (index, decoded) in block.instructions.iter().enumerate() {
            let Decoded { instruction, statics, .. } = decoded;
            self.mark(instruction.ip(), if index == 0 { first } else { Undo::Nothing });
            for hooked in hooks.iter().filter(|hooked| hooked.instruction == index) {
                self.hook(instruction.ip(), hooked.hook);
            }
            if index == copied {
                return self.transfer(instruction, shared);
            }
            let counted = self.cache.mode != Mode::Bare;
            let done = if is_syscall(instruction) {
                self.system_call(instruction);
                true
            } else if counted && statics.lanes {
                self.lanes(decoded)
            } else if counted && statics.repeated.is_some() {
                self.repeated(decoded)
            } else {
                self.copy(decoded)
            };
            if !done {
                self.leave_at(instruction.ip());
                return None;
            }
        }
        Some(block.end())
    }

    /// Counts the block at its entry, and looks whether it is time for a sample.
    fn count_block(&mut self, block: &Block) {
        let Some(arena) = self.cache.codes.get_mut(self.index) else { return };
        let entry = self.code.here();
        let (id, place) = arena.add_counter(Counter::block(block, entry));
        self.cache.counter_added(self.index, id);
        let sampled =
            matches!(self.cache.mode, Mode::Sample { .. }) && block.sums.loads + block.sums.stores > 0;
        let live = flags_matter_before(&self.cache.regions, block);
        let pc = block.pc;
        self.mark(pc, Undo::Nothing);
        if live {
            self.code.spill(Gpr::RAX, Scratch::C);
            self.mark(pc, Undo::Rax);
            self.code.flags_to_ax();
            self.mark(pc, Undo::Flags);
        }
        self.code.count_down(place);
        self.mark(pc, if live { Undo::CountedFlags } else { Undo::Counted });
        if sampled {
            let exit = Exit { reason: Reason::Sample, detail: id, pc, back: 0 };
            let stub = self.stub(exit, live);
            self.code.jump_if_negative(stub);
        }
        if live {
            self.code.flags_from_ax();
            self.mark(pc, Undo::CountedRax);
            self.code.reload(Gpr::RAX, Scratch::C);
        }
    }

    /// Copies an instruction. False where it must run in its own place.
    fn copy(&mut self, decoded: &Decoded) -> bool {
        let original = self.cache.original(&decoded.instruction);
        relocate::copy(&mut self.code, decoded, original)
    }

    /// A gather, scatter or masked move, its active lanes counted.
    fn lanes(&mut self, decoded: &Decoded) -> bool {
        let instruction = &decoded.instruction;
        let pc = instruction.ip();
        let by_mask_register = instruction.has_op_mask() && !instruction.is_vsib();
        if !by_mask_register || flags_matter(&self.cache.regions, pc) {
            let hook = self.cache.add_hook(Hook::Lanes { pc });
            self.hook(pc, hook);
            return self.copy(decoded);
        }
        let Some(arena) = self.cache.codes.get_mut(self.index) else { return false };
        let (id, place) = arena.add_counter(Counter::lanes(instruction, self.code.here()));
        self.cache.counter_added(self.index, id);
        self.code.spill(Gpr::RAX, Scratch::C);
        self.mark(pc, Undo::Rax);
        self.code.count_mask(
            instruction.op_mask().number() as u8,
            instruction.memory_size().element_count() as u32,
        );
        self.code.add_rax_to_counter(place);
        self.mark(pc, Undo::LanesRax);
        self.code.reload(Gpr::RAX, Scratch::C);
        self.mark(pc, Undo::Lanes);
        self.copy(decoded)
    }

    /// A repeated string instruction, its iterations counted without touching the flags.
    fn repeated(&mut self, decoded: &Decoded) -> bool {
        let instruction = &decoded.instruction;
        let Some(iteration) = &decoded.statics.repeated else { return self.copy(decoded) };
        if iteration.narrow {
            return false;
        }
        let Some(arena) = self.cache.codes.get_mut(self.index) else { return false };
        let (id, place) =
            arena.add_counter(Counter::iterations(instruction.ip(), self.code.here(), iteration));
        self.cache.counter_added(self.index, id);
        let (pc, next, arena) = (instruction.ip(), instruction.next_ip(), self.index);
        let sampled = matches!(self.cache.mode, Mode::Sample { .. });
        let repeated = Repeated { pc, arena, id, ends_early: iteration.ends_early };
        if sampled {
            let hook = self.cache.add_hook(Hook::Repeat(repeated));
            self.hook(pc, hook);
        }
        self.code.spill(Gpr::RAX, Scratch::C);
        self.mark(pc, Undo::Rax);
        self.code.load_counter(place);
        self.code.add_rcx_to_rax();
        self.code.store_counter(place);
        self.mark(pc, Undo::RepeatRax);
        self.code.reload(Gpr::RAX, Scratch::C);
        self.mark(pc, Undo::Repeat);
        if !self.copy(decoded) {
            return false;
        }
        if iteration.ends_early {
            self.mark(next, Undo::Spared);
            self.code.spill(Gpr::RAX, Scratch::C);
            self.mark(next, Undo::SparedRax);
            self.code.load_counter(place);
            self.code.subtract_rcx_from_rax();
            self.code.store_counter(place);
            self.mark(next, Undo::Rax);
            self.code.reload(Gpr::RAX, Scratch::C);
            self.mark(next, Undo::Nothing);
            if sampled {
                let hook = self.cache.add_hook(Hook::AfterRepeat(repeated));
                self.hook(next, hook);
            }
        }
        self.mark(next, Undo::Nothing);
        true
    }

    /// Leaves for a hook, and comes back behind it.
    fn hook(&mut self, pc: u64, hook: u64) {
        let back = self.code.here() + HOOK_BYTES;
        let stub = self.stub(Exit { reason: Reason::Hook, detail: hook, pc, back }, false);
        self.code.raw(&[HOOK_JUMP]);
        self.code.raw(&(stub.wrapping_sub(back) as u32).to_le_bytes());
    }

    /// A system call: those that concern us leave, the others happen in place. The choice is made with RCX and R11,
    /// which the instruction destroys anyway, and leaves the flags alone.
    fn system_call(&mut self, instruction: &Instruction) {
        let table = self.cache.codes.get(self.index).map_or(0, |arena| arena.gate());
        let pc = instruction.ip();
        let back = self.code.here() + gate::BYTES;
        let stub = self.stub(Exit { reason: Reason::SystemCall, detail: 0, pc, back }, false);
        let Self { code, marks, .. } = self;
        gate::emit(code, table, stub, |at, undo| marks.push(at, pc, undo));
        debug_assert_eq!(self.code.here(), back);
        self.code.raw(&[0x0f, 0x05]);
        self.mark(instruction.next_ip(), Undo::Nothing);
    }

    /// The end of the translated way: the thread goes on natively at `pc`.
    fn leave_at(&mut self, pc: u64) {
        let detail = self.code.here();
        let stub = self.stub(Exit { reason: Reason::Instruction, detail, pc, back: 0 }, false);
        self.code.jump(|_| stub);
    }

    fn stub(&mut self, exit: Exit, flags_in_ax: bool) -> u64 {
        self.cache.codes.get_mut(self.index).map_or(0, |arena| arena.stub(exit, flags_in_ax))
    }

    fn literal(&mut self, value: u64) -> u64 {
        self.cache.codes.get_mut(self.index).map_or(0, |arena| arena.literal(value))
    }

    /// `jmp` to the translation of `pc`, or to a way out that will make this jump lead there.
    fn link(&mut self, pc: u64) {
        self.mark(pc, Undo::Nothing);
        let Self { cache, index, code, .. } = self;
        let known = cache.known(pc, code);
        code.jump(|patch| cache.link_to(*index, pc, patch, known));
    }

    fn link_if(&mut self, condition: u8, pc: u64) {
        let Self { cache, index, code, .. } = self;
        let known = cache.known(pc, code);
        code.jump_if(condition, |patch| cache.link_to(*index, pc, patch, known));
    }

    /// The transfer of control that ends a block. Returns the block that follows in the fragment, if one does.
    fn transfer(&mut self, last: &Instruction, shared: bool) -> Option<u64> {
        match last.flow_control() {
            FlowControl::UnconditionalBranch if last.is_jmp_short_or_near() => {
                Some(last.near_branch_target())
            }
            FlowControl::ConditionalBranch => {
                self.conditional(last);
                Some(last.next_ip())
            }
            FlowControl::Call if last.is_call_near() => {
                let literal = self.literal(last.next_ip());
                self.code.push_literal(literal);
                self.link(last.near_branch_target());
                self.return_point(last.next_ip(), shared)
            }
            FlowControl::IndirectCall if last.is_call_near_indirect() => {
                if !self.indirect_call(last) {
                    self.leave_at(last.ip());
                    return None;
                }
                self.return_point(last.next_ip(), shared)
            }
            FlowControl::IndirectBranch if last.is_jmp_near_indirect() => {
                if !self.indirect_jump(last) {
                    self.leave_at(last.ip());
                }
                None
            }
            FlowControl::Return if matches!(last.code(), Opcode::Retnq | Opcode::Retnq_imm16) => {
                self.returns(last);
                None
            }
            _ => {
                self.leave_at(last.ip());
                None
            }
        }
    }

    fn conditional(&mut self, last: &Instruction) {
        if last.is_jcc_short_or_near() {
            // iced numbers conditions from 1 in the order of the opcodes.
            let condition = last.condition_code() as u8 - 1;
            self.link_if(condition, last.near_branch_target());
            return;
        }
        // loop, jrcxz and jecxz have short forms only: they hop over a jump that goes on to the jump that leads there.
        const TO_TAKEN: u8 = 2;
        const OVER_TAKEN: u8 = 5;
        let original = self.cache.original(last);
        let opcodes = original.get(..original.len() - 1).unwrap_or_default();
        self.code.align_for_jump_behind(opcodes.len() as u64 + 3);
        self.code.raw(opcodes);
        self.code.raw(&[TO_TAKEN]);
        self.mark(last.next_ip(), Undo::Nothing);
        self.code.raw(&[0xeb, OVER_TAKEN]);
        self.link(last.near_branch_target());
    }

    /// Where calls come back to: a landing, then the program's code there.
    fn return_point(&mut self, pc: u64, shared: bool) -> Option<u64> {
        let landing = self.code.here();
        self.landing(Landing::RETURN, pc);
        if shared {
            self.cache.landings_mut(TableKind::Return).insert(pc, landing);
        }
        Some(pc)
    }

    fn indirect_call(&mut self, last: &Instruction) -> bool {
        let original = self.cache.original(last);
        let table = self.cache.tables.address(TableKind::Call);
        let back = self.literal(last.next_ip());
        let r11_named = last.memory_base() == Register::R11 || last.memory_index() == Register::R11;
        self.code.spill(Gpr::RAX, Scratch::B);
        if r11_named {
            self.code.spill(Gpr::R11, Scratch::A);
        }
        if !relocate::load_target(&mut self.code, last, original) {
            return false;
        }
        if r11_named {
            // The push may fault, and then the call begins again.
            self.mark(last.ip(), Undo::CallR11);
        }
        self.code.push_literal(back);
        self.mark(last.ip(), Undo::Call);
        self.code.jump_through(Gpr::R11, Gpr::RAX, table);
        true
    }

    fn indirect_jump(&mut self, last: &Instruction) -> bool {
        let original = self.cache.original(last);
        // Through the global offset table: a call's way through the linkage table, or a tail call. R11 is dead there
        // (System V ABI 3.2.1).
        if last.is_ip_rel_memory_operand() {
            let table = self.cache.tables.address(TableKind::Call);
            self.code.spill(Gpr::RAX, Scratch::B);
            if !relocate::load_target(&mut self.code, last, original) {
                return false;
            }
            self.mark(last.ip(), Undo::Call);
            self.code.jump_through(Gpr::R11, Gpr::RAX, table);
            return true;
        }
        let table = self.cache.tables.address(TableKind::Jump);
        self.code.spill(Gpr::R11, Scratch::A);
        self.code.spill(Gpr::R10, Scratch::B);
        if !relocate::load_target(&mut self.code, last, original) {
            return false;
        }
        self.mark(last.ip(), Undo::Jump);
        self.code.jump_through(Gpr::R11, Gpr::R10, table);
        true
    }

    fn returns(&mut self, last: &Instruction) {
        let table = self.cache.tables.address(TableKind::Return);
        self.code.spill(Gpr::RSI, Scratch::A);
        self.code.spill(Gpr::RCX, Scratch::B);
        // pop rsi
        self.code.raw(&[0x5e]);
        self.mark(last.ip(), Undo::Return);
        if last.code() == Opcode::Retnq_imm16 {
            // lea rsp, [rsp+imm32]
            self.code.raw(&[0x48, 0x8d, 0xa4, 0x24]);
            self.code.raw(&u32::from(last.immediate16()).to_le_bytes());
        }
        self.code.jump_through(Gpr::RSI, Gpr::RCX, table);
    }

    /// Where an indirect transfer arrives: makes sure that it wanted to come here.
    fn landing(&mut self, landing: Landing, pc: u64) {
        self.mark(pc, landing.undo);
        let miss = self.cache.codes.get(self.index).map_or(0, |arena| arena.miss(landing.table));
        let (target, index) = (landing.target, landing.index);
        if flags_matter(&self.cache.regions, pc) {
            // jrcxz is the one test that leaves the flags alone; it wants the difference in RCX.
            const IF_RCX_ZERO: u8 = 0xe3;
            const OVER_JUMP: u8 = 5;
            let borrowed = index == Gpr::RCX;
            if !borrowed {
                self.code.spill(Gpr::RCX, Scratch::C);
                self.mark(pc, landing.undo_with_rcx);
            }
            self.code.constant(Gpr::RCX, pc.wrapping_neg());
            self.code.add_flagless(Gpr::RCX, target);
            self.code.raw(&[IF_RCX_ZERO, OVER_JUMP]);
            let miss = if borrowed { miss } else { self.rcx_stub(miss) };
            self.code.raw(&[0xe9]);
            let end = self.code.here() + 4;
            self.code.raw(&(miss.wrapping_sub(end) as u32).to_le_bytes());
            if !borrowed {
                self.code.reload(Gpr::RCX, Scratch::C);
            }
        } else {
            const IF_NOT_EQUAL: u8 = 5;
            if self.code.reaches(pc) {
                self.code.address_of(index, pc);
            } else {
                self.code.constant(index, pc);
            }
            self.code.compare(index, target);
            self.code.raw(&[0x0f, 0x80 | IF_NOT_EQUAL]);
            let end = self.code.here() + 4;
            self.code.raw(&(miss.wrapping_sub(end) as u32).to_le_bytes());
        }
        self.code.reload(index, Scratch::B);
        if landing.reloads_target {
            self.code.reload(target, Scratch::A);
        }
        self.mark(pc, Undo::Nothing);
    }

    fn rcx_stub(&mut self, miss: u64) -> u64 {
        self.cache.codes.get_mut(self.index).map_or(0, |arena| arena.reload_rcx_and_jump(miss))
    }
}

/// A landing for `pc` by itself, in front of its translation at `body`.
pub fn landing(cache: &mut Cache, landing: Landing, pc: u64, body: u64) -> Option<u64> {
    let code = cache.stands_for(pc);
    let mut builder = Builder::begin(cache, code)?;
    let entry = builder.code.here();
    builder.landing(landing, pc);
    if builder.code.reaches(body) {
        builder.code.jump(|_| body);
    } else {
        builder.link(code);
    }
    builder.finish().then_some(entry)
}

fn is_syscall(instruction: &Instruction) -> bool {
    instruction.code() == Opcode::Syscall
}
