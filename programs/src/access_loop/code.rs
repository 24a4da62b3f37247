//! The loops, and the places of their accesses.

use std::arch::{is_x86_feature_detected, naked_asm};

use super::Kind;

/// Bytes of a word, and of a lane of a vector.
const WORD_BYTES: u64 = 8;
const LANE_BYTES: u64 = 4;

/// Accesses of a kind in the longest loop.
pub const MOST_ACCESSES: usize = 8;

/// The number of words that a loop works on: those of a copy's source, followed by its destination.
pub const WORDS: usize = 2 * MOST_ACCESSES;

/// A loop of `N` accesses to consecutive words from `words` on, which runs `iterations` times.
pub type Loop = unsafe extern "sysv64" fn(words: *mut u64, iterations: u64);

/// Bytes from one access to the next: `mov rax, [rdi]` or `mov [rdi], rsi`, three each, and `add rdi, 8`, four. The
/// first access is the first instruction of its function.
const STEP_BYTES: u64 = 3 + 4;

/// Bytes of the instructions in front of the single one that makes all accesses of a loop: `mov` of whole registers
/// takes three, of a constant five, `lea` and vector operations four, loads relative to the instruction eight.
const BEFORE_FILL: u64 = 3 + 3 + 5;
const BEFORE_COPY: u64 = 3 + 3 + 3 + 4 + 5;
const BEFORE_GATHER: u64 = 8 + 8 + 4;
const BEFORE_MASKED: u64 = 8 + 4;

/// An access of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// From the function's start to its instruction, in bytes.
    pub instruction: u64,
    /// From the first word, in bytes.
    pub offset: u64,
    /// Bytes.
    pub width: u64,
    pub stores: bool,
}

/// The accesses of the loop of `accesses` of this kind.
pub fn places(kind: Kind, accesses: u64) -> Vec<Place> {
    let each = |place: &dyn Fn(u64) -> Place| (0..accesses).map(place).collect::<Vec<_>>();
    let step =
        |n, stores| Place { instruction: n * STEP_BYTES, offset: n * WORD_BYTES, width: WORD_BYTES, stores };
    let element = |instruction, n, stores| Place { instruction, ..step(n, stores) };
    let lane =
        |instruction, n, stores| Place { instruction, offset: n * LANE_BYTES, width: LANE_BYTES, stores };
    match kind {
        Kind::Load => each(&|n| step(n, false)),
        Kind::Store => each(&|n| step(n, true)),
        Kind::Mixed => each(&|n| step(n, !n.is_multiple_of(2))),
        Kind::Fill => each(&|n| element(BEFORE_FILL, n, true)),
        Kind::Copy => {
            let mut copied = each(&|n| element(BEFORE_COPY, n, false));
            copied.extend(each(&|n| element(BEFORE_COPY, accesses + n, true)));
            copied
        }
        Kind::Gather => each(&|n| lane(BEFORE_GATHER, n, false)),
        Kind::Masked => each(&|n| lane(BEFORE_MASKED, n, true)),
    }
}

/// The loop of `accesses` of this kind; `None` where there is none, or the processor lacks its instructions.
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
    if matches!(kind, Kind::Gather | Kind::Masked) && !is_x86_feature_detected!("avx2") {
        return None;
    }
    let loops: [Loop; MOST_ACCESSES] = match kind {
        Kind::Load => lengths!(loads),
        Kind::Store => lengths!(stores),
        Kind::Mixed => lengths!(mixed),
        Kind::Fill => lengths!(fill),
        Kind::Copy => lengths!(copy),
        Kind::Gather => lengths!(gather),
        Kind::Masked => lengths!(masked),
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

/// # Safety
/// As for `stores`.
#[unsafe(naked)]
unsafe extern "sysv64" fn fill<const N: usize>(words: *mut u64, iterations: u64) {
    naked_asm!(
        "mov rdx, rdi",
        "2:", "mov rdi, rdx", "mov ecx, {n}", "rep stosq", "dec rsi", "jnz 2b", "ret",
        n = const N,
    )
}

/// Copies `N` words to the words that follow them.
///
/// # Safety
/// Twice `N` words from `words` on are writable; `iterations` is not 0.
#[unsafe(naked)]
unsafe extern "sysv64" fn copy<const N: usize>(words: *mut u64, iterations: u64) {
    naked_asm!(
        "mov rdx, rdi", "mov r8, rsi",
        "2:", "mov rsi, rdx", "lea rdi, [rdx + 8 * {n}]", "mov ecx, {n}", "rep movsq", "dec r8", "jnz 2b", "ret",
        n = const N,
    )
}

/// Gathers `N` half words with the first lanes of eight.
///
/// # Safety
/// As for `loads`. The processor has AVX2.
#[unsafe(naked)]
unsafe extern "sysv64" fn gather<const N: usize>(words: *mut u64, iterations: u64) {
    naked_asm!(
        "vmovdqu ymm0, [rip + 3f]", "vmovdqu ymm3, [rip + 4f]",
        "2:", "vmovdqa ymm2, ymm3", "vpgatherdd ymm1, [rdi + 4 * ymm0], ymm2", "dec rsi", "jnz 2b",
        "vzeroupper", "ret",
        "3:", ".long 0, 1, 2, 3, 4, 5, 6, 7",
        "4:", ".rept {n}", ".long -1", ".endr", ".rept {rest}", ".long 0", ".endr",
        n = const N, rest = const MOST_ACCESSES - N,
    )
}

/// Stores the first `N` lanes of eight.
///
/// # Safety
/// As for `stores`. The processor has AVX2.
#[unsafe(naked)]
unsafe extern "sysv64" fn masked<const N: usize>(words: *mut u64, iterations: u64) {
    naked_asm!(
        "vmovdqu ymm3, [rip + 4f]", "vpxor xmm1, xmm1, xmm1",
        "2:", "vpmaskmovd [rdi], ymm3, ymm1", "dec rsi", "jnz 2b",
        "vzeroupper", "ret",
        "4:", ".rept {n}", ".long -1", ".endr", ".rept {rest}", ".long 0", ".endr",
        n = const N, rest = const MOST_ACCESSES - N,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `rep stosq`, `rep movsq`, `vpgatherdd ymm1, [rdi+ymm0*4], ymm2` and `vpmaskmovd [rdi], ymm3, ymm1`.
    #[test]
    fn instructions_are_where_they_are_said_to_be() {
        let known: [(Kind, &[u8]); 4] = [
            (Kind::Fill, &[0xf3, 0x48, 0xab]),
            (Kind::Copy, &[0xf3, 0x48, 0xa5]),
            (Kind::Gather, &[0xc4, 0xe2, 0x6d, 0x90, 0x0c, 0x87]),
            (Kind::Masked, &[0xc4, 0xe2, 0x65, 0x8e, 0x0f]),
        ];
        for (kind, expected) in known {
            for accesses in 1..=MOST_ACCESSES {
                let Some(function) = find(kind, accesses) else { continue };
                let place = places(kind, accesses as u64)[0].instruction as usize;
                let code = (function as *const u8).wrapping_add(place);
                // SAFETY: the function's own code.
                let found = unsafe { std::slice::from_raw_parts(code, expected.len()) };
                assert_eq!(found, expected, "{kind:?} of {accesses}");
            }
        }
    }
}
