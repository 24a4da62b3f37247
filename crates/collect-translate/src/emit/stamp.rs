//! Added code that writes stamps.

use iced_x86::Mnemonic;

use super::{Builder, plan::Plan};
use crate::{
    decode::block::{Block, Decoded},
    encode::marks::{Spilled, Undo},
    lane::{
        registers::Gpr,
        slots::{POSITION, Scratch},
    },
};

impl Builder<'_> {
    /// Ends a block after an instruction that must be followed by a stamp.
    pub(super) fn end_at_stamp(&self, block: &mut Block) {
        if self.mode.streams()
            && let Some(index) = block.instructions.iter().position(|it| is_stamped(it) || is_fence(it))
        {
            block.truncate(index + 1);
        }
    }

    /// At a block's entry, before its record: writes a stamp if one is due. `flags_in_ax`: the flags are there, and
    /// RAX's value in C.
    pub(super) fn stamp_if_due(&mut self, pc: u64, plan: &Plan, flags_in_ax: bool) {
        const LESS_OR_EQUAL: u8 = 0xe;
        let Spilled::Two(position, _) = plan.spilled else { return };
        let [before, during] =
            if flags_in_ax { [Undo::Flags, Undo::StampFlags] } else { [Undo::Nothing, Undo::Stamp] };
        self.code.compare_with_stamp_at(position);
        let over = self.code.jump_if_ahead(LESS_OR_EQUAL);
        self.stamp(pc, [before, during], false);
        // There is still room, because each record has room for a stamp before it.
        self.code.load_slot(position, POSITION);
        self.code.add_constant(position, plan.streamed_bytes());
        self.code.lead(over);
    }

    /// The same where no register is borrowed for the block.
    pub(super) fn stamp_if_due_without_record(&mut self, pc: u64, flags_in_ax: bool) {
        const LESS_OR_EQUAL: u8 = 0xe;
        let [before, during] =
            if flags_in_ax { [Undo::Flags, Undo::StampFlags] } else { [Undo::Nothing, Undo::Stamp] };
        self.code.spill(Gpr::RCX, Scratch::T);
        self.spilled = Spilled::One(Gpr::RCX);
        self.mark(pc, before);
        self.code.load_slot(Gpr::RCX, POSITION);
        self.code.compare_with_stamp_at(Gpr::RCX);
        self.code.restore_spilled(self.spilled);
        self.spilled = Spilled::None;
        self.mark(pc, before);
        let over = self.code.jump_if_ahead(LESS_OR_EQUAL);
        self.stamp(pc, [before, during], false);
        self.code.lead(over);
    }

    /// After a block's last instruction, before the code at `next`: writes a stamp if one must follow.
    pub(super) fn stamp_behind(&mut self, block: &Block, next: u64) {
        let Some(last) = block.instructions.last().filter(|_| self.mode.streams()) else { return };
        if is_stamped(last) {
            self.mark(next, Undo::Nothing);
            self.stamp(next, [Undo::Nothing, Undo::Stamp], true);
        } else if is_fence(last) {
            self.mark(next, Undo::Nothing);
            self.code.make_stamp_due();
        }
    }

    /// Writes a stamp in front of the instruction at `pc`. `before`, `during`: what must be undone before and after
    /// it, and meanwhile.
    fn stamp(&mut self, pc: u64, [before, during]: [Undo; 2], fenced: bool) {
        self.code.keep_for_stamp();
        self.mark(pc, during);
        self.code.stamp(fenced);
        self.code.give_back_after_stamp();
        self.mark(pc, before);
    }
}

/// Whether a stamp must follow an instruction.
fn is_stamped(decoded: &Decoded) -> bool {
    decoded.statics.atomic
}

/// Whether the next record must begin with a stamp: after a fence.
fn is_fence(decoded: &Decoded) -> bool {
    matches!(decoded.instruction.mnemonic(), Mnemonic::Mfence)
}
