//! Parallel regions of the LLVM runtime, whose functions have as many arguments as the program likes.

use std::arch::naked_asm;

use super::{entries::way, notes};
use carom_base_stream::Act;

/// `__kmpc_fork_call(place, count, part, arguments…)`: the runtime calls `part(thread, bound, arguments…)` in each thread. Has it
/// call [`part`] with one argument instead, which is the region's name: where the program's lie, in this frame.
///
/// ```text
///   region  0 part   8 count   16, 24, 32 arguments 1 to 3   40 place   48   56 return address   64... arguments 4 and on
/// ```
#[unsafe(naked)]
#[unsafe(link_section = "carom_led_on")]
pub unsafe extern "C" fn fork<const INDEX: usize>() {
    naked_asm!(
        ".cfi_startproc",
        "sub rsp, 56",
        ".cfi_adjust_cfa_offset 56",
        "mov [rsp], rdx",
        "mov [rsp + 8], rsi",
        "mov [rsp + 16], rcx",
        "mov [rsp + 24], r8",
        "mov [rsp + 32], r9",
        "mov [rsp + 40], rdi",
        "mov rdi, rsp",
        "mov esi, {fork}",
        "call {before}",
        "mov rdi, [rsp + 40]",
        "mov esi, 1",
        "lea rdx, [rip + {part}]",
        "mov rcx, rsp",
        // None of the variable arguments lies in a vector register.
        "xor eax, eax",
        "call {way}",
        "mov rdi, rsp",
        "mov esi, {merge}",
        "call {before}",
        "add rsp, 56",
        ".cfi_adjust_cfa_offset -56",
        "ret",
        ".cfi_endproc",
        fork = const Act::Fork as u32,
        merge = const Act::Merge as u32,
        before = sym notes::before,
        part = sym part,
        way = sym way::<INDEX>,
    )
}

/// A thread's part of the region that its third argument names. Where the program has fewer arguments, what is no argument is
/// passed on, and not read.
#[unsafe(naked)]
#[unsafe(link_section = "carom_led_on")]
unsafe extern "C" fn part() {
    naked_asm!(
        ".cfi_startproc",
        "push rbp",
        ".cfi_adjust_cfa_offset 8",
        ".cfi_rel_offset rbp, 0",
        "mov rbp, rsp",
        ".cfi_def_cfa_register rbp",
        "push rbx",
        ".cfi_offset rbx, -24",
        "push r12",
        ".cfi_offset r12, -32",
        "push r13",
        ".cfi_offset r13, -40",
        "push r14",
        ".cfi_offset r14, -48",
        "mov r12, rdi",
        "mov r13, rsi",
        "mov rbx, rdx",
        "mov rdi, rdx",
        "call {enter}",
        "mov r14, rax",
        // With the two of the runtime, four fit in registers. The others go on the stack, the last one first.
        "mov ecx, [rbx + 8]",
        "sub ecx, 4",
        "jle 3f",
        "lea rax, [rcx * 8 + 8]",
        "and rax, -16",
        "sub rsp, rax",
        "2:",
        "mov rax, [rbx + rcx * 8 + 64]",
        "mov [rsp + rcx * 8 - 8], rax",
        "dec ecx",
        "jnz 2b",
        "3:",
        "mov rdi, r12",
        "mov rsi, r13",
        "mov rdx, [rbx + 16]",
        "mov rcx, [rbx + 24]",
        "mov r8, [rbx + 32]",
        "mov r9, [rbx + 64]",
        "call [rbx]",
        "mov rdi, rbx",
        "mov rsi, r14",
        "call {leave}",
        "lea rsp, [rbp - 32]",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbx",
        "pop rbp",
        ".cfi_def_cfa rsp, 8",
        "ret",
        ".cfi_endproc",
        enter = sym notes::enter,
        leave = sym notes::leave,
    )
}
