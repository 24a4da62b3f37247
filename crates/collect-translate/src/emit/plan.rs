//! How the accesses of a block are observed individually: its operands, and the registers that are borrowed for them.

use carom_base_insn::Lanes;

use super::Builder;
use crate::{
    analyse::{
        group::Group,
        relative::{Relative, relatives},
    },
    decode::{
        block::{Block, Decoded},
        operand::{Addressed, Operand},
    },
    encode::marks::Spilled,
    lane::registers::Gpr,
    probes::{mode::Mode, templates::Template},
};

/// The additions for the accesses of one block.
#[derive(Debug, Default)]
pub struct Plan {
    pub spilled: Spilled,
    /// By instruction.
    pub operands: Vec<Vec<Operand>>,
    /// The same, from the addresses that are recorded; empty if the block is not streamed.
    pub relatives: Vec<Vec<Relative>>,
    /// How many addresses are recorded.
    pub addresses: u16,
    /// The first of the block's templates, where it is streamed.
    pub template: Option<u32>,
    /// The block is one instruction whose accesses depend on all registers.
    pub otherwise: bool,
    /// Its accesses must only be computed if one of these is to a watched place.
    pub lanes: Option<Group>,
    /// The block is one instruction, of which the active lanes are recorded.
    pub mask: Option<Lanes>,
    /// There is no room for the block's templates.
    pub failed: bool,
    /// By instruction: the operand of its timed load; empty if none is timed.
    pub timed: Vec<Option<Operand>>,
    /// By instruction: the operand of a store that is recorded by itself; empty if none is.
    pub stored: Vec<Option<Operand>>,
}

/// Registers that may be borrowed: those that compiled code uses least come first. RAX is borrowed for the flags, RSP
/// is always the program's.
const CANDIDATES: [Gpr; 14] = {
    let numbers = [11, 10, 9, 8, 15, 14, 13, 12, 2, 1, 3, 5, 6, 7];
    let mut candidates = [Gpr(0); 14];
    let mut index = 0;
    while index < 14 {
        candidates[index] = Gpr(numbers[index]);
        index += 1;
    }
    candidates
};

impl Plan {
    /// Bytes of the block's record in the thread's buffer.
    pub fn streamed_bytes(&self) -> u32 {
        (u32::from(self.addresses) + 1 + u32::from(self.mask.is_some())) * size_of::<u64>() as u32
    }
}

impl Builder<'_> {
    /// Finds the accesses of the block's instructions. Shortens the block so that there are registers to borrow, and
    /// so that an instruction whose accesses depend on all registers is alone.
    pub(super) fn shorten(&mut self, block: &mut Block) {
        let wanted = if self.mode == Mode::Stream { 2 } else { 1 };
        let mut used = 0;
        self.found.clear();
        for index in 0..block.instructions.len() {
            let Some(decoded) = block.instructions.get(index) else { break };
            self.found.push(self.finder.operands(decoded, &mut self.cache.accesses));
            match self.found.last() {
                None | Some(Addressed::Otherwise) => return block.truncate(index.max(1)),
                // The last one runs when everything has been restored.
                Some(Addressed::Plain(operands)) => {
                    let addresses = operands.iter().fold(0, |all, operand| all | operand.registers());
                    if free(used | addresses).nth(wanted - 1).is_none() {
                        return block.truncate(index);
                    }
                }
            }
            used |= self.finder.registers(&decoded.instruction);
            if free(used).nth(wanted - 1).is_none() {
                return block.truncate(index + 1);
            }
        }
    }

    /// How the accesses of a shortened block are observed.
    pub(super) fn plan(&mut self, block: &Block) -> Plan {
        let mut plan = Plan::default();
        if matches!(self.mode, Mode::Time { .. }) {
            return Plan { timed: self.timable(block), ..plan };
        }
        if let Mode::Trace { loads } = self.mode {
            return self.plan_singly(block, loads);
        }
        if !self.mode.sees_every_access() {
            return plan;
        }
        let (mut used, mut accesses) = (0, 0);
        let found = std::mem::take(&mut self.found);
        for (index, (Decoded { instruction, .. }, found)) in block.instructions.iter().zip(found).enumerate()
        {
            match found {
                Addressed::Otherwise => {
                    if let Some(plan) = self.lanes_to_write(instruction) {
                        return plan;
                    }
                    let (lanes, spilled) = self.lanes_to_look_up(instruction).unzip();
                    let spilled = spilled.unwrap_or_default();
                    return Plan { otherwise: true, lanes, spilled, ..Plan::default() };
                }
                Addressed::Plain(operands) => {
                    let borrows = |operand: &&Operand| self.mode == Mode::Stream || !operand.is_constant();
                    accesses += operands.iter().filter(borrows).count();
                    used |= operands.iter().fold(0, |all, operand| all | operand.registers());
                    plan.operands.push(operands);
                }
            }
            if index + 1 < block.instructions.len() {
                used |= self.finder.registers(instruction);
            }
        }
        let mut free = free(used);
        plan.spilled = match (accesses, self.mode, free.next(), free.next()) {
            (0, ..) => Spilled::None,
            (_, Mode::Stream, Some(position), Some(address)) => Spilled::Two(position, address),
            (_, Mode::Watch { .. }, Some(address), _) => Spilled::One(address),
            _ => Spilled::None,
        };
        if matches!(plan.spilled, Spilled::Two(..)) {
            (plan.relatives, plan.addresses) = relatives(&mut self.finder, block, &plan.operands);
            plan.template = self.cache.templates.add(&templates(block, &plan));
            plan.failed = plan.template.is_none();
        }
        plan
    }
}

/// What is known about the block's accesses before they happen.
fn templates(block: &Block, plan: &Plan) -> Vec<Template> {
    let of = |(decoded, (operands, relatives)): (&Decoded, (&Vec<Operand>, &Vec<Relative>))| {
        let ip = decoded.instruction.ip();
        let all = operands.iter().zip(relatives);
        all.map(|(it, &relative)| Template::new(ip, it.width, it.kind).relative(relative)).collect::<Vec<_>>()
    };
    block.instructions.iter().zip(plan.operands.iter().zip(&plan.relatives)).flat_map(of).collect()
}

/// The registers that may be borrowed if these are in use.
pub fn free(used: u16) -> impl Iterator<Item = Gpr> {
    CANDIDATES.into_iter().filter(move |register| used >> register.0 & 1 == 0)
}
