//! Whether the arithmetic flags matter at a place in the program.

use iced_x86::{
    Code, Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, OpKind, Register, RflagsBits,
};

use crate::{
    decode::{
        block::{Block, Decoded},
        linkage, source,
    },
    memory::Regions,
};

/// The flags that added arithmetic destroys.
const ARITHMETIC: u32 =
    RflagsBits::OF | RflagsBits::SF | RflagsBits::ZF | RflagsBits::AF | RflagsBits::CF | RflagsBits::PF;

/// Instructions looked at along one way.
const LOOK_AHEAD: usize = 24;

/// Branches followed.
const DEPTH: u32 = 3;

/// False where the code from `pc` on certainly writes every arithmetic flag before it reads it.
///
/// The flags are live where it is unknown what comes next: after returns, indirect calls and indirect jumps. In the
/// ABI no flag survives a call (System V, 3.2.1), but hand-written code returns carries and comparisons in flags, and
/// compilers test a value once in front of a `switch` and not again in its cases (CPython's `bytearray_richcompare`,
/// by GCC 12). Known are the targets of direct calls and of entries of the linkage table ([`linkage`]).
pub fn flags_matter(regions: &Regions, pc: u64) -> bool {
    follow(regions, pc, ARITHMETIC, DEPTH)
}

/// The same for code that begins with `block`.
pub fn flags_matter_before(regions: &Regions, block: &Block) -> bool {
    let mut undecided = ARITHMETIC;
    // All of the block's instructions, whatever their number: the code after the block follows the last one.
    for Decoded { instruction, .. } in &block.instructions {
        match decide(regions, instruction, &mut undecided, DEPTH) {
            Way::Decided(matter) => return matter,
            Way::At(pc) => return follow(regions, pc, undecided, DEPTH),
            Way::Next => {}
        }
    }
    follow(regions, block.end(), undecided, DEPTH)
}

/// The same in front of each instruction of `block`. (It looks further ahead than [`flags_matter`], so it answers
/// "live" no more often.)
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

fn follow(regions: &Regions, mut pc: u64, mut undecided: u32, depth: u32) -> bool {
    let mut decoder = None;
    let mut instruction = Instruction::default();
    for _ in 0..LOOK_AHEAD {
        if decoder.is_none() {
            let Some(code) = source::original(regions, pc) else {
                // Functions of the embedder are compiled, and read no flags of their callers.
                return !regions.is_excluded(pc);
            };
            decoder = Some(Decoder::with_ip(64, code, pc, DecoderOptions::NONE));
        }
        decoder.iter_mut().for_each(|decoder| decoder.decode_out(&mut instruction));
        match decide(regions, &instruction, &mut undecided, depth) {
            Way::Decided(matter) => return matter,
            Way::At(next) => (decoder, pc) = (None, next),
            Way::Next => {}
        }
    }
    true
}

/// What is known of the flags in front of an instruction.
enum Way {
    /// Whether they matter.
    Decided(bool),
    /// The next instruction decides.
    Next,
    /// The instruction at this address decides.
    At(u64),
}

/// Whether the flags that are `undecided` in front of `instruction` matter, where this instruction decides it.
fn decide(regions: &Regions, instruction: &Instruction, undecided: &mut u32, depth: u32) -> Way {
    if instruction.is_invalid() || instruction.rflags_read() & *undecided != 0 {
        return Way::Decided(true);
    }
    if !may_leave_flags(instruction) {
        *undecided &= !overwritten(instruction);
    }
    if *undecided == 0 {
        return Way::Decided(false);
    }
    let beyond = |pc| follow(regions, pc, *undecided, depth - 1);
    match instruction.flow_control() {
        FlowControl::Next => Way::Next,
        _ if instruction.code() == Code::Syscall => Way::Decided(true),
        FlowControl::IndirectBranch => {
            linkage::target(regions, instruction).map_or(Way::Decided(true), Way::At)
        }
        FlowControl::Call | FlowControl::UnconditionalBranch => Way::At(instruction.near_branch_target()),
        FlowControl::ConditionalBranch if depth > 0 => {
            Way::Decided(beyond(instruction.near_branch_target()) || beyond(instruction.next_ip()))
        }
        _ => Way::Decided(true),
    }
}

/// The flags whose old values are gone after `instruction`.
///
/// Some flags that the manuals call undefined keep their values on some processors (divisions and bit scans on AMD),
/// and a program can see that although it must not rely on it. After logic instructions they are a function of the
/// result.
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
