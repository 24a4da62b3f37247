//! Memory operands, in a form that code in front of their instruction can compute.

use carom_base::AccessKind;
use carom_base_insn::{Decoder as Accesses, Lanes, StaticAccess, access_kind};
use iced_x86::{
    CodeSize, Instruction, InstructionInfoFactory, InstructionInfoOptions, Mnemonic, OpAccess, OpKind,
    Register, UsedMemory,
};

use super::block::Decoded;
use crate::lane::registers::Gpr;

/// One access of an instruction, and its address: `[base + index * scale + displacement]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operand {
    /// Its number among the instruction's accesses, in the order of [`Accesses`].
    pub nth: u32,
    pub base: Option<Gpr>,
    pub index: Option<Gpr>,
    pub scale: u8,
    pub displacement: u64,
    /// Relative to the thread's FS base.
    pub fs: bool,
    pub width: u32,
    pub kind: AccessKind,
}

/// What an instruction accesses, for code in front of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Addressed {
    /// These accesses, in the order in which they happen; mostly none or one.
    Plain(Vec<Operand>),
    /// Iterations, lanes, bit strings: only the values of all registers tell.
    Otherwise,
}

/// Finds operands and registers of instructions.
pub struct Finder {
    factory: InstructionInfoFactory,
}

impl Finder {
    /// A new finder.
    pub fn new() -> Self {
        Self { factory: InstructionInfoFactory::new() }
    }

    /// The accesses of an instruction.
    pub fn operands(&mut self, decoded: &Decoded, accesses: &mut Accesses) -> Addressed {
        let Decoded { instruction, statics, .. } = decoded;
        if statics.lanes || statics.repeated.is_some() || is_bit_string(instruction) {
            return Addressed::Otherwise;
        }
        if statics.loads + statics.stores == 0 {
            return Addressed::Plain(Vec::new());
        }
        let mut known = Vec::new();
        accesses.each_access(instruction, |access| known.push(access));
        if instruction.is_string_instruction() {
            let operands = element(instruction, &known);
            return operands.map_or(Addressed::Otherwise, Addressed::Plain);
        }
        let info = self.factory.info_options(instruction, InstructionInfoOptions::NO_REGISTER_USAGE);
        let used =
            info.used_memory().iter().filter_map(|memory| Some((memory, access_kind(memory.access())?)));
        let mut operands = Vec::with_capacity(known.len());
        for (memory, kind) in used {
            let Some(operand) = known.get(operands.len()).and_then(|access| {
                let nth = operands.len() as u32;
                (access.kind == kind && access.width > 0).then(|| plain(memory, nth, access.width, kind))?
            }) else {
                return Addressed::Otherwise;
            };
            operands.push(operand);
        }
        // What is stored was loaded before: `push [m]`, `call [m]`.
        operands.sort_by_key(|operand| operand.kind == AccessKind::Store);
        if operands.len() == known.len() { Addressed::Plain(operands) } else { Addressed::Otherwise }
    }

    /// The address of the first lane, for an instruction whose lanes lie within a vector's length, active or not.
    pub fn lanes(&mut self, instruction: &Instruction) -> Option<(Operand, Lanes)> {
        let lanes = Lanes::of(instruction).filter(|_| !instruction.is_vsib())?;
        let info = self.factory.info_options(instruction, InstructionInfoOptions::NO_REGISTER_USAGE);
        let memory = info.used_memory().iter().find(|memory| access_kind(memory.access()).is_some())?;
        Some((plain(memory, 0, lanes.lane_bytes, lanes.kind)?, lanes))
    }

    /// The general registers that an instruction reads or writes, one bit each.
    pub fn registers(&mut self, instruction: &Instruction) -> u16 {
        self.those(instruction, |_| true)
    }

    /// The general registers that it may write.
    pub fn written(&mut self, instruction: &Instruction) -> u16 {
        self.those(instruction, |access| {
            !matches!(access, OpAccess::Read | OpAccess::CondRead | OpAccess::None | OpAccess::NoMemAccess)
        })
    }

    fn those(&mut self, instruction: &Instruction, wanted: fn(OpAccess) -> bool) -> u16 {
        let info = self.factory.info_options(instruction, InstructionInfoOptions::NO_MEMORY_USAGE);
        let used = info.used_registers().iter().filter(|used| wanted(used.access()));
        used.map(|used| bit(used.register())).fold(0, |all, bit| all | bit)
    }
}

impl Operand {
    /// The general registers in its address, one bit each.
    pub fn registers(&self) -> u16 {
        [self.base, self.index].into_iter().flatten().fold(0, |all, register| all | 1 << register.0)
    }

    /// Whether its address never changes.
    pub const fn is_constant(&self) -> bool {
        self.base.is_none() && self.index.is_none() && !self.fs
    }
}

/// The accesses of one iteration of a string instruction; the source comes first.
fn element(instruction: &Instruction, known: &[StaticAccess]) -> Option<Vec<Operand>> {
    if instruction.segment_prefix() != Register::None {
        return None;
    }
    let kinds = [instruction.op0_kind(), instruction.op1_kind()];
    let has = |wanted| kinds.contains(&wanted);
    let places = [(OpKind::MemorySegRSI, RSI), (OpKind::MemoryESRDI, RDI)];
    let pointers = places.into_iter().filter(|(kind, _)| has(*kind)).map(|(_, pointer)| pointer);
    let operands: Vec<_> = (0..)
        .zip(pointers)
        .zip(known)
        .map(|((nth, pointer), &StaticAccess { width, kind })| Operand {
            nth,
            base: Some(pointer),
            index: None,
            scale: 1,
            displacement: 0,
            fs: false,
            width,
            kind,
        })
        .collect();
    (operands.len() == known.len()).then_some(operands)
}

const RSI: Gpr = Gpr(6);
const RDI: Gpr = Gpr(7);

/// An operand, if its address is a sum of whole registers.
fn plain(memory: &UsedMemory, nth: u32, width: u32, kind: AccessKind) -> Option<Operand> {
    let fs = match memory.segment() {
        Register::FS => true,
        Register::GS => return None,
        _ => false,
    };
    if matches!(memory.address_size(), CodeSize::Code16 | CodeSize::Code32) || memory.vsib_size() != 0 {
        return None;
    }
    let base = match memory.base() {
        // iced gives operands relative to the instruction as absolute addresses.
        Register::RIP => None,
        register => whole(register)?,
    };
    let (index, scale) = (whole(memory.index())?, memory.scale() as u8);
    let displacement = memory.displacement();
    // A displacement of 64 bits stands alone.
    let alone = base.is_none() && index.is_none() && !fs;
    let near = i32::try_from(displacement as i64).is_ok();
    (alone || near).then_some(Operand { nth, base, index, scale, displacement, fs, width, kind })
}

/// The whole register that contains this one, `Some(None)` for no register.
fn whole(register: Register) -> Option<Option<Gpr>> {
    match register {
        Register::None => Some(None),
        register if register.is_gpr64() => Some(Some(Gpr(register.number() as u8))),
        _ => None,
    }
}

fn bit(register: Register) -> u16 {
    if register.is_gpr() { 1 << (register.full_register().number() & 15) } else { 0 }
}

/// Bit tests with a register operand access an address that depends on the register, and `clzero` accesses a whole
/// line.
fn is_bit_string(instruction: &Instruction) -> bool {
    match instruction.mnemonic() {
        Mnemonic::Bt | Mnemonic::Bts | Mnemonic::Btr | Mnemonic::Btc => {
            instruction.op0_kind() == OpKind::Memory && instruction.op1_kind() == OpKind::Register
        }
        mnemonic => mnemonic == Mnemonic::Clzero,
    }
}
