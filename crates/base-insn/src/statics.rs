//! The properties of an instruction that follow from its code alone.

use iced_x86::{CpuidFeature, FlowControl, Instruction, Mnemonic, OpKind};

use crate::accesses::StaticAccess;
use crate::frequent::Frequent;
use crate::info::Info;
use crate::shape::{self, Shape};
use crate::{implied, plain};

/// The interrupt by which 32-bit programs enter Linux; 64-bit ones may use it too.
const LINUX_INTERRUPT: u8 = 0x80;

/// What one iteration of a repeated string instruction does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Iteration {
    /// Loads, 0 to 2.
    pub loads: u32,
    /// Stores, 0 or 1.
    pub stores: u32,
    /// Bytes of all its loads.
    pub loaded_bytes: u32,
    /// Bytes of all its stores.
    pub stored_bytes: u32,
    /// True where a comparison can end it before the counter is zero: `cmps`, `scas`.
    pub ends_early: bool,
    /// True where the counter is ECX alone, whatever the upper half of RCX holds.
    pub narrow: bool,
}

/// What an instruction does each time it runs: its share in exact counts.
///
/// Read-modify-write and any compare-and-swap, whether it succeeds or not: one load and one store. Calls, returns,
/// pushes and pops count their stack. Vector operands are one access of full width, also under an arithmetic mask.
/// Prefetches, `lea` and `nop` access nothing. The kernel's accesses are not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statics {
    /// Accesses that read.
    pub loads: u32,
    /// Accesses that write.
    pub stores: u32,
    /// Bytes of all its loads; see [`StaticAccess::width`].
    pub loaded_bytes: u32,
    /// Bytes of all its stores.
    pub stored_bytes: u32,
    /// Any transfer of control: jumps whether taken or not, loops, calls, returns.
    pub branch: bool,
    /// A call, direct or not.
    pub call: bool,
    /// A return.
    pub ret: bool,
    /// Locked, or an exchange with memory, or one of the vector-encoded atomics, which have no prefix.
    pub atomic: bool,
    /// It enters the kernel on purpose.
    pub system_call: bool,
    /// For string instructions with a repeating prefix; the four counts above are then zero.
    pub repeated: Option<Iteration>,
    /// Gather, scatter or masked move: one access per active lane, to be counted with [`Decoder::operands_before`](crate::Decoder::operands_before); the
    /// four counts above are then zero.
    pub lanes: bool,
}

/// What `instruction` does each time it runs.
pub(crate) fn of(info: &mut Info, instruction: &Instruction) -> Statics {
    if stays_in_registers(instruction) {
        return Statics::default();
    }
    Frequent::of(instruction).map_or_else(|| by_operands(info, instruction), Statics::from)
}

impl From<Frequent> for Statics {
    fn from(frequent: Frequent) -> Self {
        const STACK: u32 = 8;
        let load = |bytes| Self { loads: 1, loaded_bytes: bytes, ..Self::default() };
        let store = |bytes| Self { stores: 1, stored_bytes: bytes, ..Self::default() };
        match frequent {
            Frequent::Load(bytes) => load(bytes),
            Frequent::Store(bytes) => store(bytes),
            Frequent::Jump => Self { branch: true, ..Self::default() },
            Frequent::Call => Self { branch: true, call: true, ..store(STACK) },
            Frequent::Return => Self { branch: true, ret: true, ..load(STACK) },
        }
    }
}

/// The same by the decoder's list of operands.
fn by_operands(info: &mut Info, instruction: &Instruction) -> Statics {
    let shape = Shape::of(instruction);
    let mut once = Iteration::default();
    each(info, &shape, instruction, |access| once.add(access));
    let call = is_call(instruction);
    let flow = instruction.flow_control();
    let statics = Statics {
        branch: call || is_jump_or_return(flow),
        call,
        ret: flow == FlowControl::Return,
        atomic: is_atomic(instruction),
        system_call: is_system_call(instruction),
        lanes: matches!(shape, Shape::Lanes(_)),
        ..Statics::default()
    };
    match shape {
        Shape::Element(element) if element.counter.is_some() => {
            once.ends_early = element.compares();
            once.narrow = element.is_narrow();
            Statics { repeated: Some(once), ..statics }
        }
        _ => Statics {
            loads: once.loads,
            stores: once.stores,
            loaded_bytes: once.loaded_bytes,
            stored_bytes: once.stored_bytes,
            ..statics
        },
    }
}

/// The accesses that `instruction` makes each time it runs, or in one iteration.
pub(crate) fn each_access(info: &mut Info, instruction: &Instruction, visit: impl FnMut(StaticAccess)) {
    each(info, &Shape::of(instruction), instruction, visit);
}

fn each(info: &mut Info, shape: &Shape, instruction: &Instruction, mut visit: impl FnMut(StaticAccess)) {
    match *shape {
        Shape::Nothing | Shape::Lanes(_) => {}
        Shape::Element(element) => {
            element.accesses().for_each(|(_, kind)| visit(StaticAccess { width: element.width, kind }));
        }
        Shape::Clzero => visit(shape::CLZERO),
        Shape::Plain => {
            for (memory, kind) in plain::operands(&mut info.factory, instruction) {
                let all = Some(u64::MAX);
                let width = implied::width(instruction, memory.memory_size(), &info.layout, all);
                visit(StaticAccess { width: width.unwrap_or_default(), kind });
            }
        }
    }
}

impl Iteration {
    fn add(&mut self, access: StaticAccess) {
        if access.kind.reads() {
            self.loads += 1;
            self.loaded_bytes += access.width;
        }
        if access.kind.writes() {
            self.stores += 1;
            self.stored_bytes += access.width;
        }
    }
}

/// A quick answer for most instructions: only registers and constants, and no jump. Instructions without operands may
/// have implied memory.
fn stays_in_registers(instruction: &Instruction) -> bool {
    instruction.op_count() > 0
        && instruction.flow_control() == FlowControl::Next
        && !shape::may_access(instruction)
}

/// By name: the decoder's flow control calls system calls and hypercalls calls, too.
fn is_call(instruction: &Instruction) -> bool {
    instruction.is_call_near()
        || instruction.is_call_near_indirect()
        || instruction.is_call_far()
        || instruction.is_call_far_indirect()
}

fn is_jump_or_return(flow: FlowControl) -> bool {
    matches!(
        flow,
        FlowControl::UnconditionalBranch
            | FlowControl::IndirectBranch
            | FlowControl::ConditionalBranch
            | FlowControl::Return
    )
}

fn is_atomic(instruction: &Instruction) -> bool {
    let exchanges = instruction.mnemonic() == Mnemonic::Xchg && instruction.op0_kind() == OpKind::Memory;
    let by_nature =
        |feature: &CpuidFeature| matches!(feature, CpuidFeature::CMPCCXADD | CpuidFeature::RAO_INT);
    instruction.has_lock_prefix() || exchanges || instruction.cpuid_features().iter().any(by_nature)
}

fn is_system_call(instruction: &Instruction) -> bool {
    match instruction.mnemonic() {
        Mnemonic::Syscall | Mnemonic::Sysenter => true,
        Mnemonic::Int => instruction.immediate8() == LINUX_INTERRUPT,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use iced_x86::{Decoder, DecoderOptions};

    use super::*;

    /// All two bytes of an opcode and its operands, behind prefixes that change sizes, registers, the segment and the opcode.
    #[test]
    fn frequent_instructions_do_what_their_operands_tell() {
        const PREFIXES: [&[u8]; 10] = [
            &[],
            &[0x66],
            &[0xf2],
            &[0xf3],
            &[0x48],
            &[0x4d],
            &[0x41],
            &[0x65, 0x48],
            &[0x67, 0x48],
            &[0x66, 0x49],
        ];
        const ESCAPES: [&[u8]; 2] = [&[], &[0x0f]];
        let mut info = Info::new();
        let mut found = BTreeSet::new();
        for start in PREFIXES.iter().flat_map(|prefix| ESCAPES.map(|escape| [*prefix, escape].concat())) {
            for bytes in 0..=u16::MAX {
                let code = [start.as_slice(), &bytes.to_le_bytes(), &[0x24, 1, 2, 3, 4, 5, 6, 7]].concat();
                let instruction = Decoder::with_ip(64, &code, 0x1000, DecoderOptions::NONE).decode();
                let Some(frequent) = Frequent::of(&instruction).filter(|_| !instruction.is_invalid()) else {
                    continue;
                };
                assert_eq!(Statics::from(frequent), by_operands(&mut info, &instruction), "{code:02x?}");
                found.insert(instruction.code() as u32);
            }
        }
        // Push, pop, return and call; jumps with 16 conditions and without, short and near; those with an operand.
        assert_eq!(found.len(), 4 + 2 * 17 + 33);
    }
}
