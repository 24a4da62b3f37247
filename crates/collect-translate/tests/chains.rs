//! Targets of indirect transfers that share an entry of the tables, because their low 16 bits are the same.
//!
//! One engine serves a process, so all tests share it, with exact counts.

mod support;

use std::arch::{global_asm, naked_asm};

use support::counted;

// Four functions at a distance of 64 KiB: as targets of calls, of a return and of a jump they share entries. Each
// reads a flag and RCX of its caller, and the flag that is set in front of its jump.
global_asm!(
    ".pushsection .text.carom_chains, \"ax\", @progbits",
    ".p2align 4",
    "carom_chains_one: mov eax, 1",
    "ret",
    ".irp number, 0, 1, 2, 3",
    ".p2align 16",
    "carom_chains_\\number: adc r8, rcx",
    "call carom_chains_one",
    "lea rcx, [rip + 2f]",
    "stc",
    "jmp rcx",
    "ud2",
    "2: adc rax, \\number",
    "ret",
    ".endr",
    ".popsection",
);

/// Calls each of them, `a` times.
#[unsafe(naked)]
unsafe extern "C" fn in_turns(_a: u64, _b: u64) -> u64 {
    naked_asm!(
        "push rbx",
        "push r12",
        "mov rbx, rdi",
        "xor r12d, r12d",
        "xor r8d, r8d",
        "3:",
        ".irp number, 0, 1, 2, 3",
        "lea rax, [rip + carom_chains_\\number]",
        "mov ecx, 7",
        "stc",
        "call rax",
        "add r12, rax",
        ".endr",
        "dec rbx",
        "jnz 3b",
        "lea rax, [r12 + r8]",
        "pop r12",
        "pop rbx",
        "ret",
    )
}

/// In a round each function adds 7 and the flag to R8, and returns 1, the flag and its number: 4 * 8 + (2 + 3 + 4 + 5).
/// It has 9 instructions with those of the one it calls, and 5 around its call; 2 more end the round.
#[test]
fn targets_that_share_an_entry_are_told_apart() {
    const ROUNDS: u64 = 1000;
    let (result, totals) = counted(in_turns, ROUNDS, 0);
    assert_eq!(result, 46 * ROUNDS);
    assert_eq!(totals.instructions, 5 + (4 * 14 + 2) * ROUNDS as i64 + 4);
    assert_eq!((totals.calls, totals.returns), (8 * ROUNDS as i64, 8 * ROUNDS as i64 + 1));
}
