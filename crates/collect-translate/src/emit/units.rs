//! Instructions with counters of their own: repeated ones count their iterations, those with lanes the active ones.

use carom_base::AccessKind;
use carom_base_insn::{Lanes, Mask, StaticAccess};

use super::{Builder, plan::Plan};
use crate::{
    decode::block::Decoded,
    encode::marks::{Spilled, Undo},
    lane::{
        exit::{Exit, Reason},
        registers::Gpr,
        slots::Scratch,
    },
    probes::{counter::Counter, hook::Hook, units::Units},
};

/// What must be undone in some state of counting: with the program's values in all registers; with RAX's value in C;
/// with the flags in AX as well.
#[derive(Clone, Copy)]
struct Undos {
    plain: Undo,
    rax: Undo,
    flags: Undo,
}

const NOTHING: Undos = Undos { plain: Undo::Nothing, rax: Undo::Rax, flags: Undo::Flags };
const REPEAT: Undos = Undos { plain: Undo::Repeat, rax: Undo::RepeatRax, flags: Undo::RepeatFlags };
const SPARED: Undos = Undos { plain: Undo::Spared, rax: Undo::SparedRax, flags: Undo::SparedFlags };
const LANES: Undos = Undos { plain: Undo::Lanes, rax: Undo::LanesRax, flags: Undo::LanesFlags };

/// A change of a counter in front of the instruction at `pc`, or after the one before.
#[derive(Clone, Copy)]
struct Change {
    pc: u64,
    before: Undos,
    after: Undos,
    /// The hook for a negative counter.
    hook: Option<Hook>,
}

impl Builder<'_> {
    /// A repeated string instruction. `ahead`: loads and stores of the block after it.
    ///
    /// All iterations that it may make are counted in front of it. Only after a comparison it is known how many were
    /// not needed, and whether a sample lies in those that were made.
    pub(super) fn repeated(&mut self, decoded: &Decoded, ahead: u32) -> bool {
        let instruction = &decoded.instruction;
        let Some(iteration) = &decoded.statics.repeated else { return self.copy(decoded) };
        if iteration.narrow {
            return false;
        }
        let (pc, next, ends_early) = (instruction.ip(), instruction.next_ip(), iteration.ends_early);
        let counter = Counter::iterations(pc, self.code.here(), iteration);
        let Some((what, place)) = self.counter(counter, ahead) else { return false };
        let all_are_seen = self.mode.sees_every_access();
        if all_are_seen {
            let hook = self.cache.hooks.add(Hook::Repeat { what, ends_early });
            self.hook(pc, hook);
        }
        let sampled = |over| Some(Hook::DueIterations { what, over });
        let hook = if ends_early { None } else { sampled(false) };
        let change = Change { pc, before: NOTHING, after: REPEAT, hook };
        self.change_counter(&change, |builder, _| builder.code.count_down_by_rcx(place));
        if !self.copy(decoded) {
            return false;
        }
        if ends_early {
            let hook = if all_are_seen { None } else { sampled(true) };
            let change = Change { pc: next, before: SPARED, after: NOTHING, hook };
            self.mark(next, Undo::Spared);
            self.change_counter(&change, |builder, _| builder.code.count_up_by_rcx(place));
            if all_are_seen {
                let hook = self.cache.hooks.add(Hook::AfterRepeat);
                self.hook(next, hook);
            }
        }
        self.mark(next, Undo::Nothing);
        true
    }

    /// A gather, scatter or masked move, or an instruction whose stored size depends on registers. `ahead`: as above.
    pub(super) fn lanes(&mut self, decoded: &Decoded, plan: &Plan, ahead: u32) -> bool {
        let instruction = &decoded.instruction;
        let pc = instruction.ip();
        let lanes = Lanes::of(instruction);
        let unit = match &lanes {
            Some(lanes) => StaticAccess { width: lanes.lane_bytes, kind: lanes.kind },
            None => {
                let mut kind = AccessKind::Load;
                self.cache.accesses.each_access(instruction, |access| kind = access.kind);
                StaticAccess { width: 0, kind }
            }
        };
        let Some((what, place)) = self.counter(Counter::lanes(pc, self.code.here(), unit), ahead) else {
            return false;
        };
        let has_hook = |lanes: &Lanes| self.mode.streams() && plan.mask.is_none() && is_told(lanes);
        match lanes.filter(|lanes| !has_hook(lanes)) {
            Some(lanes) => {
                let hook = Some(Hook::DueLanes(what));
                let change = Change { pc, before: NOTHING, after: LANES, hook };
                self.change_counter(&change, |builder, live| builder.count_lanes(pc, &lanes, place, live));
            }
            None => {
                let hook = self.cache.hooks.add(Hook::Lanes(what));
                self.hook(pc, hook);
            }
        }
        self.copy(decoded)
    }

    /// Subtracts the active lanes from the counter at `place`. `live`: the flags are in AX, and RAX's value in C.
    fn count_lanes(&mut self, pc: u64, lanes: &Lanes, place: u64, live: bool) {
        let marked = |undos: Undos| if live { undos.flags } else { undos.plain };
        self.code.spill(Gpr::RCX, Scratch::T);
        self.spilled = Spilled::One(Gpr::RCX);
        self.mark(pc, marked(NOTHING));
        self.code.count_lanes(Gpr::RCX, lanes);
        self.code.count_down_by_rcx(place);
        self.mark(pc, marked(LANES));
        self.code.restore_spilled(self.spilled);
        self.spilled = Spilled::None;
    }

    /// Adds a counter: returns it with its place relative to GS.
    fn counter(&mut self, counter: Counter, ahead: u32) -> Option<(Units, u64)> {
        let counter = Counter { version: self.version, ..counter };
        let (pc, arena) = (counter.pc, self.index);
        let (id, place) = self.cache.arenas.get_mut(arena)?.add_counter(counter);
        if self.mode.samples() {
            self.cache.arenas.counter_added(arena, id);
        }
        Some((Units { pc, arena, id, ahead }, place))
    }

    /// Changes a counter by the code that `emit` appends, which ends with the arithmetic on the counter; `emit` is
    /// told whether the flags are in AX. Then leaves for the hook, where samples are taken, if the counter is
    /// negative.
    fn change_counter(&mut self, change: &Change, emit: impl FnOnce(&mut Self, bool)) {
        let Change { pc, before, after, hook } = *change;
        let live = self.flags_matter(pc);
        if live {
            self.code.spill(Gpr::RAX, Scratch::C);
            self.mark(pc, before.rax);
            self.code.flags_to_ax();
            self.mark(pc, before.flags);
        }
        emit(self, live);
        self.mark(pc, if live { after.flags } else { after.plain });
        if let Some(hook) = hook.filter(|_| self.mode.samples()) {
            let detail = self.cache.hooks.add(hook);
            // The stub comes first; the length of the remaining code gives the address where it comes back.
            let back = self.code.here() + JS_BYTES + if live { RESTORE_BYTES } else { 0 };
            let stub = self.stub(Exit { reason: Reason::Hook, detail, pc, back }, live);
            self.code.jump_if_negative(stub);
        }
        if live {
            self.code.flags_from_ax();
            self.mark(pc, after.rax);
            self.code.reload(Gpr::RAX, Scratch::C);
        }
        self.mark(pc, after.plain);
    }
}

/// Whether the active lanes can be found: the dispatcher does not save MMX registers.
pub fn is_told(lanes: &Lanes) -> bool {
    !matches!(lanes.mask, Mask::Signs(mask) if mask.is_mm())
}

/// `js rel32`
const JS_BYTES: u64 = 6;

/// `add al, 127; sahf; mov rax, gs:[C]`
const RESTORE_BYTES: u64 = 3 + 9;
