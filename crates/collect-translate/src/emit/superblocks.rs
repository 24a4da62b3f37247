//! Superblocks: blocks of a fragment that are counted once, at the first one's entry.
//!
//! Where a branch is known to go one way mostly ([`Likely`](crate::blocks::likely::Likely)), the fragment goes on there, and that
//! block needs no code that counts it. It is executed as often as the block in front of the branch, less how often the branch went
//! the other way ([`Counter::rest_of`]). That is counted on the way out, at the end of the fragment. (To count what is rare and to
//! derive the rest: D. E. Knuth and F. R. Stevenson, Optimal measurement points for program frequency counts, BIT 13, 1973.)
//!
//! ```text
//!   entry:  sub qword ptr gs:[first], 1; the first block; jcc side
//!           the second block
//!   side:   sub qword ptr gs:[second], 1; jmp where the branch leads seldom
//! ```
//!
//! A block inside is a [`follower`](super::follower): it is entered from the one before it alone, or by a side entry if no other
//! one counts on it.

use iced_x86::Instruction;

use super::{Builder, transfer::condition};
use crate::{
    blocks::likely::Bias,
    encode::marks::Undo,
    lane::{registers::Gpr, slots::Scratch},
    probes::{counter::Counter, mode::Mode},
};

/// A superblock does not go on farther from a branch: its fragment is forgotten when any code from its first to its last byte
/// changes.
const FAR: u64 = 64 << 10;

/// A branch that leaves a superblock.
#[derive(Clone, Copy, Debug)]
pub struct Leaving {
    /// The address of its displacement.
    patch: u64,
    /// Where that leads.
    to: u64,
    /// Where the branch leads otherwise.
    bias: Bias,
    /// The counter of its block.
    of: u64,
}

/// The way out of a superblock.
#[derive(Clone, Copy, Debug)]
pub struct Side {
    branch: Leaving,
    /// The counter of the block behind the branch, and its place relative to GS.
    id: u64,
    place: u64,
}

impl Builder<'_> {
    /// A branch within a superblock. Returns where that goes on; `None` where it does not.
    pub(super) fn branch_in_superblock(&mut self, last: &Instruction) -> Option<u64> {
        let of =
            self.counted.filter(|_| self.counts_falls_in_followers() && self.cache.counts_in_registers)?;
        let (target, next) = (last.near_branch_target(), last.next_ip());
        if !last.is_jcc_short_or_near() || target == next {
            return None;
        }
        let bias = self.cache.likely.bias(last.ip())?;
        let (condition, to, inside) = match bias {
            Bias::Falls => (condition(last), target, next),
            // Back to the top of a loop, mostly, which is counted in any case.
            Bias::Jumps if target < next || target - next > FAR || !self.is_free(target) => return None,
            Bias::Jumps => (condition(last) ^ 1, next, target),
        };
        let patch = self.code.jump_if_later(condition);
        self.leaving = Some(Leaving { patch, to, bias, of });
        Some(inside)
    }

    /// Whether the block at `pc` can become part of this fragment.
    fn is_free(&self, pc: u64) -> bool {
        !self.cache.translations.contains(pc) && self.cache.source.stands_for(pc) == pc
    }

    /// The block of `counter` lies behind a branch that leaves a superblock: it is counted with the one in front of it.
    /// Otherwise the answer is `None`.
    pub(super) fn count_in_superblock(&mut self, counter: Counter) -> Option<u64> {
        let branch = self.leaving.take()?;
        let fallen = branch.bias == Bias::Falls;
        let counter = Counter { fallen, rest_of: Some(branch.of as u32), ..counter };
        let (id, place) = self.cache.arenas.get_mut(self.index)?.add_counter(counter);
        self.sides.push(Side { branch, id, place });
        Some(id)
    }

    /// The ways out of the fragment's superblocks. Returns where each begins, with its counter.
    pub(super) fn leave_superblocks(&mut self) -> Vec<(u64, u64)> {
        let sides = std::mem::take(&mut self.sides);
        sides.into_iter().map(|side| (self.side(side), side.id)).collect()
    }

    fn side(&mut self, Side { branch: Leaving { patch, to, bias, .. }, place, .. }: Side) -> u64 {
        let start = self.code.here();
        self.code.lead_here(patch);
        self.mark(to, Undo::Left);
        if self.flags_matter(to) {
            self.code.spill(Gpr::RAX, Scratch::C);
            self.mark(to, Undo::LeftRax);
            self.code.count_down_through_rax(place);
            self.mark(to, if bias == Bias::Falls { Undo::Rax } else { Undo::FallenRax });
            self.code.reload(Gpr::RAX, Scratch::C);
        } else {
            self.code.count_down(place);
        }
        if bias == Bias::Jumps {
            (self.mode, self.counted) = (Mode::Count, None);
            self.count_fall(to);
        }
        self.link(to);
        start
    }
}
