//! Code that looks every access up in the thread's table of watched lines.

use super::{Builder, plan::Plan};
use crate::{
    block::Block,
    cache::Hook,
    emit::Gpr,
    exit::{Exit, Reason},
    liveness::flags_matter_within,
    marks::{Lent, Undo},
    operand::Operand,
    state::Scratch,
    watch,
};

/// Where the accesses of one instruction are looked up.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// In front of which instruction of the block.
    pub at: usize,
    /// The flags are to stay.
    pub live: bool,
}

impl Builder<'_> {
    /// At a block's entry: borrows a register.
    pub(super) fn begin_watching(&mut self, pc: u64, plan: &Plan, undo: Undo) {
        if let Lent::One(address) = plan.lent {
            self.code.spill(address, Scratch::T);
            self.lent = plan.lent;
            self.mark(pc, undo);
        }
    }

    /// Where the accesses of a block are looked up: in front of their instruction, or before that, where the flags are dead
    /// and the address is the same. What is found there is told with the registers of an earlier moment, which differ in
    /// nothing that tells the call path.
    pub(super) fn places(&mut self, block: &Block, plan: &Plan) -> Vec<Place> {
        const FRAME: u16 = 1 << 4 | 1 << 5; // RSP and RBP
        let live = flags_matter_within(&self.cache.regions, block);
        let finder = &mut self.finder;
        let written: Vec<u16> =
            block.instructions.iter().map(|decoded| finder.written(&decoded.instruction)).collect();
        let place = |(index, operands): (usize, &Vec<Operand>)| {
            let fixed = operands.iter().fold(FRAME, |all, operand| all | operand.registers());
            let back = written.iter().zip(&live).take(index).rev();
            let reached = back.take_while(|(written, _)| **written & fixed == 0);
            let steps = reached.map(|(_, live)| *live).position(|live| !live).map_or(0, |steps| steps + 1);
            let is_live = live.get(index) != Some(&false);
            let earlier = if is_live { steps } else { 0 };
            Place { at: index - earlier, live: is_live && earlier == 0 }
        };
        plan.operands.iter().enumerate().map(place).collect()
    }

    /// What is to be looked up in front of the instruction with this number.
    pub(super) fn look_up_at(&mut self, block: &Block, plan: &Plan, places: &[Place], index: usize) {
        let Some(at) = block.instructions.get(index).map(|decoded| decoded.instruction.ip()) else { return };
        let mut ahead = block.sums.accesses() as u32;
        for ((decoded, operands), place) in block.instructions.iter().zip(&plan.operands).zip(places) {
            if place.at == index {
                for operand in operands {
                    self.look_up(at, decoded.instruction.ip(), operand, ahead, place.live);
                }
            }
            ahead -= decoded.statics.loads + decoded.statics.stores;
        }
    }

    /// In front of the instruction at `at`: leaves if the access to `operand` by the instruction at `pc` goes to a line that
    /// is watched. `ahead`: loads and stores of the block from that instruction on. `live`: the flags are to stay.
    fn look_up(&mut self, at: u64, pc: u64, operand: &Operand, ahead: u32, live: bool) {
        let Lent::One(address) = self.lent else { return };
        self.code.effective_address(address, operand);
        if live {
            self.code.spill(Gpr::RAX, Scratch::C);
            self.mark(at, Undo::Rax);
            self.code.flags_to_ax();
            self.mark(at, Undo::Flags);
        }
        self.code.line_of(address);
        self.code.test_behind(address, watch::TABLE, watch::bits(operand.kind));
        let hook = self.cache.add_hook(Hook::Touch { pc, nth: operand.nth, ahead });
        // The stub comes first, and the place where it comes back is known by the length of what is left.
        let rest = JNZ_BYTES + if live { RESTORE_BYTES } else { 0 };
        let back = self.code.here() + rest;
        let stub = self.stub(Exit { reason: Reason::Hook, detail: hook, pc: at, back }, live);
        self.code.jump_if_not_zero(stub);
        if live {
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
