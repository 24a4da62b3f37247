//! Whether the arithmetic flags matter at a place in the program.

use iced_x86::{
    Code, Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, OpKind, Register, RflagsBits,
};

use crate::{block::Block, cache, memory::Regions};

/// The flags that added arithmetic destroys.
const ARITHMETIC: u32 =
    RflagsBits::OF | RflagsBits::SF | RflagsBits::ZF | RflagsBits::AF | RflagsBits::CF | RflagsBits::PF;

/// Instructions looked at along one way.
const LOOK_AHEAD: usize = 24;

/// Branches followed.
const DEPTH: u32 = 3;

/// False where the code from `pc` on surely writes every arithmetic flag before it reads it.
///
/// Calls and returns are taken to leave the flags dead, as the System V ABI (3.2.1) has it; so are jumps through the
/// linkage table, which are calls. Behind other indirect jumps they may be read: compilers test a value once in front
/// of a `switch` and not again in its cases (CPython's `bytearray_richcompare`, by GCC 12).
pub fn flags_matter(regions: &Regions, pc: u64) -> bool {
    follow(regions, pc, ARITHMETIC, DEPTH)
}

/// The same for the code that begins with `block`.
pub fn flags_matter_before(regions: &Regions, block: &Block) -> bool {
    let mut undecided = ARITHMETIC;
    // All of them, however many: what lies behind the block comes after the last.
    let mut instructions = block.instructions.iter().map(|decoded| &decoded.instruction);
    instructions
        .find_map(|instruction| decide(regions, instruction, &mut undecided, DEPTH))
        .unwrap_or_else(|| follow(regions, block.end(), undecided, DEPTH))
}

/// The same in front of each instruction of `block`. (It looks further than [`flags_matter`], so that it says no more
/// often.)
pub fn flags_matter_within(regions: &Regions, block: &Block) -> Vec<bool> {
    let mut matter = Vec::with_capacity(block.instructions.len());
    let mut behind = None;
    for instruction in block.instructions.iter().rev().map(|decoded| &decoded.instruction) {
        let live = match behind {
            None if flags_matter(regions, instruction.ip()) => ARITHMETIC,
            None => 0,
            Some(behind) if may_leave_flags(instruction) => behind | instruction.rflags_read(),
            Some(behind) => behind & !overwritten(instruction) | instruction.rflags_read(),
        };
        matter.push(live & ARITHMETIC != 0);
        behind = Some(live);
    }
    matter.reverse();
    matter
}

fn follow(regions: &Regions, pc: u64, mut undecided: u32, depth: u32) -> bool {
    let Some(code) = cache::original(regions, pc) else { return true };
    let mut decoder = Decoder::with_ip(64, code, pc, DecoderOptions::NONE);
    let mut instruction = Instruction::default();
    for _ in 0..LOOK_AHEAD {
        decoder.decode_out(&mut instruction);
        if let Some(decided) = decide(regions, &instruction, &mut undecided, depth) {
            return decided;
        }
    }
    true
}

/// Whether the flags that are `undecided` in front of `instruction` matter, where that can be told.
fn decide(regions: &Regions, instruction: &Instruction, undecided: &mut u32, depth: u32) -> Option<bool> {
    if instruction.is_invalid() || instruction.rflags_read() & *undecided != 0 {
        return Some(true);
    }
    if !may_leave_flags(instruction) {
        *undecided &= !overwritten(instruction);
    }
    if *undecided == 0 {
        return Some(false);
    }
    let beyond = |pc| follow(regions, pc, *undecided, depth - 1);
    match instruction.flow_control() {
        FlowControl::Next => None,
        _ if instruction.code() == Code::Syscall => Some(true),
        FlowControl::Call | FlowControl::IndirectCall | FlowControl::Return => Some(false),
        FlowControl::IndirectBranch => Some(!instruction.is_ip_rel_memory_operand()),
        FlowControl::UnconditionalBranch if depth > 0 => Some(beyond(instruction.near_branch_target())),
        FlowControl::ConditionalBranch if depth > 0 => {
            Some(beyond(instruction.near_branch_target()) || beyond(instruction.next_ip()))
        }
        _ => Some(true),
    }
}

/// The flags that have nothing of their old values behind `instruction`.
///
/// Of those that the manuals call undefined, processors leave some as they were (those of divisions and bit scans on
/// AMD's), which a program may see though it may not count on it. Behind logic they are a function of the result.
fn overwritten(instruction: &Instruction) -> u32 {
    let defined = instruction.rflags_written() | instruction.rflags_cleared() | instruction.rflags_set();
    match instruction.mnemonic() {
        Mnemonic::And | Mnemonic::Or | Mnemonic::Xor | Mnemonic::Test => {
            defined | instruction.rflags_undefined()
        }
        _ => defined,
    }
}

/// Shifts by CL and repeated instructions leave the flags as they are when the count is zero.
fn may_leave_flags(instruction: &Instruction) -> bool {
    let shift = matches!(
        instruction.mnemonic(),
        Mnemonic::Shl
            | Mnemonic::Shr
            | Mnemonic::Sal
            | Mnemonic::Sar
            | Mnemonic::Rol
            | Mnemonic::Ror
            | Mnemonic::Rcl
            | Mnemonic::Rcr
            | Mnemonic::Shld
            | Mnemonic::Shrd
    );
    let by_register = (0..instruction.op_count()).any(|operand| {
        instruction.op_kind(operand) == OpKind::Register && instruction.op_register(operand) == Register::CL
    });
    (shift && by_register) || instruction.has_rep_prefix() || instruction.has_repne_prefix()
}
