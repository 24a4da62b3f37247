//! Jumps through the linkage table (ELF's PLT and GOT): where they lead.

use iced_x86::{Code, Instruction};

use super::source;
use crate::memory::{Regions, program};

/// Where `jump` leads, if it goes through an entry of the global offset table that no longer changes. The dynamic
/// linker writes an entry once: from the look-up of the function, which destroys the flags, to the function itself.
/// The program may change other pointers in memory at any time.
pub fn target(regions: &Regions, jump: &Instruction) -> Option<u64> {
    if jump.code() != Code::Jmp_rm64 || !jump.is_ip_rel_memory_operand() {
        return None;
    }
    let slot = jump.ip_rel_memory_address();
    let fixed = regions.is_constant(slot)
        || is_of_linkage_table(jump.next_ip(), source::original(regions, jump.next_ip())?);
    program::read(slot).filter(|_| fixed)
}

/// Whether a jump in front of `pc`, where these bytes are, belongs to an entry of the linkage table. The linker makes
/// entries of 16 bytes, in which the jump is followed by `push index; jmp first entry` or, in the first entry, by
/// nothing.
fn is_of_linkage_table(pc: u64, code: &[u8]) -> bool {
    const ENTRY_BYTES: u64 = 16;
    const PUSH_BYTES: usize = 5;
    const PUSH: u8 = 0x68;
    const JMP: u8 = 0xe9;
    /// The padding that linkers use (Intel SDM volume 2, NOP).
    const FILLINGS: [&[u8]; 3] =
        [&[0x0f, 0x1f, 0x40, 0x00], &[0x0f, 0x1f, 0x44, 0x00, 0x00], &[0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00]];
    let rest = code.get(..(pc.next_multiple_of(ENTRY_BYTES) - pc) as usize).unwrap_or_default();
    let pushes = rest.first() == Some(&PUSH) && rest.get(PUSH_BYTES) == Some(&JMP);
    pushes || FILLINGS.contains(&rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_told_by_what_follows_the_jump() {
        let at = |pc, code: &[u8]| is_of_linkage_table(pc, code);
        // Lazily bound: the jump, 6 bytes, then push 3; jmp.
        assert!(at(0x1026, &[0x68, 3, 0, 0, 0, 0xe9, 0xb0, 0xff, 0xff, 0xff, 0xff]));
        // The second table, for processors with indirect-branch tracking: endbr64; jmp; a nop to the end of the
        // entry.
        assert!(at(0x102a, &[0x66, 0x0f, 0x1f, 0x44, 0, 0, 0xf3]));
        assert!(at(0x102b, &[0x0f, 0x1f, 0x44, 0, 0, 0xf3]));
        // The first entry.
        assert!(at(0x102c, &[0x0f, 0x1f, 0x40, 0, 0xff]));
        // A program's own jump table, followed by a return or by the next function.
        assert!(!at(0x1026, &[0xc3, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90]));
        assert!(!at(0x1020, &[0x68, 3, 0, 0, 0, 0xe9]));
        assert!(!at(0x1026, &[0x68]));
    }
}
