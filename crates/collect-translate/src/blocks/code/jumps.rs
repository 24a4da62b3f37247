//! Direct jumps between blocks: linked when the target block is translated, cut when it is forgotten.

use rustc_hash::{FxHashMap, FxHashSet};

use super::{Code, jump_to_literal, stubs::STUB_BYTES};
use crate::{
    encode::{
        Emitter,
        marks::{Marks, Undo},
    },
    lane::exit::{Exit, Reason},
    memory::COUNTERS_PER_ARENA,
};

/// A jump that leads to a block, and that can be cut: made to leave the cache instead.
#[derive(Debug)]
pub(super) struct Link {
    /// The block's original address.
    pc: u64,
    /// Where in the arena the displacement is.
    patch: u32,
    /// Where in the arena it led before the block was translated; 0 if it never led elsewhere.
    stub: u32,
}

/// A jump back to the top of a loop that counts in a register (`emit::loops`). It leads only there, or leaves.
#[derive(Clone, Copy, Debug)]
pub struct Loop {
    /// The block's original address.
    pub pc: u64,
    /// The address of the displacement.
    pub patch: u64,
    /// Where the loop is entered, and where a round begins.
    pub entry: u64,
    pub top: u64,
    /// The exit stub.
    pub stub: u64,
}

/// The linked jumps of an arena.
#[derive(Debug)]
pub struct Jumps {
    pub(super) links: Vec<Link>,
    /// By the addresses of their displacements.
    loops: FxHashMap<u64, Loop>,
    /// How many of them have no exit stub yet, and need room for one when their block is forgotten.
    stubs_to_come: usize,
    /// By block: jumps in this arena to a block that is out of reach.
    springboards: FxHashMap<u64, u64>,
}

impl Jumps {
    /// None. The room is only address space, until it is used.
    pub fn new() -> Self {
        let links = Vec::with_capacity(COUNTERS_PER_ARENA);
        Self { links, loops: FxHashMap::default(), stubs_to_come: 0, springboards: FxHashMap::default() }
    }

    /// Forgets all of them.
    pub fn clear(&mut self) {
        self.links.clear();
        self.loops.clear();
        self.springboards.clear();
        self.stubs_to_come = 0;
    }

    /// Space reserved for exit stubs.
    pub const fn bytes_to_come(&self) -> usize {
        self.stubs_to_come * STUB_BYTES
    }
}

/// The displacement at `patch` of a jump to `to`, if that is within reach.
fn displacement(patch: u64, to: u64) -> Option<i32> {
    i32::try_from(to.wrapping_sub(patch + 4) as i64).ok()
}

impl Code {
    /// Makes the jump with the displacement at `patch` lead to `to`. False where that is out of reach.
    pub fn patch(&mut self, patch: u64, to: u64) -> bool {
        displacement(patch, to).is_some_and(|near| self.memory.patch_u32(patch, near as u32).is_ok())
    }

    /// Where the jump with the displacement at `patch` leads.
    pub(super) fn target(&self, patch: u64) -> Option<u64> {
        let displacement = self.memory.read(patch, 4).ok()?.try_into().ok()?;
        Some((patch + 4).wrapping_add(i64::from(i32::from_le_bytes(displacement)) as u64))
    }

    /// Makes a jump that leaves for the block at `pc` lead to the block's code at `to`.
    pub fn link(&mut self, pc: u64, patch: u64, to: u64) {
        if let Some(&Loop { entry, top, .. }) = self.jumps.loops.get(&patch) {
            // To another translation it leaves.
            if to == entry {
                self.patch(patch, top);
            }
            return;
        }
        let stub = self.target(patch).unwrap_or_default();
        let to = if displacement(patch, to).is_some() { Some(to) } else { self.springboard(pc, to) };
        // Without room for a springboard every pass leaves. Another thread may have linked the jump meanwhile.
        if let Some(to) = to.filter(|&to| to != stub)
            && self.patch(patch, to)
        {
            self.linked(pc, patch, stub);
        }
    }

    /// Makes a landing's jump for other targets, with its displacement at `patch`, lead to `to`. `pc`, `undo`: the
    /// landing's target, and what is borrowed on the way. False where there is no room.
    pub fn lead_on(&mut self, patch: u64, to: u64, pc: u64, undo: Undo) -> bool {
        self.patch(patch, to) || self.hop(to, pc, undo).is_some_and(|hop| self.patch(patch, hop))
    }

    /// Code that jumps to the block at `pc`, which lies out of reach at `to`.
    fn springboard(&mut self, pc: u64, to: u64) -> Option<u64> {
        if let Some(&known) = self.jumps.springboards.get(&pc) {
            return Some(known);
        }
        let springboard = self.hop(to, pc, Undo::Nothing)?;
        self.jumps.springboards.insert(pc, springboard);
        Some(springboard)
    }

    /// The same to code that is not the plain version of the block, and that leads there as long as the arena lasts.
    pub fn springboard_to(&mut self, to: u64, pc: u64) -> Option<u64> {
        self.hop(to, pc, Undo::Nothing)
    }

    /// Makes every loop that counts in a register leave after its round. It is linked again then.
    pub fn interrupt_loops(&mut self) {
        self.cut_loops(|_| true);
    }

    /// Replaces a switch.
    pub fn set_switch(&mut self, at: u64, bytes: &[u8]) {
        // Code that is not there yet is made with the switch as it is to be.
        let _ = self.memory.patch_within_word(at, bytes);
    }

    /// Code that jumps anywhere, on the way to the code at `pc`.
    fn hop(&mut self, to: u64, pc: u64, undo: Undo) -> Option<u64> {
        let literal = self.cold(&to.to_le_bytes())?;
        let mut code = Emitter::small(self.next_cold());
        let mut marks = Marks::new(code.start(), pc);
        marks.push(code.start(), pc, undo);
        jump_to_literal(&mut code, literal);
        self.add_piece(&code, marks)
    }

    /// Notes that a jump leads to the block at `pc`. `stub`: its exit stub; 0 where that is still to be made.
    pub fn linked(&mut self, pc: u64, patch: u64, stub: u64) {
        debug_assert!(
            stub == 0 || self.memory.is_cold(stub),
            "a jump is linked twice: its exit stub is lost"
        );
        self.jumps.stubs_to_come += usize::from(stub == 0);
        let start = self.range().start;
        let [patch, stub] = [patch, stub].map(|at| at.saturating_sub(start) as u32);
        self.jumps.links.push(Link { pc, patch, stub });
    }

    /// Notes the jump back of a loop.
    pub fn loops_back(&mut self, back: Loop) {
        self.jumps.loops.insert(back.patch, back);
    }

    /// Makes the jumps back of such loops leave.
    fn cut_loops(&mut self, is_cut: impl Fn(&Loop) -> bool) {
        let Self { jumps, memory, .. } = self;
        for &Loop { patch, stub, .. } in jumps.loops.values().filter(|back| is_cut(back)) {
            if let Some(near) = displacement(patch, stub) {
                let _ = memory.patch_u32(patch, near as u32);
            }
        }
    }

    /// Makes the jumps to the blocks in `gone` leave. Returns the blocks for which they wait from now on, with the
    /// addresses of their displacements.
    pub fn unlink(&mut self, gone: &FxHashSet<u64>) -> Vec<(u64, u64)> {
        self.jumps.springboards.retain(|pc, _| !gone.contains(pc));
        self.cut_loops(|back| gone.contains(&back.pc));
        let cut: Vec<_> = self.jumps.links.extract_if(.., |link| gone.contains(&link.pc)).collect();
        self.cut(&cut);
        let start = self.range().start;
        cut.into_iter().map(|link| (link.pc, start + u64::from(link.patch))).collect()
    }

    /// Makes all jumps leave.
    pub fn cut_links(&mut self) {
        let cut = std::mem::take(&mut self.jumps.links);
        self.cut(&cut);
        self.cut_loops(|_| true);
    }

    fn cut(&mut self, cut: &[Link]) {
        let start = self.range().start;
        for link in cut {
            let patch = start + u64::from(link.patch);
            let stub = match link.stub {
                0 => {
                    self.jumps.stubs_to_come -= 1;
                    self.stub(Exit { reason: Reason::Link, detail: patch, pc: link.pc, back: 0 }, false)
                }
                stub => start + u64::from(stub),
            };
            // Room for an exit stub was reserved. Without memory for it, the jump continues to lead to the old code.
            if stub != 0 {
                self.patch(patch, stub);
            }
        }
    }
}
