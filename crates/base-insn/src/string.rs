//! String instructions: `movs`, `stos`, `lods`, `cmps`, `scas`, `ins`, `outs`, with and without a prefix.

use carom_base::{AccessKind, Skip};
use iced_x86::{Instruction, Mnemonic, OpKind, Register};

use crate::accesses::Operands;
use crate::registers::{Registers, flag, mask};

/// What a string instruction does with its registers, once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Element {
    /// Bytes of it.
    pub width: u32,
    /// RSI or ESI, where it is used.
    pub source: Option<Register>,
    /// RDI or EDI, where it is used.
    pub destination: Option<Register>,
    /// True where the destination is written, false where it is compared.
    pub stores: bool,
    /// RCX or ECX, where the instruction is repeated.
    pub counter: Option<Register>,
}

impl Element {
    /// `None` for all other instructions.
    pub fn of(instruction: &Instruction) -> Option<Self> {
        if !instruction.is_string_instruction() {
            return None;
        }
        let (mut source, mut destination, mut narrow) = (None, None, false);
        for kind in [instruction.op0_kind(), instruction.op1_kind()] {
            match kind {
                OpKind::MemorySegRSI => source = Some(Register::RSI),
                OpKind::MemorySegESI => (source, narrow) = (Some(Register::ESI), true),
                OpKind::MemoryESRDI => destination = Some(Register::RDI),
                OpKind::MemoryESEDI => (destination, narrow) = (Some(Register::EDI), true),
                _ => {}
            }
        }
        let compares = matches!(
            instruction.mnemonic(),
            Mnemonic::Cmpsb
                | Mnemonic::Cmpsw
                | Mnemonic::Cmpsd
                | Mnemonic::Cmpsq
                | Mnemonic::Scasb
                | Mnemonic::Scasw
                | Mnemonic::Scasd
                | Mnemonic::Scasq
        );
        let counter = if narrow { Register::ECX } else { Register::RCX };
        Some(Self {
            width: instruction.memory_size().size() as u32,
            source,
            destination,
            stores: !compares,
            counter: is_repeated(instruction).then_some(counter),
        })
    }

    /// The registers before this iteration, given those after it.
    pub fn undo(self, regs: &mut Registers) {
        let stride = self.stride(regs).map(u64::wrapping_neg);
        self.advance_by(regs, stride);
        self.count(regs, 1);
    }

    /// The registers after this iteration, given those before it.
    pub fn advance(self, regs: &mut Registers) {
        let stride = self.stride(regs);
        self.advance_by(regs, stride);
        self.count(regs, u64::MAX);
    }

    /// Loads and stores of the iteration that is about to run.
    pub fn operands(self, instruction: &Instruction, regs: &Registers, found: &mut Operands) {
        match self.counter.map(|counter| regs.read(counter)) {
            Some(Some(0)) => return,
            Some(None) => return found.miss(Skip::AddressLost),
            Some(Some(_)) | None => {}
        }
        for (pointer, kind) in self.accesses() {
            // The destination lies in ES, whose base is zero, whatever the prefix says.
            let source = self.source == Some(pointer);
            let segment = if source { instruction.memory_segment() } else { Register::ES };
            match (regs.read(pointer), regs.address_part(segment)) {
                (Some(offset), Some(base)) => {
                    found.push(instruction.ip(), base.wrapping_add(offset), self.width, kind);
                }
                (_, None) => found.miss(Skip::HiddenState),
                (None, _) => found.miss(Skip::AddressLost),
            }
        }
    }

    /// The register that points to each access, and what the access is; the source comes first.
    pub fn accesses(self) -> impl Iterator<Item = (Register, AccessKind)> {
        let destination = if self.stores { AccessKind::Store } else { AccessKind::Load };
        let source = self.source.map(|pointer| (pointer, AccessKind::Load));
        source.into_iter().chain(self.destination.map(|pointer| (pointer, destination)))
    }

    /// True where the counter is ECX.
    pub fn is_narrow(self) -> bool {
        self.counter == Some(Register::ECX)
    }

    /// True where a prefix repeats it until a comparison says otherwise.
    pub const fn compares(self) -> bool {
        !self.stores && self.destination.is_some()
    }

    /// From one element to the next, in bytes. `None` where the direction flag is not known.
    fn stride(self, regs: &Registers) -> Option<u64> {
        if regs.known.rflags & flag::DF == 0 {
            return None;
        }
        let width = u64::from(self.width);
        Some(if regs.rflags & flag::DF == 0 { width } else { width.wrapping_neg() })
    }

    fn advance_by(self, regs: &mut Registers, stride: Option<u64>) {
        for pointer in [self.source, self.destination].into_iter().flatten() {
            add(regs, pointer, stride);
        }
    }

    fn count(self, regs: &mut Registers, difference: u64) {
        if let Some(counter) = self.counter {
            add(regs, counter, Some(difference));
        }
    }
}

/// True where a prefix repeats the string instruction.
pub(crate) fn is_repeated(instruction: &Instruction) -> bool {
    instruction.is_string_instruction() && (instruction.has_rep_prefix() || instruction.has_repne_prefix())
}

fn add(regs: &mut Registers, register: Register, difference: Option<u64>) {
    let value = regs.read(register).zip(difference);
    let value =
        value.map(|(value, difference)| value.wrapping_add(difference) & mask(register.size() as u32));
    regs.write(register, value);
}
