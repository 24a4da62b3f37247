//! Copies of blocks with hooks in front of accesses that are sampled, or looked up.
//!
//! A copy runs an execution that was counted already. If that is one of a superblock, the copy goes on like the superblock as far as
//! that reaches: samples of all its blocks were drawn at the first one's entry ([`Place::slots`](crate::blocks::place::Place)). The
//! blocks behind the first are counted in the copy again, one by one, since the superblock counts as left
//! ([`leave_superblock`](crate::threads::thread::Thread::leave_superblock)); no sample is drawn there.

use iced_x86::Instruction;

use super::{Builder, Hooked, Way, transfer::condition};
use crate::{
    blocks::{cache::Cache, translations::Copied},
    decode::block::may_fall_through,
};

/// Makes such a copy, with these hooks.
pub fn variant(cache: &mut Cache, copied: &Copied, hooks: &[Hooked]) -> Option<u64> {
    let Copied { pc, version, ref behind, .. } = *copied;
    let mut builder = Builder::begin(cache, pc, version)?;
    let entry = builder.code.here();
    let (mut way, mut pc, mut fallen) = (Way::Copied, pc, false);
    for nth in 0..=behind.len() {
        let Some(block) = builder.decode(pc) else {
            if nth == 0 {
                return None;
            }
            builder.link_behind(pc, fallen);
            break;
        };
        builder.inside = behind.get(nth).copied();
        let here: Vec<_> = hooks.iter().filter(|hooked| hooked.block == nth).copied().collect();
        let (inside, after) = (builder.inside, builder.block(&block, &here, way));
        let (falls, end) = (block.last().is_some_and(may_fall_through), block.end());
        builder.cache.spare.instructions = block.instructions;
        let Some(after) = after else { break };
        if inside != Some(after) {
            builder.link_behind(after, falls);
            break;
        }
        fallen = falls && after == end;
        (way, pc) = (Way::Followed { fallen }, after);
    }
    builder.finish().then_some(entry)
}

impl Builder<'_> {
    /// A branch of a block in such a copy, behind which the copy goes on.
    pub(super) fn branch_in_copy(&mut self, last: &Instruction) -> Option<u64> {
        let inside = self.inside.take()?;
        let next = last.next_ip();
        if inside == next {
            return None;
        }
        let patch = self.code.jump_if_later(condition(last));
        self.count_fall(next);
        self.link(next);
        self.code.lead_here(patch);
        Some(inside)
    }
}
