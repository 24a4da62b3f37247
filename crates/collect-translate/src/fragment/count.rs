//! What is added to the program's code so that it counts itself.

use super::{Builder, HOOK_BYTES, HOOK_JUMP, plan::Plan};
use crate::{
    block::{Block, Decoded},
    cache::Hook,
    code::Counter,
    emit::Gpr,
    exit::{Exit, Reason},
    liveness::{flags_matter, flags_matter_before},
    marks::Undo,
    mode::Mode,
    repeat::Repeated,
    state::Scratch,
};

impl Builder<'_> {
    /// Counts the block at its entry, and looks whether it is time for a sample.
    pub(super) fn count_block(&mut self, block: &Block, plan: &Plan, entry: u64) {
        let Some(arena) = self.cache.codes.get_mut(self.index) else { return };
        let counter = Counter { template: plan.template, ..Counter::block(block, entry) };
        let (id, place) = arena.add_counter(counter);
        self.cache.counter_added(self.index, id);
        let sampled = self.cache.mode.periods().is_some() && block.sums.loads + block.sums.stores > 0;
        let live = flags_matter_before(&self.cache.regions, block);
        let pc = block.pc;
        self.mark(pc, Undo::Nothing);
        if live {
            self.code.spill(Gpr::RAX, Scratch::C);
            self.mark(pc, Undo::Rax);
            self.code.flags_to_ax();
            self.mark(pc, Undo::Flags);
        }
        self.begin_record(pc, plan, live, entry);
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
        self.write_token(plan);
    }

    /// A gather, scatter or masked move, its active lanes counted.
    pub(super) fn lanes(&mut self, decoded: &Decoded) -> bool {
        let instruction = &decoded.instruction;
        let pc = instruction.ip();
        let by_mask_register = instruction.has_op_mask() && !instruction.is_vsib();
        let streamed = self.cache.mode == Mode::Stream;
        if streamed || !by_mask_register || flags_matter(&self.cache.regions, pc) {
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
    /// `ahead`: loads and stores of the block behind it.
    pub(super) fn repeated(&mut self, decoded: &Decoded, ahead: u32) -> bool {
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
        let seen = self.cache.mode.periods().is_some() || self.cache.mode.sees_every_access();
        let repeated = Repeated { pc, arena, id, ends_early: iteration.ends_early, ahead };
        if seen {
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
            if seen {
                let hook = self.cache.add_hook(Hook::AfterRepeat);
                self.hook(next, hook);
            }
        }
        self.mark(next, Undo::Nothing);
        true
    }

    /// Leaves for a hook, and comes back behind it.
    pub(super) fn hook(&mut self, pc: u64, hook: u64) {
        let back = self.code.here() + HOOK_BYTES;
        let stub = self.stub(Exit { reason: Reason::Hook, detail: hook, pc, back }, false);
        self.code.raw(&[HOOK_JUMP]);
        self.code.raw(&(stub.wrapping_sub(back) as u32).to_le_bytes());
    }
}
