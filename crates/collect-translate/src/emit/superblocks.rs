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
//!
//! Where samples are taken, the accesses of all its blocks are slots among which one is drawn at the first one's entry. Each access
//! that happens is one slot, and so has the odds that it would have in a block by itself; a slot behind the branch by which the
//! execution leaves gives no sample. The execution runs in a copy of the superblock ([`variant`](super::variant)).

use iced_x86::Instruction;

use super::{Builder, transfer::condition};
use crate::{
    blocks::likely::Bias,
    decode::block::{Block, MOST_ACCESSES},
    encode::marks::Undo,
    lane::{registers::Gpr, slots::Scratch},
    probes::{counter::Counter, mode::Mode},
};

/// A superblock does not go on farther from a branch: its fragment is forgotten when any code from its first to its last byte
/// changes.
const FAR: u64 = 64 << 10;

/// What the blocks of a superblock have in common.
#[derive(Clone, Copy, Debug, Default)]
pub struct Chain {
    /// How the first one is observed.
    mode: Option<Mode>,
    /// Its code finds out whether a sample is due in any of them.
    counts_down: bool,
    /// The loads and stores of all of them.
    slots: [u32; 2],
}

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
        let bias = self.bias(last)?;
        let (target, next) = (last.near_branch_target(), last.next_ip());
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

    /// The way that this instruction goes mostly, if it is a branch within a superblock or may become one.
    fn bias(&self, last: &Instruction) -> Option<Bias> {
        let is_branch = last.is_jcc_short_or_near() && last.near_branch_target() != last.next_ip();
        self.cache.likely.bias(last.ip()).filter(|_| is_branch)
    }

    /// Whether samples of the blocks behind this one, which has no accesses itself, may be due at its entry.
    pub(super) fn leads_to_samples(&self, block: &Block) -> bool {
        self.mode.samples()
            && self.counts_falls_in_followers()
            && self.cache.counts_in_registers
            && block.last().is_some_and(|last| self.bias(last).is_some())
    }

    /// A superblock may begin with this block. `counts_down`: its code finds out whether a sample is due.
    pub(super) fn begin_superblock(&mut self, block: &Block, counts_down: bool) {
        let slots = [block.sums.loads, block.sums.stores];
        self.chain = Chain { mode: Some(self.mode), counts_down, slots };
    }

    /// Whether the block becomes part of the superblock that leads to it: samples of all blocks are drawn at the first one's entry,
    /// as if they were one block.
    pub(super) fn joins(&self, block: &Block) -> bool {
        let slots = self.slots_with(block);
        self.chain.mode == Some(self.mode)
            && (self.chain.counts_down || !self.is_sampled(block))
            && (!self.mode.samples() || slots.iter().all(|slots| *slots <= MOST_ACCESSES))
    }

    fn slots_with(&self, block: &Block) -> [u32; 2] {
        let [loads, stores] = self.chain.slots;
        [loads + block.sums.loads, stores + block.sums.stores]
    }

    /// Whether the block at `pc` can become part of this fragment.
    fn is_free(&self, pc: u64) -> bool {
        !self.cache.translations.contains(pc) && self.cache.source.stands_for(pc) == pc
    }

    /// The same for a block that joins it.
    pub(super) fn count_joining(&mut self, block: &Block, counter: Counter) -> Option<u64> {
        let id = self.count_in_superblock(counter)?;
        self.chain.slots = self.slots_with(block);
        Some(id)
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
