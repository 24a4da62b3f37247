//! The loops of `loops.s`, which the build script assembles: which there are, and how to run one.

use std::sync::atomic::AtomicU64;

use clap::ValueEnum;
use serde::Serialize;

use crate::padded::Padded;

/// The contended access. The numbers are those of `loops.s`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
#[repr(u64)]
pub enum Contended {
    /// `lock add [word], 1`
    LockAdd = 0,
    /// `add [word], 1`: a read-modify-write that is not atomic.
    Add = 1,
    /// `mov [word], register`
    Store = 2,
    /// `mov register, [word]`: worker-0 stores, so that there is something to contend for.
    Load = 3,
}

impl Contended {
    /// As it appears in the functions' names.
    fn name(self) -> &'static str {
        match self {
            Self::LockAdd => "lock_add",
            Self::Add => "add",
            Self::Store => "store",
            Self::Load => "load",
        }
    }
}

/// How many words a thread's private buffer has: as many as `loops.s` uses.
pub const PRIVATE_WORDS: usize = 64;

/// A thread's private buffer, on lines of its own.
pub type Private = Padded<[u64; PRIVATE_WORDS]>;

/// One loop: a row of the table that `loops.s` emits. Offsets are in bytes from the function's start.
#[repr(C)]
pub struct Row {
    function: unsafe extern "sysv64" fn(*mut u64, *mut u64, u64),
    /// Instructions per iteration, the two that close the loop included.
    pub length: u64,
    /// The contended instruction's number, from 0 to `length - 3`.
    pub position: u64,
    contended: u64,
    /// Where the loop begins.
    pub loop_offset: u64,
    /// Where the contended instruction is.
    pub contended_offset: u64,
    /// Where the function ends.
    pub size: u64,
}

/// All loops of the binary.
pub fn table() -> &'static [Row] {
    unsafe extern "C" {
        #[link_name = "carom_contended_loops"]
        static FIRST: Row;
        #[link_name = "carom_contended_loops_end"]
        static END: Row;
    }
    let (first, end) = (&raw const FIRST, &raw const END);
    let rows = (end as usize - first as usize) / size_of::<Row>();
    // SAFETY: `loops.s` lays out whole rows between the two symbols, in a section that is never written after
    // relocation; each begins with a function of the type that `Row` declares.
    unsafe { std::slice::from_raw_parts(first, rows) }
}

impl Row {
    /// Whether the loop's contended instruction is this access.
    pub fn is(&self, contended: Contended) -> bool {
        self.contended == contended as u64
    }

    /// The function's symbol.
    pub fn symbol(&self, contended: Contended) -> String {
        format!("contended_loop_{}_at_{}_{}", self.length, self.position, contended.name())
    }

    /// The function's address.
    pub fn address(&self) -> usize {
        self.function as usize
    }

    /// Runs `iterations` of the loop; nothing for 0.
    pub fn run(&self, word: &AtomicU64, private: &mut Private, iterations: u64) {
        if iterations == 0 {
            return;
        }
        // SAFETY: the code touches the word, which is atomic, `PRIVATE_WORDS` words of the buffer, which is
        // borrowed for writing, and registers that the calling convention leaves to it.
        unsafe { (self.function)(word.as_ptr(), private.as_mut_ptr(), iterations) }
    }
}

#[cfg(test)]
mod tests {
    use iced_x86::{Code, Decoder, DecoderOptions, Instruction, Mnemonic, OpKind, Register};

    use super::*;

    const ALL: [Contended; 4] = [Contended::LockAdd, Contended::Add, Contended::Store, Contended::Load];

    /// The function's instructions, each with its offset from the function's start.
    fn decode(row: &Row) -> Vec<(u64, Instruction)> {
        // SAFETY: the function's code is mapped for reading, `size` bytes long, and never written.
        let code = unsafe { std::slice::from_raw_parts(row.address() as *const u8, row.size as usize) };
        Decoder::with_ip(64, code, 0, DecoderOptions::NONE).iter().map(|i| (i.ip(), i)).collect()
    }

    fn accesses_memory(instruction: &Instruction) -> bool {
        instruction.mnemonic() != Mnemonic::Lea
            && (0..instruction.op_count()).any(|operand| instruction.op_kind(operand) == OpKind::Memory)
    }

    fn expected(contended: Contended) -> (Code, bool) {
        match contended {
            Contended::LockAdd => (Code::Add_rm64_imm8, true),
            Contended::Add => (Code::Add_rm64_imm8, false),
            Contended::Store => (Code::Mov_rm64_r64, false),
            Contended::Load => (Code::Mov_r64_rm64, false),
        }
    }

    /// From the decoded bytes only: the loop runs from the target of the one backward jump to that jump; the
    /// contended access is the only one through rdi.
    #[test]
    fn every_loop_has_its_length_and_its_contended_access_in_place() {
        assert!(table().len() > 100);
        for row in table() {
            let contended = ALL.into_iter().find(|&c| row.is(c)).unwrap();
            let name = row.symbol(contended);
            let code = decode(row);
            let jump = code.iter().position(|(_, i)| i.is_jcc_short_or_near()).unwrap();
            let top =
                code.iter().position(|&(offset, _)| offset == code[jump].1.near_branch_target()).unwrap();
            let body = &code[top..=jump];
            assert_eq!(body.len() as u64, row.length, "{name}");
            assert_eq!(body[0].0, row.loop_offset, "{name}");
            assert_eq!(code.last().unwrap().1.mnemonic(), Mnemonic::Ret, "{name}");

            let shared: Vec<usize> = (0..body.len())
                .filter(|&i| accesses_memory(&body[i].1) && body[i].1.memory_base() == Register::RDI)
                .collect();
            assert_eq!(shared, [row.position as usize], "{name}");
            let (offset, instruction) = &body[row.position as usize];
            assert_eq!(*offset, row.contended_offset, "{name}");
            assert_eq!((instruction.code(), instruction.has_lock_prefix()), expected(contended), "{name}");
        }
    }

    /// Every fourth instruction of the body is a private access, at numbers 1, 5, 9, ...: of the length - 2
    /// instructions before the loop's own two, floor(length / 4) have such a number; the contended access may
    /// take the place of one. All stay within the buffer.
    #[test]
    fn a_quarter_of_the_instructions_are_private_accesses() {
        for row in table() {
            let code = decode(row);
            let private: Vec<_> = code
                .iter()
                .filter(|(_, i)| accesses_memory(i) && i.memory_base() == Register::RSI)
                .map(|(_, i)| i.memory_displacement64() as usize)
                .collect();
            let taken = usize::from(row.position % 4 == 1);
            assert_eq!(private.len(), row.length as usize / 4 - taken);
            assert!(private.iter().all(|&at| at + size_of::<u64>() <= size_of::<[u64; PRIVATE_WORDS]>()));
        }
    }

    #[test]
    fn a_locked_loop_adds_once_per_iteration() {
        for row in table().iter().filter(|row| row.is(Contended::LockAdd)) {
            let word = AtomicU64::new(0);
            row.run(&word, &mut Padded([0; PRIVATE_WORDS]), 7);
            row.run(&word, &mut Padded([0; PRIVATE_WORDS]), 0);
            assert_eq!(word.into_inner(), 7);
        }
    }
}
