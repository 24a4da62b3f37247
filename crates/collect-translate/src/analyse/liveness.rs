//! Whether the arithmetic flags matter at a place in the program.

use iced_x86::{Code, FlowControl, Instruction, Mnemonic, OpKind, Register, RflagsBits};
use rustc_hash::FxHashMap;

use crate::{
    decode::{
        block::{Block, Decoded},
        linkage,
        reader::Reader,
    },
    memory::Regions,
};

/// The flags that added arithmetic destroys.
const ARITHMETIC: u32 =
    RflagsBits::OF | RflagsBits::SF | RflagsBits::ZF | RflagsBits::AF | RflagsBits::CF | RflagsBits::PF;

/// The most instructions that one question is worth.
const MOST_INSTRUCTIONS: usize = 120;

/// What is known about the flags at addresses of the program, until its code changes.
#[derive(Default)]
pub struct Liveness {
    reader: Reader,
    /// Flags that are dead in front of the code at an address.
    dead: FxHashMap<u64, u32>,
    /// Flags of which some may be live there.
    live: FxHashMap<u64, u32>,
    /// What the last question has allocated, for the next one.
    spare: Following,
}

/// The state of following the code from one place or two.
#[derive(Debug, Default)]
struct Following {
    /// Places that are still to be followed, the flags that are undecided there, and the number of the place where the way
    /// has begun.
    ways: Vec<(u64, u32, usize)>,
    /// Places that were followed.
    seen: Vec<(u64, u32)>,
}

impl Liveness {
    /// Code has changed.
    pub fn forget(&mut self) {
        self.dead.clear();
        self.live.clear();
        self.reader.forget();
    }

    /// False where the code from `pc` on certainly writes every arithmetic flag before it reads it.
    ///
    /// The flags are live where it is unknown what comes next: after returns, indirect calls and indirect jumps. In the
    /// ABI no flag survives a call (System V, 3.2.1), but hand-written code returns carries and comparisons in flags,
    /// and compilers test a value once in front of a `switch` and not again in its cases (CPython's
    /// `bytearray_richcompare`, by GCC 12). Known are the targets of direct calls and of entries of the linkage table
    /// ([`linkage`]).
    pub fn flags_matter(&mut self, regions: &Regions, pc: u64) -> bool {
        self.follow(regions, &[(pc, ARITHMETIC)])
    }

    /// The same for code that begins with `block`.
    pub fn flags_matter_before(&mut self, regions: &Regions, block: &Block) -> bool {
        let mut undecided = ARITHMETIC;
        for Decoded { instruction, .. } in &block.instructions {
            match decide(regions, instruction, &mut undecided) {
                Way::Decided(matter) => return matter,
                Way::To(next) => return self.follow(regions, &[(next, undecided)]),
                Way::Either(one, other) => {
                    return self.follow(regions, &[(one, undecided), (other, undecided)]);
                }
                Way::Next => {}
            }
        }
        self.follow(regions, &[(block.end(), undecided)])
    }

    /// The same in front of each instruction of `block`.
    pub fn flags_matter_within(&mut self, regions: &Regions, block: &Block) -> Vec<bool> {
        let mut matter = Vec::with_capacity(block.instructions.len());
        let mut behind = None;
        for instruction in block.instructions.iter().rev().map(|decoded| &decoded.instruction) {
            let live = match behind {
                None if self.flags_matter(regions, instruction.ip()) => ARITHMETIC,
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

    /// Whether any of these flags matters at its address. All ways are followed, each place once: a way that comes back
    /// has read nothing on its round.
    fn follow(&mut self, regions: &Regions, begin: &[(u64, u32)]) -> bool {
        let Following { mut ways, mut seen } = std::mem::take(&mut self.spare);
        ways.clear();
        seen.clear();
        ways.extend(begin.iter().enumerate().map(|(of, &(pc, flags))| (pc, flags, of)));
        let mut left = MOST_INSTRUCTIONS;
        let mut matter = false;
        while let Some((pc, flags, of)) = ways.pop() {
            let undecided = flags & !self.dead.get(&pc).copied().unwrap_or(0);
            let is_seen = |&(at, of): &(u64, u32)| at == pc && undecided & !of == 0;
            if undecided == 0 || seen.iter().any(is_seen) {
                continue;
            }
            seen.push((pc, undecided));
            let (known, before) = (self.is_live(pc, undecided), left);
            if known
                || along(&mut self.reader, regions, (pc, undecided), &mut left, |pc, flags| {
                    ways.push((pc, flags, of));
                })
            {
                matter = true;
                // A place that was given less than a question of its own would get may do better then.
                if left > 0 || before == MOST_INSTRUCTIONS {
                    self.note_live(pc, undecided);
                }
                if let Some(&(pc, flags)) = begin.get(of).filter(|_| left > 0 || begin.len() == 1) {
                    self.note_live(pc, flags);
                }
                break;
            }
        }
        if !matter {
            for &(pc, flags) in &seen {
                *self.dead.entry(pc).or_default() |= flags;
            }
        }
        self.spare = Following { ways, seen };
        matter
    }

    /// Whether one of these flags is known to be live in front of the code at `pc`.
    fn is_live(&self, pc: u64, flags: u32) -> bool {
        self.live.get(&pc).is_some_and(|live| live & !flags == 0)
    }

    fn note_live(&mut self, pc: u64, flags: u32) {
        // Less is known of more flags.
        if !self.is_live(pc, flags) {
            self.live.insert(pc, flags);
        }
    }
}

/// Follows the code from `pc` on to its next branch, whose ways are given to `way`. True where it reads one of the flags
/// that are `undecided`, or where that is unknown.
fn along(
    reader: &mut Reader,
    regions: &Regions,
    (pc, mut undecided): (u64, u32),
    left: &mut usize,
    mut way: impl FnMut(u64, u32),
) -> bool {
    let Some(decoder) = reader.at(regions, pc) else {
        // Functions of the embedder are compiled, and read no flags of their callers.
        return !regions.is_excluded(pc);
    };
    let mut instruction = Instruction::default();
    while *left > 0 {
        *left -= 1;
        decoder.decode_out(&mut instruction);
        match decide(regions, &instruction, &mut undecided) {
            Way::Decided(matter) => return matter,
            Way::To(next) => {
                way(next, undecided);
                return false;
            }
            Way::Either(one, other) => {
                way(one, undecided);
                way(other, undecided);
                return false;
            }
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
    /// The code at this address decides.
    To(u64),
    /// They matter if they matter at one of these addresses.
    Either(u64, u64),
}

/// Whether the flags that are `undecided` in front of `instruction` matter, where this instruction decides it.
fn decide(regions: &Regions, instruction: &Instruction, undecided: &mut u32) -> Way {
    if instruction.is_invalid() || instruction.rflags_read() & *undecided != 0 {
        return Way::Decided(true);
    }
    if !may_leave_flags(instruction) {
        *undecided &= !overwritten(instruction);
    }
    if *undecided == 0 {
        return Way::Decided(false);
    }
    match instruction.flow_control() {
        FlowControl::Next => Way::Next,
        _ if instruction.code() == Code::Syscall => Way::Decided(true),
        FlowControl::IndirectBranch => {
            linkage::target(regions, instruction).map_or(Way::Decided(true), Way::To)
        }
        FlowControl::Call | FlowControl::UnconditionalBranch => Way::To(instruction.near_branch_target()),
        FlowControl::ConditionalBranch => {
            Way::Either(instruction.near_branch_target(), instruction.next_ip())
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
    let by_register = || {
        (0..instruction.op_count()).any(|operand| {
            instruction.op_kind(operand) == OpKind::Register
                && instruction.op_register(operand) == Register::CL
        })
    };
    (shift && by_register()) || instruction.has_rep_prefix() || instruction.has_repne_prefix()
}

#[cfg(test)]
mod tests {
    use std::arch::naked_asm;

    use super::*;

    /// A loop that writes all flags but the carry; behind it the carry is written.
    #[unsafe(naked)]
    unsafe extern "C" fn keeps_a_dead_carry() {
        naked_asm!("2:", "inc rax", "jz 3f", "inc rdx", "3:", "dec rcx", "jnz 2b", "xor eax, eax", "ret")
    }

    /// The same where the carry is read.
    #[unsafe(naked)]
    unsafe extern "C" fn keeps_a_live_carry() {
        naked_asm!("2:", "inc rax", "jz 3f", "inc rdx", "3:", "dec rcx", "jnz 2b", "setc al", "ret")
    }

    #[test]
    fn a_way_that_comes_back_reads_nothing() {
        let regions = Regions::new(Vec::new()).expect("maps");
        let mut liveness = Liveness::default();
        let of = |function: unsafe extern "C" fn()| function as usize as u64;
        for (function, live) in [(of(keeps_a_dead_carry), false), (of(keeps_a_live_carry), true)] {
            // The second answer is remembered.
            for _ in 0..2 {
                assert_eq!(liveness.flags_matter(&regions, function), live);
                assert_eq!(liveness.follow(&regions, &[(function, RflagsBits::CF)]), live);
            }
        }
        liveness.forget();
        assert!(liveness.dead.is_empty() && liveness.live.is_empty());
    }
}
