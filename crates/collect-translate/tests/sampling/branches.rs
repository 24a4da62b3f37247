//! A loop with branches that depend on its round, and what each round accesses.

use std::arch::naked_asm;

use carom_base::AccessKind::{self, Load, ReadModifyWrite, Store};

/// Words that the loop accesses, from `a` on.
pub const WORDS: usize = 12;

/// The offset of an access on the stack, which lies elsewhere.
pub const STACK: u64 = 8 * WORDS as u64;

/// `b` rounds, whose number is in RDX. Of the four lowest bits of `P` each moves one of the branches by a byte: by that, tests take them
/// for such that mostly fall through or mostly jump.
#[unsafe(naked)]
pub unsafe extern "C" fn branches<const P: u8>(_a: u64, _b: u64) -> u64 {
    naked_asm!(
        "xor edx, edx",
        "2:",
        "imul eax, edx, 0x9e3779b1", "shr eax, 16",
        ".rept {p} & 1", "nop", ".endr",
        "mov rcx, [rdi]", "test al, 7", "jz 3f",
        "mov rcx, [rdi + 8]", "mov [rdi + 16], rcx",
        "3:",
        ".rept ({p} >> 1) & 1", "nop", ".endr",
        "test al, 0x30", "jnz 4f",
        "mov rcx, [rdi + 24]",
        "4:",
        ".rept ({p} >> 2) & 1", "nop", ".endr",
        "add [rdi + 32], rdx", "test ah, 3", "jnz 5f",
        "mov rcx, [rdi + 40]", "push rdi", "lea rdi, [rdi + 72]", "mov ecx, 3", "rep stosq", "pop rdi",
        // A block without accesses.
        "5:",
        ".rept ({p} >> 3) & 1", "nop", ".endr",
        "test ah, 0x0c", "jz 6f",
        "mov rcx, [rdi + 48]",
        "6:",
        "mov rcx, [rdi + 56]", "inc edx", "sub rsi, 1", "jnz 2b", "ret",
        p = const P,
    )
}

/// The offsets of what this round accesses, in their order.
pub fn of_round(round: u64) -> Vec<(u64, AccessKind)> {
    let bits = (round as u32).wrapping_mul(0x9e37_79b1) >> 16;
    let mut all = vec![(0, Load)];
    if bits & 7 != 0 {
        all.extend([(8, Load), (16, Store)]);
    }
    if bits & 0x30 == 0 {
        all.push((24, Load));
    }
    all.push((32, ReadModifyWrite));
    if bits & 0x300 == 0 {
        all.extend([(40, Load), (STACK, Store), (72, Store), (80, Store), (88, Store), (STACK, Load)]);
    }
    if bits & 0xc00 != 0 {
        all.push((48, Load));
    }
    all.push((56, Load));
    all
}
