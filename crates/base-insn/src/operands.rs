use carom_base::{Access, AccessKind, Addr, Ip, Skip};
use iced_x86::{
    Instruction, InstructionInfoFactory, InstructionInfoOptions, Mnemonic, OpAccess, OpKind, Register,
    UsedMemory,
};

use crate::decoder::Decoder;
use crate::implied;
use crate::registers::Registers;
use crate::string::Element;
use crate::vector::Lanes;

/// The most accesses that one instruction can have here: a masked move of 64 bytes.
pub const MAX_ACCESSES: usize = 64;

/// The memory accesses of one instruction.
#[derive(Clone, Copy, Debug)]
pub struct Operands {
    accesses: [Access; MAX_ACCESSES],
    count: u8,
    skip: Option<Skip>,
}

impl Operands {
    /// The accesses whose addresses are known, in the order of [`Decoder::each_access`]; where lanes are accessed one
    /// by one, lowest lane first.
    pub fn accesses(&self) -> &[Access] {
        self.accesses.get(..usize::from(self.count)).unwrap_or_default()
    }

    /// The accesses that read, among them those that write as well. While [`Self::skip`] is `None` their number and
    /// their order are what [`crate::Statics`] counts as loads.
    pub fn loads(&self) -> impl Iterator<Item = &Access> {
        self.accesses().iter().filter(|access| access.kind.reads())
    }

    /// The accesses that write, likewise.
    pub fn stores(&self) -> impl Iterator<Item = &Access> {
        self.accesses().iter().filter(|access| access.kind.writes())
    }

    /// Why an access is missing. Always there when [`Self::accesses`] is empty; beside accesses when only
    /// some of the addresses are known.
    pub const fn skip(&self) -> Option<Skip> {
        self.skip
    }

    pub(crate) fn skipped(skip: Skip) -> Self {
        Self { skip: Some(skip), ..Self::none() }
    }

    fn none() -> Self {
        let nothing = Access { ip: Ip(0), addr: Addr(0), width: 1, kind: AccessKind::Load };
        Self { accesses: [nothing; MAX_ACCESSES], count: 0, skip: None }
    }

    pub(crate) fn push(&mut self, ip: u64, addr: u64, width: u32, kind: AccessKind) {
        if let Some(place) = self.accesses.get_mut(usize::from(self.count)) {
            *place = Access { ip: Ip(ip), addr: Addr(addr), width, kind };
            self.count += 1;
        }
    }

    /// Notes that an access is missing; the first reason stays.
    pub(crate) fn miss(&mut self, skip: Skip) {
        self.skip.get_or_insert(skip);
    }
}

/// The ways in which instructions come to their accesses. What is told of them with and without registers begins here.
pub(crate) enum Shape {
    /// No access.
    Nothing,
    /// One element of a string; once, or as often as a register says.
    Element(Element),
    /// The line that RAX points into.
    Clzero,
    /// Each active lane for itself.
    Lanes(Lanes),
    /// What the decoder lists ([`plain`]).
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

/// The accesses of `instruction`, given the registers before it.
pub(crate) fn of(decoder: &mut Decoder, instruction: &Instruction, regs: &Registers) -> Operands {
    let mut found = Operands::none();
    match Shape::of(instruction) {
        Shape::Nothing => {}
        Shape::Element(element) => element.operands(instruction, regs, &mut found),
        Shape::Clzero => implied::clzero(instruction, regs, &mut found),
        Shape::Lanes(lanes) => lanes.operands(decoder, instruction, regs, &mut found),
        Shape::Plain => locate(decoder, instruction, regs, &mut found),
    }
    if found.count == 0 {
        found.miss(Skip::NotAnAccess);
    }
    found
}

/// The operands of an ordinary instruction that are loaded or stored, in the decoder's order.
pub(crate) fn plain<'a>(
    factory: &'a mut InstructionInfoFactory,
    instruction: &Instruction,
) -> impl Iterator<Item = (&'a UsedMemory, AccessKind)> + use<'a> {
    let info = factory.info_options(instruction, InstructionInfoOptions::NO_REGISTER_USAGE);
    info.used_memory().iter().filter_map(|memory| {
        let kind = implied::kind(memory.memory_size(), kind(memory.access())?);
        Some((memory, kind))
    })
}

fn locate(decoder: &mut Decoder, instruction: &Instruction, regs: &Registers, found: &mut Operands) {
    let requested = implied::requested(regs);
    for (memory, kind) in plain(&mut decoder.factory, instruction) {
        let Some(width) = implied::width(instruction, memory.memory_size(), &decoder.layout, requested)
        else {
            found.miss(Skip::HiddenState);
            continue;
        };
        match address(memory, regs).and_then(|address| implied::adjust(instruction, address, width, regs)) {
            Some(address) => found.push(instruction.ip(), address, width, kind),
            None => found.miss(unknown_address(memory, regs)),
        }
    }
}

/// The effective address of a scalar operand.
pub(crate) fn address(memory: &UsedMemory, regs: &Registers) -> Option<u64> {
    memory.virtual_address(0, |register, _, _| regs.address_part(register))
}

/// Why [`address`] is `None`.
pub(crate) fn unknown_address(memory: &UsedMemory, regs: &Registers) -> Skip {
    if memory.segment() == Register::GS && regs.gs_base.is_none() {
        Skip::HiddenState
    } else {
        Skip::AddressLost
    }
}

/// What iced's access means here: what may happen under a condition is an access, because conditional loads
/// (`cmov`) always take place, and conditional stores of compare-and-swap lock the line all the same.
/// Masked forms do not come here.
fn kind(access: OpAccess) -> Option<AccessKind> {
    match access {
        OpAccess::Read | OpAccess::CondRead => Some(AccessKind::Load),
        OpAccess::Write | OpAccess::CondWrite => Some(AccessKind::Store),
        OpAccess::ReadWrite | OpAccess::ReadCondWrite => Some(AccessKind::ReadModifyWrite),
        OpAccess::None | OpAccess::NoMemAccess => None,
    }
}

/// A quick answer, without operands: does this instruction touch memory? Masked and conditional forms count as
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

/// Instructions that name memory without loading or storing it, where the decoder says otherwise, and those
/// whose memory belongs to the kernel.
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
