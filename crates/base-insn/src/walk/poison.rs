use iced_x86::{
    FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register, RflagsBits,
};

use super::machine::Machine;
use super::{Next, Obstacle};
use crate::code::Memory;
use crate::plain;
use crate::registers::flag;

impl<M: Memory> Machine<'_, '_, M> {
    /// Instructions that are not emulated: everything that they write becomes unknown.
    pub fn poison(&mut self, factory: &mut InstructionInfoFactory, i: &Instruction) -> Next {
        if i.flow_control() != FlowControl::Next || i.is_privileged() || is_unsteppable(i) {
            return Next::Stop(Obstacle::Unsteppable);
        }
        if moves_segment_base(i) {
            return Next::Stop(Obstacle::Unknown);
        }
        let info = factory.info(i);
        for memory in info.used_memory().iter().filter(|memory| writes(memory.access())) {
            let bytes = memory.memory_size().size() as u32;
            if memory.vsib_size() != 0 || bytes == 0 {
                self.memory.clobber();
            } else {
                self.memory.store(plain::address(memory, &self.regs), bytes, None);
            }
        }
        if i.mnemonic() == Mnemonic::Clzero {
            // The decoder tells no operand for it.
            self.memory.clobber();
        }
        for used in info.used_registers().iter().filter(|used| writes(used.access())) {
            self.regs.forget(used.register());
        }
        self.regs.known.rflags &= !modified_flags(i);
        Next::Through
    }
}

/// Instructions after which a trap would be lost, or seen by the program: `pushf` puts the trap flag on the
/// program's stack, `popf` clears it, loads of SS hold the trap back by one instruction.
fn is_unsteppable(i: &Instruction) -> bool {
    let loads_ss = i.op0_kind() == OpKind::Register && i.op0_register() == Register::SS;
    loads_ss
        || matches!(
            i.mnemonic(),
            Mnemonic::Pushf
                | Mnemonic::Pushfd
                | Mnemonic::Pushfq
                | Mnemonic::Popf
                | Mnemonic::Popfd
                | Mnemonic::Popfq
                | Mnemonic::Lss
                | Mnemonic::Sti
                | Mnemonic::Cli
                | Mnemonic::In
                | Mnemonic::Out
                | Mnemonic::Insb
                | Mnemonic::Insw
                | Mnemonic::Insd
                | Mnemonic::Outsb
                | Mnemonic::Outsw
                | Mnemonic::Outsd
        )
}

fn moves_segment_base(i: &Instruction) -> bool {
    let loads_base = i.op0_kind() == OpKind::Register
        && matches!(i.op0_register(), Register::FS | Register::GS)
        && matches!(i.mnemonic(), Mnemonic::Mov | Mnemonic::Pop);
    loads_base
        || matches!(i.mnemonic(), Mnemonic::Wrfsbase | Mnemonic::Wrgsbase | Mnemonic::Lfs | Mnemonic::Lgs)
}

fn writes(access: OpAccess) -> bool {
    matches!(access, OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite)
}

fn modified_flags(i: &Instruction) -> u64 {
    const NAMES: [(u32, u64); 7] = [
        (RflagsBits::CF, flag::CF),
        (RflagsBits::PF, flag::PF),
        (RflagsBits::AF, flag::AF),
        (RflagsBits::ZF, flag::ZF),
        (RflagsBits::SF, flag::SF),
        (RflagsBits::DF, flag::DF),
        (RflagsBits::OF, flag::OF),
    ];
    let modified = i.rflags_modified();
    NAMES.iter().filter(|(name, _)| modified & name != 0).map(|(_, flag)| flag).sum()
}
