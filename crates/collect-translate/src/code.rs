//! One arena of the cache with everything that is known about the code in it.

use std::ops::Range;

use carom_base_insn::Iteration;
use iced_x86::{Instruction, OpKind};
use rustc_hash::FxHashSet;

use crate::{
    block::{Block, Sums},
    emit::{Emitter, Gpr},
    exit::{Exit, Reason},
    fragment::{MOST_COLD, MOST_HOT},
    marks::{Mark, Marks},
    memory::{Arena, COUNTERS_PER_ARENA, TableKind, Windows},
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
    pub sums: Sums,
    /// Executions are counted down from what was loaded, iterations up from 0.
    pub counts_up: bool,
}

impl Counter {
    /// Executions of a block whose code begins at `cache`.
    pub fn block(block: &Block, cache: u64) -> Self {
        Self { pc: block.pc, cache, sums: block.sums, counts_up: false }
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
        Self { pc: instruction.ip(), cache, sums, counts_up: true }
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
        Self { pc, cache, sums, counts_up: true }
    }
}

/// A piece of translated code and its way back.
#[derive(Debug)]
struct Fragment {
    start: u64,
    end: u64,
    marks: Marks,
    /// From its first to its last original byte. Empty where these have changed since.
    original: Range<u64>,
}

/// A jump that leads to a block, and can be made to leave instead.
#[derive(Debug)]
struct Link {
    /// The block's original address.
    pc: u64,
    /// Where the displacement is.
    patch: u64,
    /// Where it led before there was the block; 0 if it never led elsewhere.
    stub: u64,
}

/// One arena.
#[derive(Debug)]
pub struct Code {
    memory: Arena,
    counters: Vec<Counter>,
    /// Ascending.
    fragments: Vec<Fragment>,
    /// Likewise, in the cold half.
    pieces: Vec<Fragment>,
    links: Vec<Link>,
    /// Addresses of `Exit` records, ascending.
    stubs: Vec<u64>,
    gate: u64,
    misses: [u64; 3],
}

/// Alignment of fragments: what a processor fetches at a time.
const FETCH: u64 = 16;

/// Alignment in the cold half.
const WORD: u64 = 8;

impl Code {
    /// An empty arena. `misses`: where landings jump that were not meant, by [`TableKind`].
    pub fn new(memory: Arena, misses: [u64; 3]) -> Option<Self> {
        let mut code = Self {
            memory,
            counters: Vec::new(),
            fragments: Vec::new(),
            pieces: Vec::new(),
            links: Vec::new(),
            stubs: Vec::new(),
            gate: 0,
            misses: [0; 3],
        };
        code.gate = code.cold(&gate::table())?;
        for (index, miss) in misses.into_iter().enumerate() {
            let literal = code.cold(&miss.to_le_bytes())?;
            let mut jump = Emitter::small(code.memory.cold());
            // jmp [rip+literal]
            jump.raw(&[0xff, 0x25]);
            let end = jump.here() + 4;
            jump.raw(&(literal.wrapping_sub(end) as u32).to_le_bytes());
            *code.misses.get_mut(index)? = code.cold(jump.bytes())?;
        }
        Some(code)
    }

    /// Where the table of system calls lies that leave.
    pub const fn gate(&self) -> u64 {
        self.gate
    }

    /// Where a landing jumps that was not meant.
    pub fn miss(&self, table: TableKind) -> u64 {
        self.misses.get(table as usize).copied().unwrap_or_default()
    }

    /// Whether one more fragment fits.
    pub fn has_room(&self) -> bool {
        self.memory.room(MOST_HOT, MOST_COLD) && self.counters.len() + MOST_HOT / 64 < COUNTERS_PER_ARENA
    }

    /// Whether relative operands anywhere in it reach all of `code`.
    pub fn reaches(&self, code: &Range<u64>) -> bool {
        self.memory.reaches(code)
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
        (id, self.windows().v.wrapping_add(8 * id))
    }

    /// Where the next piece of cold code begins.
    pub fn next_cold(&self) -> u64 {
        self.memory.cold().next_multiple_of(WORD)
    }

    /// Puts a fragment where it was made for. `original`: from its first to its last original byte.
    pub fn add_fragment(&mut self, code: &Emitter, marks: Marks, original: Range<u64>) -> bool {
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
        self.pieces.push(Fragment { start, end: code.here(), marks, original: 0..0 });
        Some(start)
    }

    /// A word that code refers to.
    pub fn literal(&mut self, value: u64) -> u64 {
        self.cold(&value.to_le_bytes()).unwrap_or_default()
    }

    /// Code that leaves the cache for `exit`. `flags_in_ax`: they are put back first, and RAX from C.
    pub fn stub(&mut self, exit: Exit, flags_in_ax: bool) -> u64 {
        let record = self.next_cold();
        let mut code = Emitter::small(record);
        code.raw(&exit.bytes());
        let entry = code.here();
        if flags_in_ax {
            code.flags_from_ax();
            code.reload(Gpr::RAX, Scratch::C);
        }
        code.spill(Gpr::RAX, Scratch::A);
        code.address_of(Gpr::RAX, record);
        code.jump_gs(DISPATCH);
        self.stubs.push(record);
        self.cold(code.bytes()).map_or(0, |_| entry)
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
        let displacement = to.wrapping_sub(patch + 4) as i64;
        i32::try_from(displacement).is_ok_and(|near| self.memory.patch_u32(patch, near as u32).is_ok())
    }

    /// Where the jump leads whose displacement is at `patch`.
    fn target(&self, patch: u64) -> Option<u64> {
        let displacement = self.memory.read(patch, 4).ok()?.try_into().ok()?;
        Some((patch + 4).wrapping_add(i64::from(i32::from_le_bytes(displacement)) as u64))
    }

    /// Makes a jump that leaves for the block at `pc` lead to its code at `to`.
    pub fn link(&mut self, pc: u64, patch: u64, to: u64) {
        let stub = self.target(patch).unwrap_or_default();
        // Where it is out of reach, every pass leaves. Another thread may have come by here before.
        if stub != to && self.patch(patch, to) {
            self.linked(pc, patch, stub);
        }
    }

    /// A jump leads to the block at `pc`. `stub`: where it leaves if it does not; 0 where that is still to be made.
    pub fn linked(&mut self, pc: u64, patch: u64, stub: u64) {
        self.links.push(Link { pc, patch, stub });
    }

    /// Makes the jumps to some blocks leave.
    pub fn unlink(&mut self, gone: &FxHashSet<u64>) {
        for link in self.links.extract_if(.., |link| gone.contains(&link.pc)).collect::<Vec<_>>() {
            let stub = match link.stub {
                0 => {
                    self.stub(Exit { reason: Reason::Link, detail: link.patch, pc: link.pc, back: 0 }, false)
                }
                stub => stub,
            };
            // Where there is no room for a way out, it goes on leading to the old code.
            if stub != 0 {
                self.patch(link.patch, stub);
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

    /// The record of the stub that `address` lies in, if it lies in one.
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
