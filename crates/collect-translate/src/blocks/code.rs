//! One arena of the cache, with all that is known about the code in it.

pub mod fragments;
pub mod jumps;
pub mod stubs;
#[cfg(test)]
mod tests;

use std::ops::Range;

use super::gate;
use crate::{
    encode::Emitter,
    memory::{Arena, COUNTERS_PER_ARENA, LaneId, TableKind, Windows},
    probes::counter::Counter,
};
use fragments::Fragments;
use jumps::Jumps;
use stubs::Stubs;

/// One arena.
#[derive(Debug)]
pub struct Code {
    memory: Arena,
    /// Its number in the order in which arenas were begun.
    pub began: u64,
    /// Its number among the retired arenas, once its code is forgotten.
    retired: Option<u64>,
    counters: Vec<Counter>,
    /// How many accesses one unit of each counter stands for.
    weights: Vec<i32>,
    /// Where branches fall through to that have counters of their own for it: the last counters of a window, from its end on.
    edges: Vec<u64>,
    fragments: Fragments,
    jumps: Jumps,
    stubs: Stubs,
    gates: [u64; 2],
    misses: [u64; 3],
    miss_stubs: [u64; 3],
}

/// The largest number of counters in one fragment: those of its blocks, and of instructions that have their own.
const MOST_NEW: usize = 16 * 64;

/// The space reserved for a fragment in each half of its arena: 16 blocks of 64 instructions with added code.
pub const MOST_HOT: usize = 64 << 10;
pub const MOST_COLD: usize = 64 << 10;

/// Alignment of fragments: what a processor fetches at once.
const FETCH: u64 = 16;

/// Whether code can name this range by absolute addresses, whose sign is extended from bit 31.
pub const fn is_low(code: &Range<u64>) -> bool {
    code.end <= 2 << 30
}

/// Alignment in the cold half.
const WORD: u64 = 8;

/// Appends `jmp [rip+literal]`.
fn jump_to_literal(code: &mut Emitter, literal: u64) {
    code.raw(&[0xff, 0x25]);
    let end = code.here() + 4;
    code.raw(&(literal.wrapping_sub(end) as u32).to_le_bytes());
}

impl Code {
    /// An empty arena. `misses`: where landings lead in the end, by [`TableKind`].
    pub fn new(memory: Arena, began: u64, misses: [u64; 3]) -> Option<Self> {
        let mut code = Self {
            memory,
            began,
            retired: None,
            // Only address space, until it is used: growing would copy.
            counters: Vec::with_capacity(COUNTERS_PER_ARENA),
            weights: Vec::with_capacity(COUNTERS_PER_ARENA),
            edges: Vec::with_capacity(COUNTERS_PER_ARENA),
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

    /// The counters by their numbers.
    pub fn counters(&self) -> &[Counter] {
        &self.counters
    }

    /// Adds a counter: returns its number, and its place relative to GS.
    pub fn add_counter(&mut self, counter: Counter) -> (u64, u64) {
        let id = self.counters.len() as u64;
        self.counters.push(counter);
        self.weights.push(-(counter.sums().accesses() as i32));
        (id, self.windows().v.wrapping_add(8 * id))
    }

    /// Adds a counter for a branch that falls through to `behind`, which counts down there: returns its place relative to GS.
    pub fn add_edge(&mut self, behind: u64) -> u64 {
        self.edges.push(behind);
        self.windows().v.wrapping_add(8 * (COUNTERS_PER_ARENA - self.edges.len()) as u64)
    }

    /// Where branches fall through to, of those with counters of their own.
    pub fn edges(&self) -> &[u64] {
        &self.edges
    }

    /// How often each of these branches of a lane fell through.
    pub fn falls(&self, lane: LaneId) -> impl Iterator<Item = i64> {
        let windows = self.windows();
        (1..=self.edges.len()).map(move |edge| -windows.value(lane, COUNTERS_PER_ARENA - edge))
    }

    /// Loads and stores by a lane's counters, without the units that were loaded into them.
    pub fn accesses(&self, lane: LaneId) -> i64 {
        self.windows().weighted(lane, &self.weights)
    }

    /// Adds to a counter of a thread that is not counting meanwhile.
    pub fn count(&self, lane: LaneId, id: u64, difference: i64) {
        let windows = self.windows();
        windows.set(lane, id as usize, windows.value(lane, id as usize).wrapping_add(difference));
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
