//! Accesses of one basic block that lie at a constant distance from each other.

use std::collections::HashSet;

use carom_base::{AccessKind, LINE_BYTES};
use iced_x86::{
    Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, OpAccess, OpKind, Register,
    UsedMemory,
};

use crate::{MOST_FUNCTION_BYTES, plain, shape::Shape};

/// An access that every execution of a later one follows, at a constant distance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preceding {
    /// Its instruction.
    pub ip: u64,
    /// Bytes from the address of the later access to that of this one.
    pub offset: i64,
    /// Bytes.
    pub width: u32,
    /// Load, store, or both.
    pub kind: AccessKind,
}

/// No more accesses than this are told, the last ones.
const MOST: usize = 8;

/// The accesses before that of the instruction at `at` in its basic block, in program order, whose addresses are less than a
/// cache line from it whatever registers hold. The code of its function begins at `start`.
///
/// A block begins behind a jump or a call, and where a jump of the function leads to. Targets of indirect jumps are not known: a
/// block that is only entered there may be told as a part of the one before it.
pub fn preceding(code: &[u8], start: u64, at: u64) -> Vec<Preceding> {
    let code = code.get(..code.len().min(MOST_FUNCTION_BYTES as usize)).unwrap_or_default();
    let all: Vec<Instruction> = Decoder::with_ip(64, code, start, DecoderOptions::NONE).into_iter().collect();
    let Some(index) = all.iter().position(|each| each.ip() == at) else { return Vec::new() };
    let mut factory = InstructionInfoFactory::new();
    let Some((own, _)) = only_access(&mut factory, &all[index]) else { return Vec::new() };
    let targets: HashSet<u64> = all.iter().filter_map(target).collect();
    let mut found = Vec::new();
    let mut later = at;
    for each in all[..index].iter().rev() {
        let is_in_block = each.flow_control() == FlowControl::Next && !targets.contains(&later);
        if !is_in_block || changes(&mut factory, each, &own) || found.len() == MOST {
            break;
        }
        later = each.ip();
        found.extend(only_access(&mut factory, each).and_then(|(memory, kind)| {
            let offset = memory.displacement().wrapping_sub(own.displacement()) as i64;
            let width = memory.memory_size().size() as u32;
            let is_near = same_registers(&memory, &own) && offset.unsigned_abs() < LINE_BYTES && width > 0;
            is_near.then_some(Preceding { ip: each.ip(), offset, width, kind })
        }));
    }
    found.reverse();
    found
}

fn target(instruction: &Instruction) -> Option<u64> {
    (instruction.op0_kind() == OpKind::NearBranch64).then(|| instruction.near_branch_target())
}

/// The one operand in memory of an instruction that accesses no other, each time it runs.
fn only_access(
    factory: &mut InstructionInfoFactory,
    instruction: &Instruction,
) -> Option<(UsedMemory, AccessKind)> {
    if !matches!(Shape::of(instruction), Shape::Plain) {
        return None;
    }
    let mut operands = plain::operands(factory, instruction);
    let (memory, kind) = operands.next()?;
    operands.next().is_none().then_some((*memory, kind))
}

fn same_registers(one: &UsedMemory, other: &UsedMemory) -> bool {
    let scale = |memory: &UsedMemory| if memory.index() == Register::None { 1 } else { memory.scale() };
    let segment = |memory: &UsedMemory| {
        Some(memory.segment()).filter(|segment| matches!(segment, Register::FS | Register::GS))
    };
    (one.base(), one.index(), scale(one), segment(one))
        == (other.base(), other.index(), scale(other), segment(other))
}

/// Whether it may change a register that the address of `memory` is made of.
fn changes(factory: &mut InstructionInfoFactory, instruction: &Instruction, memory: &UsedMemory) -> bool {
    let is_written = |access| !matches!(access, OpAccess::Read | OpAccess::CondRead | OpAccess::None);
    let used = factory.info(instruction).used_registers();
    used.iter().filter(|used| is_written(used.access())).any(|used| {
        let written = used.register().full_register();
        [memory.base(), memory.index()].iter().any(|part| part.full_register() == written)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ```text
    /// 1000  test rdi, rdi
    /// 1003  je 100b
    /// 1005  mov [rdi], rax        ; in a block of its own: the jump leads past it
    /// 1008  nop dword [rax]       ; no access
    /// 100b  mov [rdi+0x10], rax
    /// 100f  mov ecx, [rdi+0x18]
    /// 1012  mov [rdi+0x50], rax   ; another line
    /// 1016  mov rdx, [rsi+0x10]   ; by another register
    /// 101a  add [rdi+0x20], eax
    /// 101d  add rdi, 8
    /// 1021  mov [rdi], al         ; the register has changed
    /// 1023  ret
    /// ```
    const BLOCKS: &[u8] = &[
        0x48, 0x85, 0xff, 0x74, 0x06, 0x48, 0x89, 0x07, 0x0f, 0x1f, 0x00, 0x48, 0x89, 0x47, 0x10, 0x8b, 0x4f,
        0x18, 0x48, 0x89, 0x47, 0x50, 0x48, 0x8b, 0x56, 0x10, 0x01, 0x47, 0x20, 0x48, 0x83, 0xc7, 0x08, 0x88,
        0x07, 0xc3,
    ];

    #[test]
    fn accesses_of_the_block_by_the_same_registers() {
        let at = |at| preceding(BLOCKS, 0x1000, at);
        let store = Preceding { ip: 0x100b, offset: -16, width: 8, kind: AccessKind::Store };
        let load = Preceding { ip: 0x100f, offset: -8, width: 4, kind: AccessKind::Load };
        let far = Preceding { ip: 0x1012, offset: 0x30, ..store };
        assert_eq!(at(0x101a), [store, load, far]);
        assert_eq!(at(0x100f), [Preceding { offset: -8, ..store }]);
        assert_eq!(at(0x100b), []);
        assert_eq!(at(0x1005), []);
        assert_eq!(at(0x1021), []);
        // 0x18 and 0x10 are 0x38 and 0x40 before 0x50.
        assert_eq!(at(0x1012), [Preceding { offset: -0x38, ..load }]);
        assert_eq!((at(0x101d), at(0x1001)), (vec![], vec![]), "no access, and no instruction");
    }

    #[test]
    fn variables_by_their_addresses() {
        // 1000 mov eax, [rip+0x10] -> 1016; 1006 mov [rip+0xe], eax -> 101a; 100c call 1011; 1011 mov eax, [rip+5] -> 101c
        let code = [
            0x8b, 0x05, 0x10, 0, 0, 0, 0x89, 0x05, 0x0e, 0, 0, 0, 0xe8, 0, 0, 0, 0, 0x8b, 0x05, 0x05, 0, 0, 0,
        ];
        let load = Preceding { ip: 0x1000, offset: -4, width: 4, kind: AccessKind::Load };
        assert_eq!(preceding(&code, 0x1000, 0x1006), [load]);
        assert_eq!(preceding(&code, 0x1000, 0x1011), [], "behind a call");
    }

    #[test]
    fn any_bytes_are_looked_at() {
        let mut seed = 1_u64;
        let mut byte = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 56) as u8
        };
        for _ in 0..2_000 {
            let code: Vec<u8> = (0..64).map(|_| byte()).collect();
            let start = u64::MAX - 32;
            for at in 0..64 {
                let found = preceding(&code, start, start.wrapping_add(at));
                assert!(found.len() <= MOST);
                assert!(
                    found
                        .iter()
                        .all(|each| each.ip.wrapping_sub(start) < at && each.offset.unsigned_abs() < 64)
                );
            }
        }
    }
}
