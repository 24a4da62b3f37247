//! Translations by original address: blocks, copies of them, and others.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::{
    encode::Emitter,
    probes::{mode::Version, split::Split, strata::Due},
};

/// Enough for a program that starts and does little, so that its table seldom grows. Every fork copies the spare part
/// of a table.
const TYPICAL_BLOCKS: usize = 7 << 10;

/// The largest number of sampling decisions that are remembered. They take a few hundred bytes each, and nothing else
/// removes them in a program that makes no new code.
const MOST_SPLITS: usize = 1 << 14;

/// Some accesses of the block at an address.
type Sampled = (u64, [u8; Due::MOST]);

/// A copy of a block in which accesses are sampled ([`variant`](crate::emit::variant)).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Copied {
    /// Where the block begins.
    pub pc: u64,
    pub version: Version,
    /// Where the blocks begin that are behind it in its superblock.
    pub behind: Vec<u64>,
    /// The accesses, as [`Due::key`] has them.
    pub due: [u8; Due::MOST],
}

/// Where in the cache a block that follows a branch lies.
#[derive(Clone, Copy, Debug)]
pub struct Follower {
    /// Where the branch falls through to.
    pub entry: u64,
    /// Behind the code that counts the falling through.
    pub body: u64,
    /// The number of its counter, in the arena.
    pub counter: u32,
    /// That of the fragment.
    pub fragment: u32,
}

/// All translations.
pub struct Translations {
    /// Blocks by original address, with their cache addresses.
    blocks: FxHashMap<u64, u64>,
    /// Blocks to which no other code may lead, because they follow a branch that counts on them (`emit::follower`).
    followers: FxHashMap<u64, Follower>,
    /// Watching versions of blocks by original address.
    watching: FxHashMap<u64, u64>,
    /// What the fragment in the making adds to these; it may not run yet.
    fresh: (Vec<(u64, u64)>, Vec<u64>, Vec<u64>),
    /// Copies of blocks in which accesses are sampled.
    variants: FxHashMap<Copied, u64>,
    /// Which of such accesses are reported at the block's beginning.
    splits: FxHashMap<Sampled, Split>,
    /// Code for system calls that make threads, by the cache address of the call.
    spawns: FxHashMap<u64, u64>,
}

impl Translations {
    /// None.
    pub fn new() -> Self {
        Self {
            blocks: FxHashMap::with_capacity_and_hasher(TYPICAL_BLOCKS, Default::default()),
            followers: FxHashMap::default(),
            watching: FxHashMap::default(),
            fresh: Default::default(),
            variants: FxHashMap::default(),
            splits: FxHashMap::default(),
            spawns: FxHashMap::default(),
        }
    }

    /// Where the block at `pc` is, if other code may lead there.
    pub fn get(&self, pc: u64) -> Option<u64> {
        self.blocks.get(&pc).copied()
    }

    /// The same, where a jump at the end of `code` reaches it.
    pub fn known(&self, pc: u64, code: &Emitter) -> Option<u64> {
        self.get(pc).filter(|&cache| code.reaches(cache))
    }

    /// The block at `pc`, if it follows a branch.
    pub fn follower(&self, pc: u64) -> Option<Follower> {
        self.followers.get(&pc).copied()
    }

    /// Whether there is a translation of the block at `pc`.
    pub fn contains(&self, pc: u64) -> bool {
        self.blocks.contains_key(&pc) || self.followers.contains_key(&pc)
    }

    /// Whether the block at `pc` is counted at two places.
    pub fn is_twice(&self, pc: u64) -> bool {
        self.blocks.contains_key(&pc) && self.followers.contains_key(&pc)
    }

    /// The watching version of the block at `pc`.
    pub fn watching(&self, pc: u64) -> Option<u64> {
        self.watching.get(&pc).copied()
    }

    /// Where this version of the block at `pc` is counted, if it is translated.
    pub fn counted_at(&self, pc: u64, version: Version) -> Option<u64> {
        match version {
            Version::Plain => self.get(pc).or_else(|| self.follower(pc).map(|follower| follower.entry)),
            Version::Watching => self.watching(pc),
        }
    }

    /// Notes the block at `pc` of the fragment in the making.
    pub fn begins(&mut self, pc: u64, cache: u64) {
        self.blocks.insert(pc, cache);
        self.fresh.0.push((pc, cache));
    }

    /// Notes the block at `pc` of the fragment in the making, behind a branch that counts on it.
    pub fn follows(&mut self, pc: u64, follower: Follower) {
        self.followers.insert(pc, follower);
        self.fresh.1.push(pc);
    }

    /// Notes the block at `pc` of the fragment in the making, a watching version.
    pub fn watches(&mut self, pc: u64, cache: u64) {
        self.watching.insert(pc, cache);
        self.fresh.2.push(pc);
    }

    /// The fragment is complete: calls `each` for its blocks and their cache addresses.
    pub fn publish(&mut self, each: impl FnMut((u64, u64))) {
        let (blocks, followers, _) = &mut self.fresh;
        blocks.drain(..).for_each(each);
        followers.clear();
    }

    /// The same for a fragment of watching versions. Returns its blocks.
    pub fn publish_watching(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.fresh.2)
    }

    /// The fragment could not be made.
    pub fn retract(&mut self) {
        let (blocks, followers, watching) = &mut self.fresh;
        for pc in watching.drain(..) {
            self.watching.remove(&pc);
        }
        for (pc, _) in blocks.drain(..) {
            self.blocks.remove(&pc);
        }
        for pc in followers.drain(..) {
            self.followers.remove(&pc);
        }
    }

    /// Such a copy, if there is one.
    pub fn variant(&self, copied: &Copied) -> Option<u64> {
        self.variants.get(copied).copied()
    }

    /// That copy was made.
    pub fn add_variant(&mut self, copied: Copied, copy: u64) {
        self.variants.insert(copied, copy);
    }

    /// The version that was copied where such a copy begins there.
    pub fn copied_at(&self, start: u64) -> Option<Version> {
        self.variants.iter().find(|&(_, copy)| *copy == start).map(|(copied, _)| copied.version)
    }

    /// Which of these accesses of the block at `pc` are reported at its beginning.
    pub fn split(&self, pc: u64, due: &Due) -> Option<Split> {
        self.splits.get(&(pc, due.key())).copied()
    }

    /// Notes that decision.
    pub fn add_split(&mut self, pc: u64, due: &Due, split: Split) {
        if self.splits.len() >= MOST_SPLITS {
            self.splits.clear();
        }
        self.splits.insert((pc, due.key()), split);
    }

    /// The code for the system call there that makes a thread.
    pub fn spawn(&self, call: u64) -> Option<u64> {
        self.spawns.get(&call).copied()
    }

    /// That code lies at `entry`.
    pub fn add_spawn(&mut self, call: u64, entry: u64) {
        self.spawns.insert(call, entry);
    }

    /// Where all of this code lies.
    pub fn spawns(&self) -> impl Iterator<Item = u64> {
        self.spawns.values().copied()
    }

    /// Forgets the watching versions that lie in the cache where `is_dead` holds. Returns the blocks that had them there.
    pub fn forget_watching(&mut self, is_dead: impl Fn(u64) -> bool) -> Vec<u64> {
        self.watching.extract_if(|_, cache| is_dead(*cache)).map(|(pc, _)| pc).collect()
    }

    /// Forgets what else lies in the cache where `is_dead` holds. Returns the blocks that were there.
    pub fn forget(&mut self, is_dead: impl Fn(u64) -> bool) -> FxHashSet<u64> {
        self.followers.retain(|_, follower| !is_dead(follower.entry));
        self.variants.retain(|_, cache| !is_dead(*cache));
        self.splits.clear();
        self.spawns.retain(|call, _| !is_dead(*call));
        self.blocks.extract_if(|_, cache| is_dead(*cache)).map(|(pc, _)| pc).collect()
    }
}
