//! Added code that counts blocks.

use super::{Builder, HOOK_BYTES, HOOK_JUMP, plan::Plan};
use crate::{
    decode::block::Block,
    encode::marks::Undo,
    lane::{
        exit::{Exit, Reason},
        registers::Gpr,
        slots::Scratch,
    },
    probes::{counter::Counter, mode::Mode},
};

/// The size of the code after the jump to the sampling exit: the jump itself, and what restores the flags and RAX.
pub const JUMP_BYTES: u64 = 6;
const FLAGS_BYTES: u64 = 3;
const RELOAD_BYTES: u64 = 9;

impl Builder<'_> {
    /// Counts the block at its entry, and checks whether a sample is due. `fallen`: also counts that the branch
    /// before has fallen through.
    pub(super) fn count_block(&mut self, block: &Block, plan: &Plan, entry: u64, fallen: bool) {
        let counter = Counter {
            template: plan.template,
            fallen,
            version: self.version,
            ..Counter::block(block, entry)
        };
        self.counted = self.count_joining(block, counter);
        if self.counted.is_some() {
            return;
        }
        let live = self.flags_matter_before(block);
        // Where flags matter, they would have to be saved for the look: not tried.
        let sampled = self.is_sampled(block) || !live && self.leads_to_samples(block);
        self.begin_superblock(block, sampled);
        let Some(arena) = self.cache.arenas.get_mut(self.index) else { return };
        let (id, place) = arena.add_counter(counter);
        self.counted = Some(id);
        let mut body = 0;
        if sampled || self.times_in_copies() && !plan.timed.is_empty() {
            self.cache.arenas.counter_added(self.index, id);
        }
        let pc = block.pc;
        let [plain, rax, flags] = if fallen {
            [Undo::Fallen, Undo::FallenRax, Undo::FallenFlags]
        } else {
            [Undo::Nothing, Undo::Rax, Undo::Flags]
        };
        self.mark(pc, plain);
        // No decision depends on the counter: it is decremented without arithmetic.
        let counts_only = !sampled && matches!(self.mode, Mode::Count | Mode::Sample { .. });
        if live {
            self.code.spill(Gpr::RAX, Scratch::C);
            self.mark(pc, rax);
            if counts_only {
                self.code.count_down_through_rax(place);
                self.mark(pc, Undo::CountedRax);
                self.code.reload(Gpr::RAX, Scratch::C);
                return;
            }
            self.code.flags_to_ax();
            self.mark(pc, flags);
        }
        self.begin_record(pc, plan, live, entry);
        self.begin_singly(pc, plan, live, entry);
        self.code.count_down(place);
        self.mark(pc, if live { Undo::CountedFlags } else { Undo::Counted });
        if sampled {
            let restored = if live { FLAGS_BYTES + RELOAD_BYTES } else { 0 };
            body = self.code.here() + JUMP_BYTES + restored;
            let back = if matches!(self.mode, Mode::Sample { .. } | Mode::Watch { .. }) { body } else { 0 };
            let stub = self.stub(Exit { reason: Reason::Sample, detail: id, pc, back }, live);
            self.code.jump_if_negative(stub);
        }
        self.jump_to_copy(plan, id, live);
        if live {
            self.code.flags_from_ax();
            self.mark(pc, Undo::CountedRax);
            self.code.reload(Gpr::RAX, Scratch::C);
        }
        debug_assert!(!matches!(self.mode, Mode::Sample { .. }) || !sampled || self.code.here() == body);
        self.write_token(plan);
    }

    /// Counts a block in a copy, for which samples were drawn before.
    pub(super) fn count_copied(&mut self, block: &Block, plan: &Plan) {
        let mode = std::mem::replace(&mut self.mode, Mode::Count);
        self.count_block(block, plan, self.code.here(), false);
        // No superblock begins here.
        (self.mode, self.counted) = (mode, None);
    }

    /// Whether flags must be preserved in front of the block.
    pub(super) fn flags_matter_before(&mut self, block: &Block) -> bool {
        self.cache.liveness.flags_matter_before(self.cache.source.regions(), block)
    }

    /// Whether flags must be preserved in front of the code at `pc`.
    pub(super) fn flags_matter(&mut self, pc: u64) -> bool {
        self.cache.liveness.flags_matter(self.cache.source.regions(), pc)
    }

    /// Whether accesses of the block are sampled.
    pub(super) fn is_sampled(&self, block: &Block) -> bool {
        self.mode.samples() && block.sums.loads + block.sums.stores > 0
    }

    /// Leaves for a hook, and comes back after it.
    pub(super) fn hook(&mut self, pc: u64, hook: u64) {
        let back = self.code.here() + HOOK_BYTES;
        let stub = self.stub(Exit { reason: Reason::Hook, detail: hook, pc, back }, false);
        self.code.raw(&[HOOK_JUMP]);
        self.code.raw(&(stub.wrapping_sub(back) as u32).to_le_bytes());
    }
}
