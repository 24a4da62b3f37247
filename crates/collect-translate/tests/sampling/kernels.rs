//! Loops with known accesses. `a`: an address; `b`: the number of rounds.

use std::arch::naked_asm;

/// Bytes of each step of [`loads`], [`stores`] and [`updates`]: `mov rax, [rdi]` or the like, and `add rdi, 8`.
pub const STEP_BYTES: u64 = 3 + 4;

/// `b` times: `N` loads, of 8 bytes each, one after the other.
#[unsafe(naked)]
pub unsafe extern "C" fn loads<const N: usize>(_a: u64, _b: u64) -> u64 {
    naked_asm!(
        "2:", ".rept {n}", "mov rax, [rdi]", "add rdi, 8", ".endr",
        "sub rdi, 8 * {n}", "dec rsi", "jnz 2b", "ret",
        n = const N,
    )
}

/// The same with stores.
#[unsafe(naked)]
pub unsafe extern "C" fn stores<const N: usize>(_a: u64, _b: u64) -> u64 {
    naked_asm!(
        "2:", ".rept {n}", "mov [rdi], rsi", "add rdi, 8", ".endr",
        "sub rdi, 8 * {n}", "dec rsi", "jnz 2b", "ret",
        n = const N,
    )
}

/// The same with instructions that read and write.
#[unsafe(naked)]
pub unsafe extern "C" fn updates<const N: usize>(_a: u64, _b: u64) -> u64 {
    naked_asm!(
        "2:", ".rept {n}", "add [rdi], rsi", "add rdi, 8", ".endr",
        "sub rdi, 8 * {n}", "dec rsi", "jnz 2b", "ret",
        n = const N,
    )
}

/// The number of elements in each run of the repeated instructions below.
pub const ELEMENTS: usize = 64;

/// `b` times: writes [`ELEMENTS`] words from `a` on, each the times that are left.
#[unsafe(naked)]
pub unsafe extern "C" fn fill(_a: u64, _b: u64) -> u64 {
    naked_asm!(
        "mov rdx, rdi",
        "2:", "mov rdi, rdx", "mov ecx, {n}", "mov rax, rsi", "rep stosq", "dec rsi", "jnz 2b", "ret",
        n = const ELEMENTS,
    )
}

/// `b` times: copies [`ELEMENTS`] words from `a` to the words after them, the last one first.
#[unsafe(naked)]
pub unsafe extern "C" fn copy_backwards(_a: u64, _b: u64) -> u64 {
    naked_asm!(
        "mov rdx, rdi", "mov r8, rsi", "std",
        "2:", "lea rsi, [rdx + 8 * {n} - 8]", "lea rdi, [rdx + 16 * {n} - 8]", "mov ecx, {n}", "rep movsq",
        "dec r8", "jnz 2b", "cld", "ret",
        n = const ELEMENTS,
    )
}

/// `b` times: compares [`ELEMENTS`] half words from `a` on with those after them, until two differ.
#[unsafe(naked)]
pub unsafe extern "C" fn compare(_a: u64, _b: u64) -> u64 {
    naked_asm!(
        "mov rdx, rdi", "mov r8, rsi",
        "2:", "mov rsi, rdx", "lea rdi, [rdx + 4 * {n}]", "mov ecx, {n}", "repe cmpsd",
        "dec r8", "jnz 2b", "ret",
        n = const ELEMENTS,
    )
}

/// `b` times: searches for a zero among the bytes from `a` on, without a limit.
#[unsafe(naked)]
pub unsafe extern "C" fn length(_a: u64, _b: u64) -> u64 {
    naked_asm!(
        "mov rdx, rdi",
        "2:",
        "mov rdi, rdx",
        "xor eax, eax",
        "mov rcx, -1",
        "repne scasb",
        "sub rsi, 1",
        "jnz 2b",
        "ret",
    )
}
