//! Recovers the registers before an instruction from those after it.

use carom_base::Skip;
use iced_x86::{FlowControl, Instruction, Mnemonic, OpAccess, Register};

use crate::accesses::Operands;
use crate::info::Info;
use crate::operands;
use crate::registers::{Registers, flag};
use crate::string::{self, Element};

/// The accesses of `instruction`, which left `after`.
pub(crate) fn operands(info: &mut Info, instruction: &Instruction, after: &Registers) -> Operands {
    if !leads_to(instruction, after.rip) {
        return Operands::skipped(Skip::UnknownPredecessor);
    }
    if instruction.is_vsib() {
        // Gathers and scatters clear their mask, so that the active lanes are unknown.
        return Operands::skipped(Skip::VectorAddress);
    }
    let before = before(info, instruction, after);
    operands::of(info, instruction, &before)
}

/// False where the code has changed under a cached boundary.
fn leads_to(instruction: &Instruction, next: u64) -> bool {
    match instruction.flow_control() {
        FlowControl::Next => {
            instruction.next_ip() == next || string::is_repeated(instruction) && instruction.ip() == next
        }
        // Jumps may have gone anywhere; it is the caller who says that this instruction ran last.
        _ => true,
    }
}

fn before<'a>(info: &mut Info, instruction: &Instruction, after: &Registers<'a>) -> Registers<'a> {
    let mut regs = *after;
    regs.rip = instruction.ip();
    if let Some(element) = Element::of(instruction) {
        element.undo(&mut regs);
        return regs;
    }
    for used in info.factory.info(instruction).used_registers() {
        if writes(used.access()) {
            regs.forget(used.register());
        }
    }
    restore(instruction, after, &mut regs);
    regs
}

/// Undoes known changes of the instruction.
fn restore(instruction: &Instruction, after: &Registers, regs: &mut Registers) {
    let stack = after.read(Register::RSP);
    match instruction.mnemonic() {
        // rsp = rbp, then pop rbp: the access was just under the stack pointer.
        Mnemonic::Leave => regs.write(Register::RBP, stack.map(|rsp| rsp.wrapping_sub(8))),
        Mnemonic::Pop if instruction.op0_register() == Register::RSP => {}
        // A compare-and-swap that succeeded leaves the accumulator alone.
        Mnemonic::Cmpxchg | Mnemonic::Cmpxchg8b | Mnemonic::Cmpxchg16b => {
            if after.known.rflags & after.rflags & flag::ZF != 0 {
                regs.write(Register::RAX, after.read(Register::RAX));
                regs.write(Register::RDX, after.read(Register::RDX));
            }
        }
        _ => {
            let grown = instruction.stack_pointer_increment();
            if grown != 0 {
                let before = stack.map(|rsp| rsp.wrapping_sub(i64::from(grown) as u64));
                regs.write(Register::RSP, before);
            }
        }
    }
}

fn writes(access: OpAccess) -> bool {
    matches!(access, OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite)
}
