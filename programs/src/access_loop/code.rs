//! The loops, and where their accesses are.

use std::arch::naked_asm;

use super::Kind;

/// Bytes of a word and of the distance between two.
pub const WORD_BYTES: u64 = 8;

/// Accesses of the longest loop.
pub const MOST_ACCESSES: usize = 8;

/// A loop of `N` accesses: to the words from `words` on, one after the other, `iterations` times.
pub type Loop = unsafe extern "sysv64" fn(words: *mut u64, iterations: u64);

/// Bytes from one access to the next: `mov rax, [rdi]` or `mov [rdi], rsi`, three each, and `add rdi, 8`, four. The
/// first one is the first instruction of its function.
pub const STEP_BYTES: u64 = 3 + 4;

/// The loop of `accesses` of this kind; `None` where there is none.
pub fn find(kind: Kind, accesses: usize) -> Option<Loop> {
    macro_rules! lengths {
        ($kernel:ident) => {
            [
                $kernel::<1>,
                $kernel::<2>,
                $kernel::<3>,
                $kernel::<4>,
                $kernel::<5>,
                $kernel::<6>,
                $kernel::<7>,
                $kernel::<8>,
            ]
        };
    }
    let loops: [Loop; MOST_ACCESSES] = match kind {
        Kind::Load => lengths!(loads),
        Kind::Store => lengths!(stores),
        Kind::Mixed => lengths!(mixed),
    };
    loops.get(accesses.checked_sub(1)?).copied()
}

/// # Safety
/// `N` words from `words` on are readable; `iterations` is not 0.
#[unsafe(naked)]
unsafe extern "sysv64" fn loads<const N: usize>(words: *mut u64, iterations: u64) {
    naked_asm!(
        "2:", ".rept {n}", "mov rax, [rdi]", "add rdi, 8", ".endr",
        "sub rdi, 8 * {n}", "dec rsi", "jnz 2b", "ret",
        n = const N,
    )
}

/// # Safety
/// `N` words from `words` on are writable; `iterations` is not 0.
#[unsafe(naked)]
unsafe extern "sysv64" fn stores<const N: usize>(words: *mut u64, iterations: u64) {
    naked_asm!(
        "2:", ".rept {n}", "mov [rdi], rsi", "add rdi, 8", ".endr",
        "sub rdi, 8 * {n}", "dec rsi", "jnz 2b", "ret",
        n = const N,
    )
}

/// A load, a store, a load, ...
///
/// # Safety
/// As for `stores`.
#[unsafe(naked)]
unsafe extern "sysv64" fn mixed<const N: usize>(words: *mut u64, iterations: u64) {
    naked_asm!(
        "2:",
        ".rept {pairs}", "mov rax, [rdi]", "add rdi, 8", "mov [rdi], rsi", "add rdi, 8", ".endr",
        ".rept {rest}", "mov rax, [rdi]", "add rdi, 8", ".endr",
        "sub rdi, 8 * {n}", "dec rsi", "jnz 2b", "ret",
        pairs = const N / 2, rest = const N % 2, n = const N,
    )
}
