//! Jumps, calls, returns, the stack, and conditions.

use iced_x86::{Code, ConditionCode, Instruction, OpKind, Register};

use super::machine::{Machine, bytes};
use super::{Next, Obstacle};
use crate::code::Memory;
use crate::registers::flag::{CF, OF, PF, SF, ZF};

impl<M: Memory> Machine<'_, '_, M> {
    pub fn jump(&self, i: &Instruction) -> Next {
        match self.target(i) {
            Some(target) => Next::To(target),
            None => Next::Stop(Obstacle::Unknown),
        }
    }

    pub fn jump_if(&self, i: &Instruction, condition: Option<bool>) -> Next {
        match condition {
            Some(true) => Next::To(i.near_branch_target()),
            Some(false) => Next::Through,
            None => Next::Stop(Obstacle::Unknown),
        }
    }

    pub fn call(&mut self, i: &Instruction) -> Next {
        // The target is read before the push: `call [rsp + 8]`.
        let Some(target) = self.target(i) else {
            return Next::Stop(Obstacle::Unknown);
        };
        self.push(8, Some(i.next_ip()));
        Next::To(target)
    }

    pub fn ret(&mut self, i: &Instruction) -> Next {
        let target = self.regs.read(Register::RSP).and_then(|rsp| self.memory.load(rsp, 8));
        let Some(target) = target else {
            return Next::Stop(Obstacle::Unknown);
        };
        self.move_stack(i.stack_pointer_increment());
        Next::To(target)
    }

    /// `loop`, `loope`, `loopne` with a 64-bit counter.
    pub fn count_down(&mut self, i: &Instruction) -> Next {
        let wanted = match i.code() {
            Code::Loop_rel8_64_RCX => Some(true),
            Code::Loope_rel8_64_RCX => self.flag(ZF),
            Code::Loopne_rel8_64_RCX => self.flag(ZF).map(|zero| !zero),
            _ => None,
        };
        let count = self.regs.read(Register::RCX).map(|count| count.wrapping_sub(1));
        let Some((wanted, count)) = wanted.zip(count) else {
            return Next::Stop(Obstacle::Unknown);
        };
        self.regs.write(Register::RCX, Some(count));
        self.jump_if(i, Some(wanted && count != 0))
    }

    pub fn push(&mut self, width: u32, value: Option<u64>) {
        self.move_stack(-(width as i32));
        let top = self.regs.read(Register::RSP);
        self.memory.store(top, width, value);
    }

    pub fn pop(&mut self, width: u32) -> Option<u64> {
        let value = self.regs.read(Register::RSP).and_then(|rsp| self.memory.load(rsp, width));
        self.move_stack(width as i32);
        value
    }

    pub fn push_operand(&mut self, i: &Instruction) {
        let width = i.stack_pointer_increment().unsigned_abs();
        let value = self.get(self.location(i, 0), width);
        self.push(width, value);
    }

    pub fn pop_operand(&mut self, i: &Instruction) {
        let width = i.stack_pointer_increment().unsigned_abs();
        let value = self.pop(width);
        // The address of a memory operand is formed after the stack pointer has moved.
        self.assign(i, value);
    }

    pub fn leave(&mut self) {
        self.regs.write(Register::RSP, self.regs.read(Register::RBP));
        let frame = self.pop(8);
        self.regs.write(Register::RBP, frame);
    }

    /// Whether the condition of a conditional instruction holds.
    pub fn condition(&self, i: &Instruction) -> Option<bool> {
        let less = || Some(self.flag(SF)? != self.flag(OF)?);
        let below_or_equal = || Some(self.flag(CF)? || self.flag(ZF)?);
        let less_or_equal = || Some(self.flag(ZF)? || less()?);
        let not = |condition: Option<bool>| condition.map(|holds| !holds);
        match i.condition_code() {
            ConditionCode::None => None,
            ConditionCode::o => self.flag(OF),
            ConditionCode::no => not(self.flag(OF)),
            ConditionCode::b => self.flag(CF),
            ConditionCode::ae => not(self.flag(CF)),
            ConditionCode::e => self.flag(ZF),
            ConditionCode::ne => not(self.flag(ZF)),
            ConditionCode::be => below_or_equal(),
            ConditionCode::a => not(below_or_equal()),
            ConditionCode::s => self.flag(SF),
            ConditionCode::ns => not(self.flag(SF)),
            ConditionCode::p => self.flag(PF),
            ConditionCode::np => not(self.flag(PF)),
            ConditionCode::l => less(),
            ConditionCode::ge => not(less()),
            ConditionCode::le => less_or_equal(),
            ConditionCode::g => not(less_or_equal()),
        }
    }

    fn target(&self, i: &Instruction) -> Option<u64> {
        match i.op0_kind() {
            OpKind::NearBranch64 => Some(i.near_branch64()),
            OpKind::Register | OpKind::Memory if bytes(i, 0) == 8 => self.operand(i, 0),
            _ => None,
        }
    }

    fn move_stack(&mut self, by: i32) {
        let rsp = self.regs.read(Register::RSP).map(|rsp| rsp.wrapping_add(i64::from(by) as u64));
        self.regs.write(Register::RSP, rsp);
    }
}
