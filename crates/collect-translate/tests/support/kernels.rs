//! Functions with known instructions.

use std::arch::{global_asm, naked_asm};

/// Adds the word at `a` ten times.
#[unsafe(naked)]
pub unsafe extern "C" fn sum(_a: u64, _b: u64) -> u64 {
    naked_asm!("xor eax, eax", "mov ecx, 10", "2:", "add rax, [rdi]", "dec rcx", "jnz 2b", "ret")
}

/// The `a`th Fibonacci number, recursively.
#[unsafe(naked)]
pub unsafe extern "C" fn fib(_a: u64, _b: u64) -> u64 {
    naked_asm!(
        "mov rax, rdi",
        "cmp rdi, 2",
        "jb 3f",
        "push rdi",
        "dec rdi",
        "call {fib}",
        "pop rdi",
        "push rax",
        "sub rdi, 2",
        "call {fib}",
        "pop rcx",
        "add rax, rcx",
        "3:",
        "ret",
        fib = sym fib,
    )
}

/// Branches for each number from `a` down: below 5, equal to 5, above; one that is never taken, and a loop of three.
#[unsafe(naked)]
pub unsafe extern "C" fn branches(_a: u64, _b: u64) -> u64 {
    naked_asm!(
        "xor eax, eax",
        "2:",
        "cmp rdi, 5",
        "jb 3f",
        "je 4f",
        "add rax, 10",
        "jmp 5f",
        "3:",
        "add rax, 1",
        "jmp 5f",
        "4:",
        "add rax, 100",
        "5:",
        "mov ecx, 3",
        "jrcxz 2b",
        "6:",
        "loop 6b",
        "dec rdi",
        "jnz 2b",
        "ret",
    )
}

/// `a` rounds of a loop whose head, and the block after it, both follow a branch and are jumped to as well.
#[unsafe(naked)]
pub unsafe extern "C" fn followers(_a: u64, _b: u64) -> u64 {
    naked_asm!("xor eax, eax", "test rdi, rdi", "jz 3f", "2:", "inc rax", "dec rdi", "jnz 2b", "3:", "ret")
}

/// `a` rounds, in each of which one branch depends on the round's number and `b`: without common bits it falls through to two
/// instructions, otherwise it jumps to one.
#[unsafe(naked)]
pub unsafe extern "C" fn leans(_a: u64, _b: u64) -> u64 {
    naked_asm!(
        "xor eax, eax",
        "xor ecx, ecx",
        "2:",
        "test rcx, rsi",
        "jnz 3f",
        "add rax, 2",
        "jmp 4f",
        "3:",
        "add rax, 1",
        "4:",
        "inc rcx",
        "cmp rcx, rdi",
        "jne 2b",
        "ret",
    )
}

/// [`leans`] with the first two words at `a`, as often as the third one says, and a system call that leaves the cache after each time.
#[unsafe(naked)]
pub unsafe extern "C" fn leans_often(_a: u64, _b: u64) -> u64 {
    naked_asm!(
        "push rbx",
        "push r12",
        "mov rbx, rdi",
        "mov r12, [rbx + 16]",
        "2:",
        "mov rdi, [rbx]",
        "mov rsi, [rbx + 8]",
        "call {leans}",
        "mov eax, {munmap}",
        "xor edi, edi",
        "xor esi, esi",
        "syscall",
        "dec r12",
        "jnz 2b",
        "pop r12",
        "pop rbx",
        "ret",
        leans = sym leans,
        munmap = const libc::SYS_munmap,
    )
}

/// Writes `b` times 'x' at `a`.
#[unsafe(naked)]
pub unsafe extern "C" fn fill(_a: u64, _b: u64) -> u64 {
    naked_asm!("mov eax, 'x'", "mov rcx, rsi", "rep stosb", "ret")
}

/// Compares 8 bytes at `a` and `b`; returns how many were not compared.
#[unsafe(naked)]
pub unsafe extern "C" fn compare(_a: u64, _b: u64) -> u64 {
    naked_asm!("mov ecx, 8", "repe cmpsb", "mov rax, rcx", "ret")
}

// Whether RDI is below RSI, in the carry; and a function that preserves it.
global_asm!(
    ".pushsection .text.carom_flags, \"ax\", @progbits",
    "carom_flags_below: cmp rdi, rsi",
    "js 2f",
    "ret",
    "2: ret",
    "carom_flags_kept: mov r8, [rsp]",
    "ret",
    ".popsection",
);

/// For each number from `a` down: whether it is below 5, and three carries that are passed in other ways.
#[unsafe(naked)]
pub unsafe extern "C" fn passes_flags(_a: u64, _b: u64) -> u64 {
    naked_asm!(
        "xor eax, eax",
        "mov esi, 5",
        "2:",
        "call carom_flags_below",
        "adc rax, 0",
        "lea r9, [rip + carom_flags_kept]",
        "stc",
        "call r9",
        "adc rax, 0",
        "lea r9, [rip + 3f]",
        "push r9",
        "stc",
        "ret",
        "3:",
        "adc rax, 0",
        "lea r9, [rip + 4f]",
        "push r9",
        "stc",
        "jmp qword ptr [rsp]",
        "4:",
        "adc rax, 0",
        "pop r9",
        "dec rdi",
        "jnz 2b",
        "ret",
    )
}
