//! Transfers of control: direct ones become links, indirect ones go through tables to landings.

use iced_x86::{Code as Opcode, FlowControl, Instruction};

use super::{Builder, relocate};
use crate::{
    blocks::{
        cache::Cache,
        landings::{Landed, Landing},
    },
    encode::marks::Undo,
    lane::{registers::Gpr, slots::Scratch},
    memory::TableKind,
    probes::mode::{Mode, Version},
};

impl Builder<'_> {
    /// The transfer of control that ends a block. Returns the next block of the fragment, if there is one.
    pub(super) fn transfer(&mut self, last: &Instruction, shared: bool) -> Option<u64> {
        match last.flow_control() {
            FlowControl::UnconditionalBranch if last.is_jmp_short_or_near() => {
                Some(last.near_branch_target())
            }
            FlowControl::ConditionalBranch => {
                if self.loops_back(last) {
                    return Some(last.next_ip());
                }
                let inside = self.branch_in_copy(last).or_else(|| self.branch_in_superblock(last));
                if inside.is_some() {
                    return inside;
                }
                self.conditional(last);
                Some(last.next_ip())
            }
            FlowControl::Call if last.is_call_near() => {
                let literal = self.literal(last.next_ip());
                self.code.push_literal(literal);
                self.link(last.near_branch_target());
                self.return_point(last.next_ip(), shared)
            }
            FlowControl::IndirectCall if last.is_call_near_indirect() => {
                if !self.indirect_call(last) {
                    self.leave_at(last.ip());
                    return None;
                }
                self.return_point(last.next_ip(), shared)
            }
            FlowControl::IndirectBranch if last.is_jmp_near_indirect() => {
                if !self.indirect_jump(last) {
                    self.leave_at(last.ip());
                }
                None
            }
            FlowControl::Return if matches!(last.code(), Opcode::Retnq | Opcode::Retnq_imm16) => {
                self.returns(last);
                None
            }
            _ => {
                self.leave_at(last.ip());
                None
            }
        }
    }

    fn conditional(&mut self, last: &Instruction) {
        let (target, next) = (last.near_branch_target(), last.next_ip());
        if last.is_jcc_short_or_near() {
            let condition = condition(last);
            if target == next {
                const JCC_SHORT: u8 = 0x70;
                self.code.raw(&[JCC_SHORT | condition, 0]);
            } else {
                self.link_if(condition, target);
            }
            return;
        }
        // loop, jrcxz and jecxz have only short forms: they hop over a jump for one way to a jump for the other.
        const TO_TAKEN: u8 = 2;
        const OVER_TAKEN: u8 = 5;
        let original = self.cache.source.bytes(last);
        let opcodes = original.get(..original.len() - 1).unwrap_or_default();
        if target == next {
            self.code.raw(opcodes);
            self.code.raw(&[0]);
        } else {
            self.code.align_for_jump_behind(opcodes.len() as u64 + 3);
            self.code.raw(opcodes);
            self.code.raw(&[TO_TAKEN]);
            self.mark(next, if self.mode == Mode::Bare { Undo::Nothing } else { Undo::Fallen });
            self.code.raw(&[0xeb, OVER_TAKEN]);
            self.link(target);
        }
    }

    /// Where a call returns to: a landing, then the program's code there.
    fn return_point(&mut self, pc: u64, shared: bool) -> Option<u64> {
        let landed = self.landing(Landing::RETURN, pc);
        if let Some(landed) = landed.filter(|_| shared) {
            self.cache.landings.lands(TableKind::Return, pc, landed);
        }
        Some(pc)
    }

    fn indirect_call(&mut self, last: &Instruction) -> bool {
        let back = self.literal(last.next_ip());
        let loaded = self.load_target(last);
        if loaded {
            // The push may fault, and then the call begins again.
            self.mark(last.ip(), Undo::CallR11);
            self.code.push_literal(back);
            self.jump_to_loaded(last, TableKind::Call);
        }
        loaded
    }

    fn indirect_jump(&mut self, last: &Instruction) -> bool {
        // Through the global offset table: a call by way of the linkage table, or a tail call.
        let calls = last.is_ip_rel_memory_operand();
        let loaded = self.load_target(last);
        if loaded {
            self.jump_to_loaded(last, if calls { TableKind::Call } else { TableKind::Jump });
        }
        loaded
    }

    /// Loads the target of an indirect transfer into R11.
    fn load_target(&mut self, last: &Instruction) -> bool {
        let original = self.cache.source.bytes(last);
        self.code.spill(Gpr::R11, Scratch::A);
        self.code.spill(Gpr::RCX, Scratch::B);
        relocate::load_target(&mut self.code, last, original)
    }

    fn jump_to_loaded(&mut self, last: &Instruction, table: TableKind) {
        let table = self.cache.landings.table(table);
        self.mark(last.ip(), Undo::Jump);
        self.code.jump_through(Gpr::R11, Gpr::RCX, table);
    }

    fn returns(&mut self, last: &Instruction) {
        let table = self.cache.landings.table(TableKind::Return);
        self.code.spill(Gpr::RSI, Scratch::A);
        self.code.spill(Gpr::RCX, Scratch::B);
        // pop rsi
        self.code.raw(&[0x5e]);
        self.mark(last.ip(), Undo::Return);
        if last.code() == Opcode::Retnq_imm16 {
            // lea rsp, [rsp+imm32]
            self.code.raw(&[0x48, 0x8d, 0xa4, 0x24]);
            self.code.raw(&u32::from(last.immediate16()).to_le_bytes());
        }
        self.code.jump_through(Gpr::RSI, Gpr::RCX, table);
    }

    /// The arrival of an indirect transfer: checks that its target is this one.
    pub(super) fn landing(&mut self, landing: Landing, pc: u64) -> Option<Landed> {
        let at = self.code.here();
        self.mark(pc, landing.undo);
        let miss = self.cache.arenas.get(self.index)?.miss(landing.table);
        // jrcxz is the only test that preserves the flags; it needs the difference in RCX.
        const IF_RCX_ZERO: u8 = 0xe3;
        const OVER_JUMP: u8 = 5;
        // mov rcx, imm64; lea rcx, [rcx+target]; jrcxz
        const BEFORE_JUMP: u64 = 10 + 4 + 2;
        self.code.align_for_jump_behind(BEFORE_JUMP);
        self.code.constant(Gpr::RCX, pc.wrapping_neg());
        self.code.add_flagless(Gpr::RCX, landing.target);
        self.code.raw(&[IF_RCX_ZERO, OVER_JUMP]);
        let on = self.code.jump(|_| miss);
        self.code.reload(Gpr::RCX, Scratch::B);
        self.code.reload(landing.target, Scratch::A);
        self.mark(pc, Undo::Nothing);
        Some(Landed { at, on })
    }
}

/// The condition of a `jcc`, as in the opcode's low four bits.
pub fn condition(branch: &Instruction) -> u8 {
    // iced numbers conditions from 1 in the order of the opcodes.
    branch.condition_code() as u8 - 1
}

/// A separate landing for `pc`, in front of its translation at `body`.
pub fn landing(cache: &mut Cache, landing: Landing, pc: u64, body: u64) -> Option<Landed> {
    let code = cache.source.stands_for(pc);
    let mut builder = Builder::begin(cache, code, Version::Plain)?;
    let landed = builder.landing(landing, pc)?;
    if builder.code.reaches(body) {
        builder.code.jump(|_| body);
    } else {
        builder.link(pc);
    }
    builder.finish().then_some(landed)
}
