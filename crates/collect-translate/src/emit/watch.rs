//! Added code that looks up every access in the thread's tables of watched places.

use super::{
    Builder,
    plan::{Plan, free},
};
use crate::{
    analyse::group::{Group, Member, groups},
    decode::block::Block,
    encode::marks::{Spilled, Undo},
    lane::{
        exit::{Exit, Reason},
        registers::Gpr,
        slots::Scratch,
        watches,
    },
    probes::{hook::Hook, mode::Mode},
};
use iced_x86::Instruction;

impl Builder<'_> {
    /// At a block's entry: borrows a register.
    pub(super) fn begin_watching(&mut self, pc: u64, plan: &Plan, undo: Undo) {
        if let Spilled::One(address) = plan.spilled {
            self.code.spill(address, Scratch::T);
            self.spilled = plan.spilled;
            self.mark(pc, undo);
        }
    }

    /// The groups of accesses that are looked up together. `shared`: the code is not a copy for one execution. There,
    /// an access of a group is not reported at once, because some of the group's accesses are still to come, with
    /// other registers, and so may be other accesses of the block. The thread continues in such a copy, where each
    /// access is looked up and reported separately.
    pub(super) fn groups(&mut self, block: &Block, plan: &Plan, shared: bool) -> Vec<Group> {
        if !matches!(self.mode, Mode::Watch { .. }) || plan.operands.iter().all(Vec::is_empty) {
            return Vec::new();
        }
        let live = self.cache.liveness.flags_matter_within(self.cache.source.regions(), block);
        groups(&mut self.finder, block, &plan.operands, &live, !shared)
    }

    /// The lanes of an instruction that must be looked up, active or not, and the registers that are borrowed for
    /// that.
    pub(super) fn lanes_to_look_up(&mut self, instruction: &Instruction) -> Option<(Group, Spilled)> {
        if !matches!(self.mode, Mode::Watch { .. }) {
            return None;
        }
        let (first, lanes) = self.finder.lanes(instruction)?;
        let used = first.registers() | self.finder.registers(instruction);
        let spilled = match free(used).next() {
            _ if first.is_constant() => Spilled::None,
            Some(address) => Spilled::One(address),
            None => return None,
        };
        let member =
            |lane: u32| Member { offset: (lane * lanes.lane_bytes) as u16, mask: watches::mask(lanes.kind) };
        let members = (0..lanes.count as u32).map(member).collect();
        let live = self.flags_matter(instruction.ip());
        Some((Group { at: 0, live, first, members, alone: None }, spilled))
    }

    /// The look-up in front of the instruction with this number.
    pub(super) fn look_up_at(&mut self, block: &Block, groups: &[Group], index: usize) {
        let Some(at) = block.instructions.get(index).map(|decoded| decoded.instruction.ip()) else { return };
        for group in groups.iter().filter(|group| group.at == index) {
            let hook = match group.alone.and_then(|alone| Some((alone, block.instructions.get(alone)?))) {
                None => Hook::Near { block: block.pc, version: self.version },
                Some((alone, decoded)) => {
                    let rest = block.instructions.iter().skip(alone);
                    let ahead = rest.map(|decoded| decoded.statics.loads + decoded.statics.stores).sum();
                    Hook::Touch { pc: decoded.instruction.ip(), nth: group.first.nth, ahead }
                }
            };
            self.look_up(at, group, hook);
        }
    }

    /// In front of the instruction at `at`: leaves for `hook` if one of the accesses is to a watched place.
    pub(super) fn look_up(&mut self, at: u64, group: &Group, hook: Hook) {
        let mask = group.members.iter().fold(0, |all, member| all | member.mask);
        let entry = match self.spilled {
            _ if group.first.is_constant() => None,
            Spilled::One(address) => Some(address),
            _ => return,
        };
        if let Some(address) = entry {
            self.code.effective_address(address, &group.first);
        }
        if group.live {
            self.code.spill(Gpr::RAX, Scratch::C);
            self.mark(at, Undo::Rax);
            self.code.flags_to_ax();
            self.mark(at, Undo::Flags);
        }
        match entry {
            Some(address) => {
                self.code.line_of(address);
                self.code.test_entry(entry, watches::NEAR, mask);
            }
            None => {
                let line = group.first.displacement >> watches::LINE_SHIFT;
                self.code.test_entry(None, watches::near(line) as u32, mask);
            }
        }
        let hook = self.cache.hooks.add(hook);
        // The stub comes first; the length of the remaining code gives the address where it comes back.
        let rest = JNZ_BYTES + if group.live { RESTORE_BYTES } else { 0 };
        let back = self.code.here() + rest;
        let exit = Exit { reason: Reason::Hook, detail: hook, pc: at, back };
        let (index, spilled) = (self.index, self.spilled);
        let arena = self.cache.arenas.get_mut(index);
        let stub = arena.map_or(0, |arena| arena.exact_look_up(exit, group, spilled));
        self.code.jump_if_not_zero(stub);
        if group.live {
            self.code.flags_from_ax();
            self.mark(at, Undo::Rax);
            self.code.reload(Gpr::RAX, Scratch::C);
        }
        self.mark(at, Undo::Nothing);
        debug_assert_eq!(self.code.here(), back);
    }
}

/// `jnz rel32`
const JNZ_BYTES: u64 = 6;

/// `add al, 127; sahf; mov rax, gs:[C]`
const RESTORE_BYTES: u64 = 3 + 9;
