//! Added code that records a block's accesses.

use iced_x86::Instruction;

use super::{
    Builder,
    plan::{Plan, free},
    units::is_told,
};
use crate::{
    analyse::relative::Relative,
    decode::{block::Decoded, operand::Operand},
    encode::marks::{Spilled, Undo},
    lane::{
        exit::{Exit, Reason},
        records::BUFFER_END,
        registers::Gpr,
        slots::{POSITION, Scratch},
    },
    probes::{hook::Hook, mode::Mode, templates::Template},
};

/// Where a word of the block's record is, relative to GS and the position after the record.
const fn word(bytes: u32, index: u32) -> u32 {
    BUFFER_END - bytes + 8 * index
}

impl Builder<'_> {
    /// At a block's entry, where flags may be destroyed: borrows registers, and ensures that there is room.
    /// `flags_in_ax`: the flags are there, and RAX's value in C.
    pub(super) fn begin_record(&mut self, pc: u64, plan: &Plan, flags_in_ax: bool, entry: u64) {
        let Spilled::Two(position, address) = plan.spilled else { return };
        let bytes = plan.streamed_bytes();
        let undo = if flags_in_ax { Undo::Flags } else { Undo::Nothing };
        self.code.spill(position, Scratch::P);
        self.code.spill(address, Scratch::T);
        self.spilled = plan.spilled;
        self.mark(pc, undo);
        self.code.load_slot(position, POSITION);
        self.code.add_constant(position, bytes);
        let full = Exit { reason: Reason::Full, detail: 0, pc, back: entry };
        let stub = self.stub(full, flags_in_ax);
        self.code.jump_if_positive(stub);
        self.stamp_if_due(pc, plan, flags_in_ax);
    }

    /// The block's token, once the flags are the program's again.
    pub(super) fn write_token(&mut self, plan: &Plan) {
        if let (Spilled::Two(position, _), Some(template)) = (plan.spilled, plan.template) {
            let bytes = plan.streamed_bytes();
            self.code.store_constant_behind(position, word(bytes, 0), template);
        }
    }

    /// Those addresses of the instruction with this index that are recorded, the first as the one with the number `next`. Returns the
    /// number of the next one.
    pub(super) fn write_addresses(&mut self, plan: &Plan, index: usize, mut next: u16) -> u16 {
        let of = plan.operands.get(index).into_iter().flatten();
        for (operand, relative) in of.zip(plan.relatives.get(index).into_iter().flatten()) {
            if relative.of == next {
                self.write_address(plan, next, operand);
                next += 1;
            }
        }
        next
    }

    fn write_address(&mut self, plan: &Plan, nth: u16, operand: &Operand) {
        let Spilled::Two(position, address) = plan.spilled else { return };
        let at = word(plan.streamed_bytes(), u32::from(nth) + 1);
        let register = match plain_register(operand) {
            Some(base) => base,
            None => {
                self.code.effective_address(address, operand);
                address
            }
        };
        self.code.store_behind(position, at, register);
    }

    /// How an instruction is recorded whose lanes lie within a vector's length.
    pub(super) fn lanes_to_write(&mut self, instruction: &Instruction) -> Option<Plan> {
        if self.mode != Mode::Stream {
            return None;
        }
        let (first, lanes) = self.finder.lanes(instruction).filter(|(_, lanes)| is_told(lanes))?;
        let mut free = free(first.registers());
        let spilled = Spilled::Two(free.next()?, free.next()?);
        let template = self.cache.templates.add(&[Template::lanes(instruction.ip(), &lanes)]);
        let (operands, failed) = (vec![vec![first]], template.is_none());
        let (relatives, addresses) = (vec![vec![Relative { of: 0, offset: 0 }]], 1);
        Some(Plan {
            spilled,
            operands,
            relatives,
            addresses,
            template,
            mask: Some(lanes),
            failed,
            ..Plan::default()
        })
    }

    /// Which lanes are active, behind the address of the first.
    pub(super) fn write_mask(&mut self, plan: &Plan) {
        if let (Spilled::Two(position, bits), Some(lanes)) = (plan.spilled, &plan.mask) {
            self.code.bits_of_lanes(bits, lanes);
            self.code.store_behind(position, word(plan.streamed_bytes(), 2), bits);
        }
    }

    /// In front of an instruction whose accesses depend on all registers. Iterations and lanes have hooks anyway.
    pub(super) fn otherwise(&mut self, plan: &Plan, decoded: &Decoded, ahead: u32) {
        let Decoded { instruction, statics, .. } = decoded;
        let pc = instruction.ip();
        if let Some(lanes) = &plan.lanes {
            return self.look_up(pc, lanes, Hook::Accesses { pc, ahead });
        }
        let has_hook = statics.repeated.is_some() || statics.lanes && self.mode.streams();
        if !has_hook {
            let hook = self.cache.hooks.add(Hook::Accesses { pc, ahead });
            self.hook(pc, hook);
        }
    }

    /// In front of the block's last instruction: the record is complete, and nothing is borrowed any more.
    pub(super) fn end_record(&mut self, pc: u64, plan: &Plan) {
        if self.spilled == Spilled::None {
            return;
        }
        if let Spilled::Two(position, _) = plan.spilled {
            self.code.store_slot(position, POSITION);
            self.mark(pc, Undo::Streamed);
        }
        self.code.restore_spilled(self.spilled);
        self.spilled = Spilled::None;
        self.mark(pc, Undo::Nothing);
    }
}

/// The register that is the operand's address.
fn plain_register(operand: &Operand) -> Option<Gpr> {
    let alone = operand.index.is_none() && operand.displacement == 0 && !operand.fs;
    operand.base.filter(|_| alone)
}
