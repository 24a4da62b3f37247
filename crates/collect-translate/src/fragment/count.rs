//! What is added to the program's code so that it counts itself.

use super::{Builder, HOOK_BYTES, HOOK_JUMP, plan::Plan};
use crate::{
    block::Block,
    code::Counter,
    emit::Gpr,
    exit::{Exit, Reason},
    liveness::flags_matter_before,
    marks::Undo,
    state::Scratch,
};

impl Builder<'_> {
    /// Counts the block at its entry, and looks whether it is time for a sample.
    pub(super) fn count_block(&mut self, block: &Block, plan: &Plan, entry: u64) {
        let Some(arena) = self.cache.codes.get_mut(self.index) else { return };
        let counter = Counter { template: plan.template, ..Counter::block(block, entry) };
        let (id, place) = arena.add_counter(counter);
        let sampled = self.mode.samples() && block.sums.loads + block.sums.stores > 0;
        if sampled || self.times_in_copies() && !plan.timed.is_empty() {
            self.cache.counter_added(self.index, id);
        }
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
        self.begin_times(pc, plan, live, entry);
        self.code.count_down(place);
        self.mark(pc, if live { Undo::CountedFlags } else { Undo::Counted });
        if sampled {
            let exit = Exit { reason: Reason::Sample, detail: id, pc, back: 0 };
            let stub = self.stub(exit, live);
            self.code.jump_if_negative(stub);
        }
        self.jump_to_copy(plan, id, live);
        if live {
            self.code.flags_from_ax();
            self.mark(pc, Undo::CountedRax);
            self.code.reload(Gpr::RAX, Scratch::C);
        }
        self.write_token(plan);
    }

    /// Leaves for a hook, and comes back behind it.
    pub(super) fn hook(&mut self, pc: u64, hook: u64) {
        let back = self.code.here() + HOOK_BYTES;
        let stub = self.stub(Exit { reason: Reason::Hook, detail: hook, pc, back }, false);
        self.code.raw(&[HOOK_JUMP]);
        self.code.raw(&(stub.wrapping_sub(back) as u32).to_le_bytes());
    }
}
