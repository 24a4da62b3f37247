use carom_base::{Access, AccessKind, Addr, Ip, Skip};
use iced_x86::{Instruction, InstructionInfoOptions, Mnemonic, OpAccess, OpKind, Register, UsedMemory};

use super::decoder::Decoder;
use super::registers::Registers;
use super::string::Iteration;
use super::{implied, vector};

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
    /// The accesses whose addresses are known, in the order in which the instruction makes them.
    pub fn accesses(&self) -> &[Access] {
        self.accesses.get(..usize::from(self.count)).unwrap_or_default()
    }

    /// Why an access is missing. Always there when [`Self::accesses`] is empty; beside accesses when only
    /// some of the addresses are known.
    pub const fn skip(&self) -> Option<Skip> {
        self.skip
    }

    pub(super) fn skipped(skip: Skip) -> Self {
        Self { skip: Some(skip), ..Self::none() }
    }

    fn none() -> Self {
        let nothing = Access { ip: Ip(0), addr: Addr(0), width: 1, kind: AccessKind::Load };
        Self { accesses: [nothing; MAX_ACCESSES], count: 0, skip: None }
    }

    pub(super) fn push(&mut self, ip: u64, addr: u64, width: u32, kind: AccessKind) {
        if let Some(place) = self.accesses.get_mut(usize::from(self.count)) {
            *place = Access { ip: Ip(ip), addr: Addr(addr), width, kind };
            self.count += 1;
        }
    }

    /// Notes that an access is missing; the first reason stays.
    pub(super) fn miss(&mut self, skip: Skip) {
        self.skip.get_or_insert(skip);
    }
}

/// The accesses of `instruction`, given the registers before it.
pub(super) fn of(decoder: &mut Decoder, instruction: &Instruction, regs: &Registers) -> Operands {
    let mut found = Operands::none();
    if accesses_nothing(instruction) {
        found.miss(Skip::NotAnAccess);
    } else if let Some(iteration) = Iteration::of(instruction) {
        iteration.operands(instruction, regs, &mut found);
    } else if instruction.mnemonic() == Mnemonic::Clzero {
        implied::clzero(instruction, regs, &mut found);
    } else if let Some(lanes) = vector::Lanes::of(instruction) {
        lanes.operands(decoder, instruction, regs, &mut found);
    } else {
        plain(decoder, instruction, regs, &mut found);
    }
    if found.count == 0 {
        found.miss(Skip::NotAnAccess);
    }
    found
}

fn plain(decoder: &mut Decoder, instruction: &Instruction, regs: &Registers, found: &mut Operands) {
    let layout = &decoder.layout;
    let info = decoder.factory.info_options(instruction, InstructionInfoOptions::NO_REGISTER_USAGE);
    for memory in info.used_memory() {
        let Some(kind) = kind(memory.access()) else { continue };
        let width = match memory.memory_size().size() {
            0 => implied::width(instruction, memory.memory_size(), layout, regs),
            bytes => Some(bytes as u32),
        };
        let Some(width) = width else {
            found.miss(Skip::HiddenState);
            continue;
        };
        let kind = implied::kind(memory.memory_size(), kind);
        match address(memory, regs).and_then(|address| implied::adjust(instruction, address, width, regs)) {
            Some(address) => found.push(instruction.ip(), address, width, kind),
            None => found.miss(unknown_address(memory, regs)),
        }
    }
}

/// The effective address of a scalar operand.
pub(super) fn address(memory: &UsedMemory, regs: &Registers) -> Option<u64> {
    memory.virtual_address(0, |register, _, _| regs.address_part(register))
}

/// Why [`address`] is `None`.
pub(super) fn unknown_address(memory: &UsedMemory, regs: &Registers) -> Skip {
    if memory.segment() == Register::GS && regs.gs_base.is_none() {
        Skip::HiddenState
    } else {
        Skip::AddressLost
    }
}

/// What iced's access means here: what may happen under a condition is an access, because conditional loads
/// (`cmov`) always take place, and conditional stores of compare-and-swap lock the line all the same.
/// Masked forms do not come here.
pub(super) fn kind(access: OpAccess) -> Option<AccessKind> {
    match access {
        OpAccess::Read | OpAccess::CondRead => Some(AccessKind::Load),
        OpAccess::Write | OpAccess::CondWrite => Some(AccessKind::Store),
        OpAccess::ReadWrite | OpAccess::ReadCondWrite => Some(AccessKind::ReadModifyWrite),
        OpAccess::None | OpAccess::NoMemAccess => None,
    }
}

/// A quick answer, without operands: does this instruction touch memory? Masked and conditional forms count as
/// touching it.
pub(super) fn may_access(instruction: &Instruction) -> bool {
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
    instruction.is_stack_instruction() || instruction.op_kinds().any(memory)
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
