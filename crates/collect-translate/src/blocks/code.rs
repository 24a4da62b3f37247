//! One arena of the cache, with all that is known about the code in it.

pub mod counters;
pub mod fragments;
pub mod jumps;
pub mod stubs;
#[cfg(test)]
mod tests;

use std::ops::Range;

use super::gate;
use crate::{
    encode::Emitter,
    memory::{Arena, COUNTERS_PER_ARENA, TableKind, Windows},
    probes::{counter::Counter, mode::Version},
};
use counters::Edge;
use fragments::Fragments;
use jumps::Jumps;
use stubs::Stubs;

/// One arena.
#[derive(Debug)]
pub struct Code {
    memory: Arena,
    /// Its number in the order in which arenas were begun.
    pub began: u64,
    /// The version of its code.
    pub version: Version,
    /// Its number among the retired arenas, once its code is forgotten.
    retired: Option<u64>,
    counters: Vec<Counter>,
    /// How many accesses one unit of each counter stands for.
    weights: Vec<i32>,
    /// Where superblocks are left, with the counter of each such branch, by address (`emit::superblocks`).
    sides: Vec<(u64, u64)>,
    /// Branches that fall through with counters of their own: the last counters of a window, from its end on.
    edges: Vec<Edge>,
    fragments: Fragments,
    jumps: Jumps,
    stubs: Stubs,
    gates: [u64; 2],
    misses: [u64; 3],
    miss_stubs: [u64; 3],
}

/// The largest number of counters in one fragment: those of its blocks, and of instructions that have their own.
const MOST_NEW: usize = 16 * 64;

/// The space reserved for a fragment in each part of its arena: 16 blocks of 64 instructions with added code.
pub const MOST_HOT: usize = 64 << 10;
pub const MOST_COLD: usize = 64 << 10;

/// Alignment of fragments: what a processor fetches at once.
const FETCH: u64 = 16;

/// Whether code can name this range by absolute addresses, whose sign is extended from bit 31.
pub const fn is_low(code: &Range<u64>) -> bool {
    code.end <= 2 << 30
}

/// Alignment in the cold part.
const WORD: u64 = 8;

/// Appends `jmp [rip+literal]`.
fn jump_to_literal(code: &mut Emitter, literal: u64) {
    code.raw(&[0xff, 0x25]);
    let end = code.here() + 4;
    code.raw(&(literal.wrapping_sub(end) as u32).to_le_bytes());
}

impl Code {
    /// An empty arena, its number and the version of its code. `misses`: where landings lead in the end, by [`TableKind`].
    pub fn new(memory: Arena, (began, version): (u64, Version), misses: [u64; 3]) -> Option<Self> {
        let mut code = Self {
            memory,
            began,
            version,
            retired: None,
            // Only address space, until it is used: growing would copy.
            counters: Vec::with_capacity(COUNTERS_PER_ARENA),
            weights: Vec::with_capacity(COUNTERS_PER_ARENA),
            edges: Vec::with_capacity(COUNTERS_PER_ARENA),
            sides: Vec::new(),
            fragments: Fragments::new(),
            jumps: Jumps::new(),
            stubs: Stubs::new(),
            gates: [0; 2],
            misses,
            miss_stubs: [0; 3],
        };
        code.prepare()?;
        Some(code)
    }

    /// Emits what all fragments refer to.
    fn prepare(&mut self) -> Option<()> {
        self.gates = [self.cold(&gate::table(false))?, self.cold(&gate::table(true))?];
        for (index, miss) in self.misses.into_iter().enumerate() {
            let literal = self.cold(&miss.to_le_bytes())?;
            let mut jump = Emitter::small(self.next_cold());
            jump_to_literal(&mut jump, literal);
            *self.miss_stubs.get_mut(index)? = self.cold(jump.bytes())?;
        }
        Some(())
    }

    /// Forgets its code. Returns its range.
    pub fn retire(&mut self, number: u64) -> Range<u64> {
        self.retired = Some(number);
        self.fragments.retire();
        self.range()
    }

    /// Its number among the retired arenas, if it is retired.
    pub const fn retired(&self) -> Option<u64> {
        self.retired
    }

    /// Its addresses.
    pub fn range(&self) -> Range<u64> {
        self.memory.range()
    }

    /// Empties it. No thread may run its code any more. False where it cannot be used.
    pub fn restart(&mut self, began: u64) -> bool {
        self.memory.clear();
        self.counters.clear();
        self.weights.clear();
        self.edges.clear();
        self.sides.clear();
        self.fragments.clear();
        self.jumps.clear();
        self.stubs.clear();
        self.began = began;
        let ready = self.prepare().is_some();
        self.retired = self.retired.filter(|_| !ready);
        ready
    }

    /// The address of the table of system calls that leave the cache, with or without the `waiting` ones.
    pub const fn gate(&self, waiting: bool) -> u64 {
        let [ours, with_waiting] = self.gates;
        if waiting { with_waiting } else { ours }
    }

    /// Where landings lead in the end.
    pub fn miss(&self, table: TableKind) -> u64 {
        self.miss_stubs.get(table as usize).copied().unwrap_or_default()
    }

    /// Whether one more fragment fits, if the arena may hold this many blocks.
    pub fn has_room(&self, blocks: usize) -> bool {
        self.retired.is_none()
            && self.memory.room(MOST_HOT, MOST_COLD + self.jumps.bytes_to_come())
            && self.counters.len() + MOST_NEW < blocks
            && self.counters.len() + self.edges.len() + 2 * MOST_NEW < COUNTERS_PER_ARENA
    }

    /// Ensures that the next fragment finds memory. `None` where there is none.
    pub fn make_ready(&mut self) -> Option<()> {
        self.memory.make_ready(MOST_HOT, MOST_COLD).ok()
    }

    /// Whether operands anywhere in the arena can name all of `code`: relative to themselves, or by its address.
    pub fn reaches(&self, code: &Range<u64>) -> bool {
        self.memory.reaches(code) || self.memory.is_far() && is_low(code)
    }

    /// Where it lies, if it was placed far from the code.
    pub fn far(&self) -> Option<u64> {
        self.memory.is_far().then(|| self.memory.range().start)
    }

    /// Unmaps the pages through which it is written; they come back on use.
    pub fn rest(&self) {
        self.memory.rest();
    }

    /// The counters of its blocks.
    pub fn windows(&self) -> Windows {
        self.memory.windows()
    }

    /// Where the next fragment begins.
    pub fn next_hot(&self) -> u64 {
        self.memory.hot().next_multiple_of(FETCH)
    }

    /// Whether `address` lies in it.
    pub fn contains(&self, address: u64) -> bool {
        self.memory.contains(address)
    }

    /// Where the next piece of cold code begins.
    pub fn next_cold(&self) -> u64 {
        self.memory.cold().next_multiple_of(WORD)
    }

    /// Adds a word that code refers to; returns its address.
    pub fn literal(&mut self, value: u64) -> u64 {
        self.cold(&value.to_le_bytes()).unwrap_or_default()
    }

    /// The arena itself.
    pub fn memory_mut(&mut self) -> &mut Arena {
        &mut self.memory
    }

    fn cold(&mut self, bytes: &[u8]) -> Option<u64> {
        let at = self.next_cold();
        let taken = (at - self.memory.cold()) as usize + bytes.len();
        self.memory.allocate(0, taken).and_then(|()| self.memory.write(at, bytes)).ok()?;
        Some(at)
    }
}
