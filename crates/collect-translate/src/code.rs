//! One arena of the cache with everything that is known about the code in it.

use std::ops::Range;

use carom_base_insn::Iteration;
use iced_x86::{Instruction, OpKind};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::{
    block::{Block, Packed, Sums},
    emit::{Emitter, Gpr},
    exit::{Exit, Reason},
    fragment::{MOST_COLD, MOST_HOT},
    marks::{self, Lent, Mark, Marks, Undo},
    memory::{Arena, COUNTERS_PER_ARENA, LaneId, TableKind, Windows},
    state::{DISPATCH, Scratch},
    system::gate,
};

/// What one counter counts.
#[derive(Clone, Copy, Debug)]
pub struct Counter {
    /// The block, or the repeated instruction.
    pub pc: u64,
    /// Where its code begins in the cache.
    pub cache: u64,
    /// What each unit stands for.
    pub sums: Packed,
    /// Executions are counted down from what was loaded, iterations up from 0.
    pub counts_up: bool,
    /// The block's first template, where its accesses are streamed.
    pub template: Option<u32>,
}

impl Counter {
    /// Executions of a block whose code begins at `cache`.
    pub fn block(block: &Block, cache: u64) -> Self {
        Self { pc: block.pc, cache, sums: Packed::of(&block.sums), counts_up: false, template: None }
    }

    /// What each unit stands for.
    pub const fn sums(&self) -> Sums {
        self.sums.sums()
    }

    /// Active lanes of an instruction whose code begins at `cache`.
    pub fn lanes(instruction: &Instruction, cache: u64) -> Self {
        let bytes = instruction.memory_size().element_size() as u32;
        let stores = instruction.op0_kind() == OpKind::Memory;
        let sums = if stores {
            Sums { stores: 1, stored_bytes: bytes, ..Sums::default() }
        } else {
            Sums { loads: 1, loaded_bytes: bytes, ..Sums::default() }
        };
        Self { pc: instruction.ip(), cache, sums: Packed::of(&sums), counts_up: true, template: None }
    }

    /// Iterations of the repeated instruction at `pc`, whose code begins at `cache`.
    pub fn iterations(pc: u64, cache: u64, iteration: &Iteration) -> Self {
        let sums = Sums {
            loads: iteration.loads,
            stores: iteration.stores,
            loaded_bytes: iteration.loaded_bytes,
            stored_bytes: iteration.stored_bytes,
            ..Sums::default()
        };
        Self { pc, cache, sums: Packed::of(&sums), counts_up: true, template: None }
    }
}

/// A piece of translated code and its way back.
#[derive(Debug)]
struct Fragment {
    start: u64,
    end: u64,
    marks: marks::Finished,
    /// From its first to its last original byte. Empty where these have changed since.
    original: Range<u64>,
}

/// A jump that leads to a block, and can be made to leave instead.
#[derive(Debug)]
struct Link {
    /// The block's original address.
    pc: u64,
    /// Where in the arena the displacement is.
    patch: u32,
    /// Where in the arena it led before there was the block; 0 if it never led elsewhere.
    stub: u32,
}

/// One arena.
#[derive(Debug)]
pub struct Code {
    memory: Arena,
    /// When it was begun, in arenas.
    pub began: u64,
    /// Its code is forgotten: the how manieth of those arenas it is.
    retired: Option<u64>,
    /// Hooks that its code names.
    hooks: Vec<u64>,
    counters: Vec<Counter>,
    /// Accesses that one unit of each counter stands for.
    weights: Vec<i32>,
    /// Ascending.
    fragments: Vec<Fragment>,
    /// Likewise, in the cold half.
    pieces: Vec<Fragment>,
    links: Vec<Link>,
    /// Jumps that have no way out yet, and must find room for one when their block is forgotten.
    stubs_to_come: usize,
    /// By block: jumps to it from here, where it is out of reach.
    springboards: FxHashMap<u64, u64>,
    /// The code of a way out behind its `Exit`: the flags as they are, or in AX.
    ways_out: [Vec<u8>; 2],
    /// Addresses of the `Exit` records of hooks, ascending.
    stubs: Vec<u64>,
    gates: [u64; 2],
    misses: [u64; 3],
    miss_stubs: [u64; 3],
}

/// Alignment of fragments: what a processor fetches at a time.
const FETCH: u64 = 16;

/// Whether code that names only this can name it by its address, whose sign is extended from bit 31.
pub const fn is_low(code: &Range<u64>) -> bool {
    code.end <= 2 << 30
}

/// Alignment in the cold half.
const WORD: u64 = 8;

/// The displacement at `patch` with which a jump leads to `to`, where it is within reach.
fn displacement(patch: u64, to: u64) -> Option<i32> {
    i32::try_from(to.wrapping_sub(patch + 4) as i64).ok()
}

/// Appends `jmp [rip+literal]`.
fn jump_to_literal(code: &mut Emitter, literal: u64) {
    code.raw(&[0xff, 0x25]);
    let end = code.here() + 4;
    code.raw(&(literal.wrapping_sub(end) as u32).to_le_bytes());
}

/// More than a way out takes.
const STUB_BYTES: usize = 80;

/// The code behind an [`Exit`], which is the same wherever that lies. `flags_in_ax`: they are put back first, and RAX
/// from C.
fn way_out(flags_in_ax: bool) -> Vec<u8> {
    const RECORD: u64 = 0;
    let mut code = Emitter::small(RECORD + size_of::<Exit>() as u64);
    if flags_in_ax {
        code.flags_from_ax();
        code.reload(Gpr::RAX, Scratch::C);
    }
    code.spill(Gpr::RAX, Scratch::A);
    code.address_of(Gpr::RAX, RECORD);
    code.jump_gs(DISPATCH);
    code.bytes().to_vec()
}

impl Code {
    /// An empty arena. `misses`: where landings jump that were not meant, by [`TableKind`].
    pub fn new(memory: Arena, began: u64, misses: [u64; 3]) -> Option<Self> {
        let mut code = Self {
            memory,
            began,
            retired: None,
            hooks: Vec::new(),
            // Address space only, until it is used: growing would copy.
            counters: Vec::with_capacity(COUNTERS_PER_ARENA),
            weights: Vec::with_capacity(COUNTERS_PER_ARENA),
            fragments: Vec::with_capacity(COUNTERS_PER_ARENA / 4),
            pieces: Vec::new(),
            links: Vec::with_capacity(COUNTERS_PER_ARENA),
            stubs_to_come: 0,
            springboards: FxHashMap::default(),
            ways_out: [false, true].map(way_out),
            stubs: Vec::new(),
            gates: [0; 2],
            misses,
            miss_stubs: [0; 3],
        };
        code.prepare()?;
        Some(code)
    }

    /// What all fragments refer to.
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

    /// Its code is forgotten from now on. Returns where it is.
    pub fn retire(&mut self, number: u64) -> Range<u64> {
        self.retired = Some(number);
        for fragment in &mut self.fragments {
            fragment.original = 0..0;
        }
        self.range()
    }

    /// The number that it was retired with, if it was.
    pub const fn retired(&self) -> Option<u64> {
        self.retired
    }

    /// Its addresses.
    pub fn range(&self) -> Range<u64> {
        self.memory.range()
    }

    /// Empties it. Nothing may run its code any more. False where it cannot be used.
    pub fn restart(&mut self, began: u64) -> bool {
        self.memory.clear();
        self.counters.clear();
        self.weights.clear();
        self.fragments.clear();
        self.pieces.clear();
        self.links.clear();
        self.stubs.clear();
        self.springboards.clear();
        self.stubs_to_come = 0;
        self.began = began;
        let ready = self.prepare().is_some();
        self.retired = self.retired.filter(|_| !ready);
        ready
    }

    /// The hooks that its code names, which is not run any more.
    pub fn take_hooks(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.hooks)
    }

    /// Where the table of system calls lies that leave, `waiting` ones among them or not.
    pub const fn gate(&self, waiting: bool) -> u64 {
        let [ours, with_waiting] = self.gates;
        if waiting { with_waiting } else { ours }
    }

    /// Where a landing jumps that was not meant.
    pub fn miss(&self, table: TableKind) -> u64 {
        self.miss_stubs.get(table as usize).copied().unwrap_or_default()
    }

    /// Whether one more fragment fits, where it may hold so many blocks.
    pub fn has_room(&self, blocks: usize) -> bool {
        self.retired.is_none()
            && self.memory.room(MOST_HOT, MOST_COLD + self.stubs_to_come * STUB_BYTES)
            && self.counters.len() + MOST_HOT / 64 < blocks.min(COUNTERS_PER_ARENA)
    }

    /// Whether operands anywhere in it can name all of `code`: relative to themselves, or by its address.
    pub fn reaches(&self, code: &Range<u64>) -> bool {
        self.memory.reaches(code) || self.memory.is_far() && is_low(code)
    }

    /// Where it lies, if that is anywhere.
    pub fn far(&self) -> Option<u64> {
        self.memory.is_far().then(|| self.memory.range().start)
    }

    /// Gives the pages back that it can be written through: they come back where they are used.
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

    /// A new counter: its number, and its place relative to GS.
    pub fn add_counter(&mut self, counter: Counter) -> (u64, u64) {
        let id = self.counters.len() as u64;
        self.counters.push(counter);
        let accesses = counter.sums().accesses() as i32;
        self.weights.push(if counter.counts_up { accesses } else { -accesses });
        (id, self.windows().v.wrapping_add(8 * id))
    }

    /// Loads and stores of a lane's counters, but for the executions that were loaded into them.
    pub fn accesses(&self, lane: LaneId) -> i64 {
        self.windows().weighted(lane, &self.weights)
    }

    /// Adds to a counter of a thread that does not count meanwhile.
    pub fn count(&self, lane: LaneId, id: u64, difference: i64) {
        let windows = self.windows();
        windows.set(lane, id as usize, windows.value(lane, id as usize).wrapping_add(difference));
    }

    /// Where the next piece of cold code begins.
    pub fn next_cold(&self) -> u64 {
        self.memory.cold().next_multiple_of(WORD)
    }

    /// Puts a fragment where it was made for. `original`: from its first to its last original byte.
    pub fn add_fragment(&mut self, code: &Emitter, marks: marks::Finished, original: Range<u64>) -> bool {
        let taken = (code.here() - self.memory.hot()) as usize;
        let written = self
            .memory
            .allocate(taken, 0)
            .and_then(|()| self.memory.write(code.start(), code.bytes()))
            .is_ok();
        if written {
            self.fragments.push(Fragment { start: code.start(), end: code.here(), marks, original });
        }
        written
    }

    /// Puts a piece of cold code with marks of its own where it was made for. It begins there.
    pub fn add_piece(&mut self, code: &Emitter, marks: Marks) -> Option<u64> {
        let start = self.cold(code.bytes())?;
        let (marks, _) = marks.finish();
        self.pieces.push(Fragment { start, end: code.here(), marks, original: 0..0 });
        Some(start)
    }

    /// A word that code refers to.
    pub fn literal(&mut self, value: u64) -> u64 {
        self.cold(&value.to_le_bytes()).unwrap_or_default()
    }

    /// Code that leaves the cache for `exit`. `flags_in_ax`: they are put back first, and RAX from C.
    pub fn stub(&mut self, exit: Exit, flags_in_ax: bool) -> u64 {
        let mut stub = [0; STUB_BYTES];
        let Some(way_out) = self.ways_out.get(usize::from(flags_in_ax)) else { return 0 };
        let bytes = size_of::<Exit>() + way_out.len();
        let (record, code) = stub.split_at_mut(size_of::<Exit>());
        record.copy_from_slice(&exit.bytes());
        code.iter_mut().zip(way_out).for_each(|(place, byte)| *place = *byte);
        let Some(record) = self.cold(stub.get(..bytes).unwrap_or_default()) else { return 0 };
        self.note_hook(&exit, record);
        record + size_of::<Exit>() as u64
    }

    fn note_hook(&mut self, exit: &Exit, record: u64) {
        if exit.reason == Reason::Hook {
            self.hooks.push(exit.detail);
            self.stubs.push(record);
        }
    }

    /// As [`stub`](Self::stub); registers that are lent are given back first.
    pub fn stub_giving_back(&mut self, exit: Exit, flags_in_ax: bool, lent: Lent) -> u64 {
        if lent == Lent::None {
            return self.stub(exit, flags_in_ax);
        }
        let record = self.next_cold();
        let mut code = Emitter::small(record);
        code.raw(&exit.bytes());
        let entry = code.here();
        if flags_in_ax {
            code.flags_from_ax();
            code.reload(Gpr::RAX, Scratch::C);
        }
        code.give_back(lent);
        code.spill(Gpr::RAX, Scratch::A);
        code.address_of(Gpr::RAX, record);
        code.jump_gs(DISPATCH);
        if self.cold(code.bytes()).is_none() {
            return 0;
        }
        self.note_hook(&exit, record);
        entry
    }

    /// Code that gives RCX back from C and goes on at `to`.
    pub fn reload_rcx_and_jump(&mut self, to: u64) -> u64 {
        let mut code = Emitter::small(self.next_cold());
        code.reload(Gpr::RCX, Scratch::C);
        code.raw(&[0xe9]);
        let end = code.here() + 4;
        code.raw(&(to.wrapping_sub(end) as u32).to_le_bytes());
        self.cold(code.bytes()).unwrap_or_default()
    }

    /// The arena itself.
    pub fn memory_mut(&mut self) -> &mut Arena {
        &mut self.memory
    }

    /// Makes the jump whose displacement is at `patch` lead to `to`. False where that is out of reach.
    pub fn patch(&mut self, patch: u64, to: u64) -> bool {
        displacement(patch, to).is_some_and(|near| self.memory.patch_u32(patch, near as u32).is_ok())
    }

    /// Where the jump leads whose displacement is at `patch`.
    fn target(&self, patch: u64) -> Option<u64> {
        let displacement = self.memory.read(patch, 4).ok()?.try_into().ok()?;
        Some((patch + 4).wrapping_add(i64::from(i32::from_le_bytes(displacement)) as u64))
    }

    /// Makes a jump that leaves for the block at `pc` lead to its code at `to`.
    pub fn link(&mut self, pc: u64, patch: u64, to: u64) {
        let stub = self.target(patch).unwrap_or_default();
        let to = if displacement(patch, to).is_some() { Some(to) } else { self.springboard(pc, to) };
        // Without room every pass leaves. Another thread may have come by here before.
        if let Some(to) = to.filter(|&to| to != stub)
            && self.patch(patch, to)
        {
            self.linked(pc, patch, stub);
        }
    }

    /// Code that jumps to that of the block at `pc`, which is out of reach, at `to`.
    fn springboard(&mut self, pc: u64, to: u64) -> Option<u64> {
        if let Some(&known) = self.springboards.get(&pc) {
            return Some(known);
        }
        let literal = self.cold(&to.to_le_bytes())?;
        let mut code = Emitter::small(self.next_cold());
        let mut marks = Marks::new(code.start(), pc);
        marks.push(code.start(), pc, Undo::Nothing);
        jump_to_literal(&mut code, literal);
        let springboard = self.add_piece(&code, marks)?;
        self.springboards.insert(pc, springboard);
        Some(springboard)
    }

    /// A jump leads to the block at `pc`. `stub`: where it leaves if it does not; 0 where that is still to be made.
    pub fn linked(&mut self, pc: u64, patch: u64, stub: u64) {
        self.stubs_to_come += usize::from(stub == 0);
        let start = self.range().start;
        let [patch, stub] = [patch, stub].map(|at| at.saturating_sub(start) as u32);
        self.links.push(Link { pc, patch, stub });
    }

    /// Makes the jumps to some blocks leave. Returns the blocks that they wait for from now on, and where their
    /// displacements are.
    pub fn unlink(&mut self, gone: &FxHashSet<u64>) -> Vec<(u64, u64)> {
        self.springboards.retain(|pc, _| !gone.contains(pc));
        let cut: Vec<_> = self.links.extract_if(.., |link| gone.contains(&link.pc)).collect();
        self.cut(&cut);
        let start = self.range().start;
        cut.into_iter().map(|link| (link.pc, start + u64::from(link.patch))).collect()
    }

    /// Makes all jumps leave.
    pub fn cut_links(&mut self) {
        let cut = std::mem::take(&mut self.links);
        self.cut(&cut);
    }

    fn cut(&mut self, cut: &[Link]) {
        let start = self.range().start;
        for link in cut {
            let patch = start + u64::from(link.patch);
            let stub = match link.stub {
                0 => {
                    self.stubs_to_come -= 1;
                    self.stub(Exit { reason: Reason::Link, detail: patch, pc: link.pc, back: 0 }, false)
                }
                stub => start + u64::from(stub),
            };
            // Room for a way out was kept; without memory for it, the jump goes on leading to the old code.
            if stub != 0 {
                self.patch(patch, stub);
            }
        }
    }

    /// Disowns the fragments that were made from something in `changed`, and tells where they are.
    pub fn disown(&mut self, changed: &Range<u64>) -> Vec<Range<u64>> {
        let overlapping = |fragment: &&mut Fragment| {
            fragment.original.start < changed.end && changed.start < fragment.original.end
        };
        let disown = |fragment: &mut Fragment| {
            fragment.original = 0..0;
            fragment.start..fragment.end
        };
        self.fragments.iter_mut().filter(overlapping).map(disown).collect()
    }

    /// Whether `address` lies in a fragment whose original has not changed since.
    pub fn is_current(&self, address: u64) -> bool {
        self.fragment(address).is_some_and(|fragment| !fragment.original.is_empty())
    }

    fn fragment(&self, address: u64) -> Option<&Fragment> {
        [&self.fragments, &self.pieces].into_iter().find_map(|all| {
            let after = all.partition_point(|fragment| fragment.start <= address);
            all.get(after.checked_sub(1)?).filter(|fragment| address < fragment.end)
        })
    }

    /// The state that holds at a cache address, in a fragment.
    pub fn mark(&self, address: u64) -> Option<Mark> {
        self.fragment(address).map(|fragment| fragment.marks.find(address))
    }

    /// The marks of the fragment that `address` lies in, up to there, and where the fragment begins.
    pub fn marks_until(&self, address: u64) -> Option<(u64, impl Iterator<Item = Mark>)> {
        let fragment = self.fragment(address)?;
        let marks = fragment.marks.iter().take_while(move |mark| mark.cache <= address);
        Some((fragment.start, marks))
    }

    /// The record of the hook's stub that `address` lies in, if it lies in one.
    pub fn stub_at(&self, address: u64) -> Option<u64> {
        let after = self.stubs.partition_point(|record| *record <= address);
        self.stubs.get(after.checked_sub(1)?).copied()
    }

    fn cold(&mut self, bytes: &[u8]) -> Option<u64> {
        let at = self.next_cold();
        let taken = (at - self.memory.cold()) as usize + bytes.len();
        self.memory.allocate(0, taken).and_then(|()| self.memory.write(at, bytes)).ok()?;
        Some(at)
    }
}

#[cfg(test)]
mod tests;
