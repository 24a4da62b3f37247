//! The ways in which instructions access memory. Both the accesses with addresses and those without begin here.

use carom_base::{AccessKind, LINE_BYTES};
use iced_x86::{Instruction, Mnemonic, OpKind};

use crate::accesses::StaticAccess;
use crate::string::Element;
use crate::vector::Lanes;

/// The way in which an instruction accesses memory.
pub(crate) enum Shape {
    /// No access.
    Nothing,
    /// One element of a string; once, or as often as a register says.
    Element(Element),
    /// The line that RAX points into.
    Clzero,
    /// Each active lane for itself.
    Lanes(Lanes),
    /// The operands that the decoder lists ([`plain`](crate::plain::operands)).
    Plain,
}

impl Shape {
    pub fn of(instruction: &Instruction) -> Self {
        if accesses_nothing(instruction) {
            Self::Nothing
        } else if let Some(element) = Element::of(instruction) {
            Self::Element(element)
        } else if instruction.mnemonic() == Mnemonic::Clzero {
            Self::Clzero
        } else if let Some(lanes) = Lanes::of(instruction) {
            Self::Lanes(lanes)
        } else {
            Self::Plain
        }
    }
}

/// Whether this instruction may access memory: a quick answer, without operands. Masked and conditional forms count as
/// touching it.
pub(crate) fn may_access(instruction: &Instruction) -> bool {
    if accesses_nothing(instruction)
        || instruction.mnemonic() == Mnemonic::Lea
        || instruction.mnemonic() == Mnemonic::Nop
    {
        return false;
    }
    let memory = |kind| {
        !matches!(
            kind,
            OpKind::Register
                | OpKind::NearBranch16
                | OpKind::NearBranch32
                | OpKind::NearBranch64
                | OpKind::FarBranch16
                | OpKind::FarBranch32
                | OpKind::Immediate8
                | OpKind::Immediate8_2nd
                | OpKind::Immediate16
                | OpKind::Immediate32
                | OpKind::Immediate64
                | OpKind::Immediate8to16
                | OpKind::Immediate8to32
                | OpKind::Immediate8to64
                | OpKind::Immediate32to64
        )
    };
    instruction.is_stack_instruction()
        || instruction.mnemonic() == Mnemonic::Clzero
        || instruction.op_kinds().any(memory)
}

/// Instructions that name memory without accessing it, although the decoder lists an access, and those whose memory
/// belongs to the kernel.
fn accesses_nothing(instruction: &Instruction) -> bool {
    matches!(
        instruction.mnemonic(),
        Mnemonic::Clflush
            | Mnemonic::Clflushopt
            | Mnemonic::Clwb
            | Mnemonic::Cldemote
            | Mnemonic::Prefetch
            | Mnemonic::Prefetchw
            | Mnemonic::Prefetchwt1
            | Mnemonic::Prefetchnta
            | Mnemonic::Prefetcht0
            | Mnemonic::Prefetcht1
            | Mnemonic::Prefetcht2
            | Mnemonic::Prefetchit0
            | Mnemonic::Prefetchit1
            | Mnemonic::Monitor
            | Mnemonic::Monitorx
            | Mnemonic::Umonitor
            | Mnemonic::Syscall
            | Mnemonic::Sysenter
            | Mnemonic::Int
            | Mnemonic::Int1
            | Mnemonic::Int3
    )
}

/// What `clzero` does.
pub(crate) const CLZERO: StaticAccess = StaticAccess { width: LINE_BYTES as u32, kind: AccessKind::Store };
