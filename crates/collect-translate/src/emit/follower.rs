//! Branches that fall through, and the blocks that follow them.
//!
//! A conditional branch is counted as taken with its block. It suffices to count one of its two ways. Where it falls
//! through to a block of the same fragment, which is counted anyway, no code is added: that block's counter also
//! counts the branch ([`Counter::fallen`](crate::probes::counter::Counter)), as long as no other code leads to the
//! block. So other code must not lead to such a block, a *follower*. When another jump to it is needed, it gets a
//! *side entry*: code elsewhere that counts it as an ordinary block, and jumps behind the follower's counter.

use super::Builder;
use crate::{
    blocks::{cache::Cache, code::counters::Edge, translations::Follower},
    encode::marks::Undo,
    lane::{registers::Gpr, slots::Scratch},
    probes::{
        counter::Counter,
        mode::{Mode, Version},
    },
};

/// Makes a side entry to the follower at `pc`, and returns its address. `None` where there is no room nearby, or where the
/// follower counts for others.
pub fn side_entry(cache: &mut Cache, pc: u64, follower: Follower) -> Option<u64> {
    let (index, code) = cache.arenas.at(follower.entry)?;
    if code.follower_of(follower.counter.into()).is_some() {
        return None;
    }
    let mut builder = Builder::begin(cache, pc, Version::Plain)?;
    // The side entry must be forgotten together with its target. The arena may have been emptied to make room.
    let arena = builder.cache.arenas.get(builder.index).filter(|_| builder.index == index)?;
    builder.original = arena.original(follower.fragment)?;
    let block = builder.decode(pc)?;
    let plan = builder.plan(&block);
    if plan.failed {
        return None;
    }
    let entry = builder.switch(pc).unwrap_or(builder.code.here());
    builder.cache.translations.begins(pc, entry);
    builder.count_block(&block, &plan, entry, false);
    builder.mark(pc, Undo::Counted);
    builder.code.jump(|_| follower.body);
    builder.cache.spare.instructions = block.instructions;
    builder.finish().then_some(entry)
}

impl Builder<'_> {
    /// Whether blocks that follow a branch count its falling through. Where every access is recorded or timed, a
    /// block's entry is more than its counter.
    pub(super) const fn counts_falls_in_followers(&self) -> bool {
        matches!(self.mode, Mode::Count | Mode::Sample { .. })
    }

    /// Counts that a branch has fallen through, on the way to `pc`.
    pub(super) fn count_fall(&mut self, pc: u64) {
        if self.count_in_superblock(Counter::no_block(pc, self.code.here())).is_some()
            || self.mode == Mode::Bare
        {
            return;
        }
        let edge = Edge { behind: pc, block: self.counted.map(|id| id as u32) };
        let Some(place) = self.cache.arenas.get_mut(self.index).map(|code| code.add_edge(edge)) else {
            return;
        };
        self.mark(pc, Undo::Fallen);
        if self.flags_matter(pc) {
            self.code.spill(Gpr::RAX, Scratch::C);
            self.mark(pc, Undo::FallenRax);
            self.code.count_down_through_rax(place);
            self.mark(pc, Undo::Rax);
            self.code.reload(Gpr::RAX, Scratch::C);
        } else {
            self.code.count_down(place);
        }
        self.mark(pc, Undo::Nothing);
    }
}
