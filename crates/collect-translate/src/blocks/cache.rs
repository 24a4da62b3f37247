//! The code cache: what is translated, and where it is.

use std::ops::Range;

use carom_base_insn::Decoder as Accesses;
use iced_x86::Instruction;
use rustc_hash::{FxHashMap, FxHashSet};

use super::{
    ahead::Ahead,
    code::{self, Code},
    landings::{Landed, Landings, misses},
    links::Waiting,
    retire::MOST_ARENAS,
    spare::Spare,
};
use crate::{
    decode::{restartable::Sequences, source},
    encode::{Emitter, marks::Mark},
    lane::exit::{Exit, Reason},
    memory::{Arena, COUNTERS_PER_ARENA, Lanes, MemoryError, Regions, TableKind, Tables},
    probes::{filter::IpSet, hook::Hook, mode::Mode, split::Split, strata::Due, templates::Templates},
};

/// Everything that is translated. One for the process, used under a lock.
pub struct Cache {
    pub mode: Mode,
    /// What is observed one by one.
    pub filter: IpSet,
    pub regions: Regions,
    pub lanes: Lanes,
    pub tables: Tables,
    pub codes: Vec<Code>,
    /// Block by original address: where it is in the cache.
    pub blocks: FxHashMap<u64, u64>,
    /// Blocks that nobody is led to, because they follow a branch that counts on them (`emit::follower`).
    pub followers: FxHashMap<u64, Follower>,
    pub landings: Landings,
    /// What the fragment in the making has added to both, and is not there to be run yet.
    fresh: Fresh,
    /// Jumps to blocks that are still to be translated.
    pub waiting: Waiting,
    /// What children of a fork will run.
    pub ahead: Ahead,
    pub spare: Spare,
    /// What instructions access.
    pub accesses: Accesses,
    /// What is known of accesses that are streamed.
    pub templates: Templates,
    hooks: Vec<Hook>,
    /// Numbers of those that are not used any more.
    pub unused_hooks: Vec<u64>,
    /// Sampled copies of blocks, by block and accesses.
    pub variants: FxHashMap<(u64, [u8; Due::MOST]), u64>,
    /// Which of such accesses are told at the block's beginning.
    pub splits: FxHashMap<(u64, [u8; Due::MOST]), Split>,
    /// Where system calls happen that make threads, by the address of the call in the cache.
    pub spawns: FxHashMap<u64, u64>,
    /// Counters made since this was last emptied: arena and number.
    pub new_counters: Vec<(usize, u64)>,
    /// Code that must not be translated: our own.
    native: Vec<Range<u64>>,
    /// Functions of ours that only lead on, and to where.
    pub aliases: FxHashMap<u64, u64>,
    /// Code that must run in its own place, as a whole.
    pub sequences: Sequences,
    /// There may be code that `regions` does not know.
    pub stale: bool,
    /// Pages without code that can be translated, as of the last look.
    pub foreign: FxHashSet<u64>,
    /// Arenas that were begun so far, and those that were retired (`engine::room`).
    pub began: u64,
    pub retirements: u64,
    /// Where the thread in the dispatcher goes on in the cache, whatever happens; 0 for nowhere.
    pub pinned: u64,
    /// In which step of so much memory the last fragment of each arena was made.
    steps: Vec<u64>,
    /// Whether the thread in the dispatcher can be asked to wait for others.
    pub may_wait: bool,
    /// See [`MOST_ARENAS`].
    pub most_arenas: usize,
    /// Blocks of an arena at most.
    pub most_blocks: usize,
}

/// Where in the cache a block lies that follows a branch.
#[derive(Clone, Copy, Debug)]
pub struct Follower {
    /// Where the branch falls through to.
    pub entry: u64,
    /// Behind what counts that.
    pub body: u64,
}

/// Blocks and landings by original address.
#[derive(Debug, Default)]
struct Fresh {
    blocks: Vec<(u64, u64)>,
    followers: Vec<u64>,
    landings: Vec<(TableKind, u64, Landed)>,
}

/// Blocks of a program that starts and does little, so that their table seldom grows. What a table has spare, every fork
/// copies.
const TYPICAL_BLOCKS: usize = 7 << 10;

/// How far from its code a module's data may lie, and what else its operands may name.
const MODULE_REACH: u64 = 256 << 20;

impl Cache {
    /// An empty one.
    ///
    /// # Errors
    /// The address space has no room, or the system forbids code that is written by the process itself.
    pub fn new(mode: Mode, native: Vec<Range<u64>>) -> Result<Self, MemoryError> {
        Ok(Self {
            mode,
            filter: IpSet::everything(),
            aliases: FxHashMap::default(),
            regions: Regions::new(native.clone())?,
            lanes: Lanes::reserve()?,
            tables: Tables::new(misses())?,
            codes: Vec::new(),
            blocks: FxHashMap::with_capacity_and_hasher(TYPICAL_BLOCKS, Default::default()),
            followers: FxHashMap::default(),
            landings: Landings::default(),
            fresh: Fresh::default(),
            waiting: Waiting::default(),
            ahead: Ahead::default(),
            spare: Spare::default(),
            accesses: Accesses::new(),
            templates: Templates::default(),
            hooks: Vec::new(),
            unused_hooks: Vec::new(),
            began: 0,
            retirements: 0,
            pinned: 0,
            steps: Vec::new(),
            may_wait: false,
            most_arenas: MOST_ARENAS,
            most_blocks: COUNTERS_PER_ARENA,
            variants: FxHashMap::default(),
            splits: FxHashMap::default(),
            spawns: FxHashMap::default(),
            new_counters: Vec::new(),
            native,
            sequences: Sequences::default(),
            stale: false,
            foreign: FxHashSet::default(),
        })
    }

    /// Whether there is a translation of the block at `pc`.
    pub fn is_translated(&self, pc: u64) -> bool {
        self.blocks.contains_key(&pc) || self.followers.contains_key(&pc)
    }

    /// Where the block at `pc` is counted, if it is translated.
    pub fn counted_at(&self, pc: u64) -> Option<u64> {
        let follower = || self.followers.get(&pc).map(|follower| follower.entry);
        self.blocks.get(&pc).copied().or_else(follower)
    }

    /// Whether the code at `pc` is ours.
    pub fn is_native(&self, pc: u64) -> bool {
        self.native.iter().any(|range| range.contains(&pc))
    }

    /// The code that runs when the program calls `pc`: mostly that at `pc`.
    pub fn stands_for(&self, pc: u64) -> u64 {
        self.aliases.get(&pc).copied().unwrap_or(pc)
    }

    /// The fragment in the making has the block at `pc` there.
    pub fn begins(&mut self, pc: u64, cache: u64) {
        self.blocks.insert(pc, cache);
        self.fresh.blocks.push((pc, cache));
    }

    /// The fragment in the making has the block at `pc` there, behind a branch that counts on it.
    pub fn follows(&mut self, pc: u64, follower: Follower) {
        self.followers.insert(pc, follower);
        self.fresh.followers.push(pc);
    }

    /// The fragment in the making has a landing for `pc` there.
    pub fn lands(&mut self, table: TableKind, pc: u64, landed: Landed) {
        self.landings.add(table, pc, landed);
        self.fresh.landings.push((table, pc, landed));
    }

    /// The fragment is made, and may be run: jumps that wait for its blocks lead there, and its landings are looked up.
    pub fn publish(&mut self) {
        let Fresh { mut blocks, mut followers, mut landings } = std::mem::take(&mut self.fresh);
        followers.clear();
        for (pc, cache) in blocks.drain(..) {
            for patch in self.waiting.take(pc).into_iter().flatten() {
                if let Some(code) = self.codes.iter_mut().find(|code| code.contains(patch)) {
                    code.link(pc, patch, cache);
                }
            }
        }
        for (table, pc, landed) in landings.drain(..) {
            // Many are never wanted: those that are in use do not wait behind them.
            if self.misses(table, pc) {
                self.put(table, pc, landed);
            }
        }
        self.fresh = Fresh { blocks, followers, landings };
    }

    /// The fragment could not be made.
    pub fn retract(&mut self) {
        let Fresh { blocks, followers, landings } = std::mem::take(&mut self.fresh);
        for (pc, _) in blocks {
            self.blocks.remove(&pc);
        }
        for pc in followers {
            self.followers.remove(&pc);
        }
        for (table, pc, _) in landings {
            self.landings.remove(table, pc);
        }
    }

    /// The translation of `pc`, where there is one that a jump at the end of `code` reaches.
    pub fn known(&self, pc: u64, code: &Emitter) -> Option<u64> {
        self.blocks.get(&pc).copied().filter(|&cache| code.reaches(cache))
    }

    /// Where a jump to the code at `pc` is to lead: there, if that is `known`, or to a way out that will make the jump,
    /// whose displacement is at `patch`, lead there.
    pub fn link_to(&mut self, index: usize, pc: u64, patch: u64, known: Option<u64>) -> u64 {
        let target = self.stands_for(pc);
        let Some(code) = self.codes.get_mut(index) else { return 0 };
        match known {
            Some(cache) => {
                code.linked(pc, patch, 0);
                cache
            }
            None => {
                self.waiting.add(target, patch);
                code.stub(Exit { reason: Reason::Link, detail: patch, pc, back: 0 }, false)
            }
        }
    }

    /// What code at `pc` may name relative to itself.
    pub fn reach(&self, pc: u64) -> Option<Range<u64>> {
        let region = self.regions.contains(pc)?;
        Some(region.start.saturating_sub(MODULE_REACH)..region.end.saturating_add(MODULE_REACH))
    }

    /// What is written is seldom written again, but its pages count twice in the memory of a process, once for each
    /// mapping of an arena: those that can be written are unmapped from time to time, and come back where they are used.
    fn give_pages_back(&mut self, index: Option<usize>) {
        const STEP_BYTES: u64 = 1 << 20;
        let Some(index) = index else { return };
        let Some(code) = self.codes.get(index) else { return };
        self.steps.resize(self.codes.len(), 0);
        let now = code.next_hot() / STEP_BYTES;
        if let Some(step) = self.steps.get_mut(index).filter(|step| **step != now) {
            *step = now;
            self.codes.iter().for_each(Code::rest);
        }
    }

    /// Whether one more fragment fits.
    pub fn has_room(&self, code: &Code) -> bool {
        code.has_room(self.most_blocks)
    }

    /// The arena for the code at `pc`, with room for one more fragment.
    pub fn room_near(&mut self, pc: u64) -> Option<usize> {
        let reach = self.reach(pc)?;
        let found = self.codes.iter().position(|code| self.has_room(code) && code.reaches(&reach));
        self.give_pages_back(found);
        let full = self.codes.len() >= self.most_arenas;
        if found.is_some() || full && self.codes.iter().any(|code| code.reaches(&reach)) {
            return found;
        }
        let arena = match Arena::new(reach.clone(), &mut self.lanes) {
            Err(MemoryError::NoHole { .. }) if code::is_low(&reach) => {
                let near = self.codes.iter().rev().find_map(Code::far);
                Arena::far(near, &mut self.lanes)
            }
            made => made,
        };
        let arena = arena.ok()?;
        self.began += 1;
        self.codes.push(Code::new(arena, self.began, misses())?);
        Some(self.codes.len() - 1)
    }

    /// The original bytes of an instruction.
    pub fn original(&self, instruction: &Instruction) -> &'static [u8] {
        self.code_after(instruction.ip()).and_then(|code| code.get(..instruction.len())).unwrap_or_default()
    }

    /// The original code from `pc` to the end of its region, where it may be translated.
    pub fn code_after(&self, pc: u64) -> Option<&'static [u8]> {
        source::original(&self.regions, pc)
    }

    pub fn add_hook(&mut self, hook: Hook) -> u64 {
        if let Some(id) = self.unused_hooks.pop()
            && let Some(place) = self.hooks.get_mut(id as usize)
        {
            *place = hook;
            return id;
        }
        self.hooks.push(hook);
        self.hooks.len() as u64 - 1
    }

    pub fn hook(&self, id: u64) -> Option<Hook> {
        self.hooks.get(id as usize).copied()
    }

    pub fn counter_added(&mut self, index: usize, id: u64) {
        self.new_counters.push((index, id));
    }

    /// The arena that a cache address lies in.
    pub fn code_at(&self, address: u64) -> Option<(usize, &Code)> {
        self.codes.iter().enumerate().find(|(_, code)| code.contains(address))
    }

    /// The state that holds at a cache address inside a fragment.
    pub fn mark(&self, address: u64) -> Option<Mark> {
        self.code_at(address)?.1.mark(address)
    }
}
