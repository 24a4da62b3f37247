//! Accesses that are recorded one by one: stores, and loads with their times ([`Mode::Trace`]).
//!
//! A record is written after its instruction. Between the two, a signal takes the record away.
//!
//! [`Mode::Trace`]: crate::Mode::Trace

use iced_x86::FlowControl;

use super::{
    Builder, may_set_trap_flag,
    plan::{Plan, free},
};
use crate::{
    decode::{
        block::{Block, Decoded},
        operand::{Addressed, Operand},
    },
    encode::marks::{Spilled, Undo},
    lane::{
        records::{BUFFER_END, STORED_BYTES, TIMED_BYTES},
        slots::{POSITION, Scratch},
    },
    probes::templates::Template,
};

impl Plan {
    /// The most bytes of the block's single records.
    pub fn single_bytes(&self) -> i32 {
        let bytes = |of: &[Option<Operand>], each: u8| of.iter().flatten().count() as i32 * i32::from(each);
        bytes(&self.timed, TIMED_BYTES) + bytes(&self.stored, STORED_BYTES)
    }
}

impl Builder<'_> {
    /// Which accesses of a shortened block are recorded. `loads`: those that can be timed are.
    pub(super) fn plan_singly(&mut self, block: &Block, loads: bool) -> Plan {
        let mut plan = Plan::default();
        for (decoded, found) in block.instructions.iter().zip(std::mem::take(&mut self.found)) {
            let Addressed::Plain(operands) = found else {
                return Plan { otherwise: decoded.statics.stores > 0, ..Plan::default() };
            };
            let instruction = &decoded.instruction;
            let recorded = instruction.flow_control() == FlowControl::Next && !may_set_trap_flag(instruction);
            let (timed, stored) = match operands.as_slice() {
                _ if !recorded => (None, None),
                [operand] if loads && operand.kind.reads() => (Some(*operand), None),
                operands => (None, operands.iter().find(|operand| operand.kind.writes()).copied()),
            };
            plan.timed.push(timed);
            plan.stored.push(stored);
        }
        plan
    }

    /// An instruction that stores to `operand`, with a record of that behind it. False where it must run in its own
    /// place.
    pub(super) fn stored(&mut self, decoded: &Decoded, operand: &Operand) -> bool {
        const WORD: u32 = size_of::<u64>() as u32;
        let instruction = &decoded.instruction;
        let (pc, next) = (instruction.ip(), instruction.next_ip());
        let used = self.finder.registers(instruction) | operand.registers();
        let template = self.cache.templates.add(&[Template::new(pc, operand.width, operand.kind)]);
        let mut free = free(used);
        let (Some(address), Some(position), Some(template)) = (free.next(), free.next(), template) else {
            return self.copy(decoded);
        };
        drop(free);
        self.code.spill(address, Scratch::P);
        self.code.spill(position, Scratch::T);
        self.spilled = Spilled::Two(address, position);
        self.mark(pc, Undo::Nothing);
        self.code.effective_address(address, operand);
        let copied = self.copy(decoded);
        if copied {
            self.mark(next, Undo::Nothing);
            self.code.load_slot(position, POSITION);
            self.code.store_constant_behind(position, BUFFER_END, template);
            self.code.store_behind(position, BUFFER_END + WORD, address);
            self.code.step(position, STORED_BYTES as i8);
            self.code.store_slot(position, POSITION);
        }
        self.code.restore_spilled(self.spilled);
        self.spilled = Spilled::None;
        self.mark(if copied { next } else { pc }, Undo::Nothing);
        copied
    }
}
