//! Code that counts branches which do not go as assumed ([`is_assumed_taken`](crate::block::is_assumed_taken)).
//!
//! To count one of two ways is enough, as blocks are counted: it should be the one that is taken less often. Where a branch
//! falls through there is room for it. The way to a target has none of its own, since it leads to the middle of a fragment,
//! where others arrive, too: there the count is made on a detour behind the fragment.

use super::Builder;
use crate::{code::Code, emit::Gpr, liveness::flags_matter, marks::Undo, state::Scratch};

impl Builder<'_> {
    /// Makes the ways of branches that are counted where they are taken.
    pub(super) fn count_taken(&mut self) {
        for (jump, target) in std::mem::take(&mut self.taken) {
            self.code.lead(jump);
            self.count_edge(target, true);
            self.link(target);
        }
    }

    /// On the way to `pc`, which was not assumed: counts that a branch was taken, or was not.
    pub(super) fn count_edge(&mut self, pc: u64, taken: bool) {
        let Some(place) = self.cache.codes.get_mut(self.index).map(Code::add_edge) else { return };
        let [plain, rax] =
            if taken { [Undo::Taken, Undo::TakenRax] } else { [Undo::NotTaken, Undo::NotTakenRax] };
        self.mark(pc, plain);
        if flags_matter(&self.cache.regions, pc) {
            self.code.spill(Gpr::RAX, Scratch::C);
            self.mark(pc, rax);
            self.code.count_through_rax(place, if taken { 1 } else { -1 });
            self.mark(pc, Undo::Rax);
            self.code.reload(Gpr::RAX, Scratch::C);
        } else if taken {
            self.code.count_up(place);
        } else {
            self.code.count_down(place);
        }
        self.mark(pc, Undo::Nothing);
    }
}
