//! What runs in place of a library's function. `INDEX`: its place on the list. `WHAT`: what is noted ([`What`](super::notes::What)).

use std::arch::naked_asm;

use super::{LIBRARY, notes};
use carom_base_stream::Act;

/// Leads on to the library's function. Where code is translated, that runs in its place.
#[unsafe(naked)]
#[unsafe(link_section = "carom_led_on")]
pub unsafe extern "C" fn way<const INDEX: usize>() {
    naked_asm!("jmp qword ptr [rip + {library} + 8 * {index}]", library = sym LIBRARY, index = const INDEX)
}

/// Notes, and goes on with all arguments.
#[unsafe(naked)]
#[unsafe(link_section = "carom_led_on")]
pub unsafe extern "C" fn before<const INDEX: usize, const WHAT: u32>() {
    naked_asm!(
        ".cfi_startproc",
        "push rdi",
        ".cfi_adjust_cfa_offset 8",
        "push rsi",
        ".cfi_adjust_cfa_offset 8",
        "push rdx",
        ".cfi_adjust_cfa_offset 8",
        "mov esi, {what}",
        "call {before}",
        "pop rdx",
        ".cfi_adjust_cfa_offset -8",
        "pop rsi",
        ".cfi_adjust_cfa_offset -8",
        "pop rdi",
        ".cfi_adjust_cfa_offset -8",
        "jmp {way}",
        ".cfi_endproc",
        what = const WHAT,
        before = sym notes::before,
        way = sym way::<INDEX>,
    )
}

/// Notes once the function has returned. One that jumps back to its own begin, as the C library's does to wait for a spin lock,
/// returns to here already: it goes on.
#[unsafe(naked)]
#[unsafe(link_section = "carom_led_on")]
pub unsafe extern "C" fn after<const INDEX: usize, const WHAT: u32>() {
    naked_asm!(
        ".cfi_startproc",
        "lea rax, [rip + 2f]",
        "cmp [rsp], rax",
        "je {way}",
        "sub rsp, 24",
        ".cfi_adjust_cfa_offset 24",
        "mov [rsp], rdi",
        "mov [rsp + 8], rdx",
        "call {way}",
        "2:",
        "mov rdi, [rsp]",
        "mov rcx, [rsp + 8]",
        "mov [rsp], rax",
        "mov esi, {what}",
        "mov edx, eax",
        "call {after}",
        "mov rax, [rsp]",
        "add rsp, 24",
        ".cfi_adjust_cfa_offset -24",
        "ret",
        ".cfi_endproc",
        what = const WHAT,
        after = sym notes::after,
        way = sym way::<INDEX>,
    )
}

/// As [`after`], for a function with seven arguments, of which the last one lies on the stack and is the object.
#[unsafe(naked)]
#[unsafe(link_section = "carom_led_on")]
pub unsafe extern "C" fn after_seventh<const INDEX: usize, const WHAT: u32>() {
    naked_asm!(
        ".cfi_startproc",
        "mov rax, [rsp + 8]",
        "sub rsp, 24",
        ".cfi_adjust_cfa_offset 24",
        "mov [rsp], rax",
        "mov [rsp + 8], rax",
        "call {way}",
        "mov rdi, [rsp + 8]",
        "mov [rsp], rax",
        "mov esi, {what}",
        "mov edx, eax",
        "call {after}",
        "mov rax, [rsp]",
        "add rsp, 24",
        ".cfi_adjust_cfa_offset -24",
        "ret",
        ".cfi_endproc",
        what = const WHAT,
        after = sym notes::after,
        way = sym way::<INDEX>,
    )
}

/// Notes the arrival at a barrier, and once the function has returned, the departure. `WHAT`: its object. Has six arguments at
/// most.
#[unsafe(naked)]
#[unsafe(link_section = "carom_led_on")]
pub unsafe extern "C" fn around<const INDEX: usize, const WHAT: u32, const THEN: u32>() {
    naked_asm!(
        ".cfi_startproc",
        "sub rsp, 56",
        ".cfi_adjust_cfa_offset 56",
        "mov [rsp], rdi",
        "mov [rsp + 8], rsi",
        "mov [rsp + 16], rdx",
        "mov [rsp + 24], rcx",
        "mov [rsp + 32], r8",
        "mov [rsp + 40], r9",
        "mov esi, {what}",
        "call {before}",
        "mov rdi, [rsp]",
        "mov rsi, [rsp + 8]",
        "mov rdx, [rsp + 16]",
        "mov rcx, [rsp + 24]",
        "mov r8, [rsp + 32]",
        "mov r9, [rsp + 40]",
        "call {way}",
        "mov rdi, [rsp]",
        "mov rcx, [rsp + 16]",
        "mov [rsp], rax",
        "mov esi, {then}",
        "mov edx, eax",
        "call {after}",
        "mov rax, [rsp]",
        "add rsp, 56",
        ".cfi_adjust_cfa_offset -56",
        "ret",
        ".cfi_endproc",
        what = const WHAT,
        then = const THEN,
        before = sym notes::before,
        after = sym notes::after,
        way = sym way::<INDEX>,
    )
}

/// Notes that the thread waits for a condition (first argument) and gives a lock back (second), and then the reverse. Has four
/// arguments at most.
#[unsafe(naked)]
#[unsafe(link_section = "carom_led_on")]
pub unsafe extern "C" fn wait<const INDEX: usize>() {
    naked_asm!(
        ".cfi_startproc",
        "sub rsp, 40",
        ".cfi_adjust_cfa_offset 40",
        "mov [rsp], rdi",
        "mov [rsp + 8], rsi",
        "mov [rsp + 16], rdx",
        "mov [rsp + 24], rcx",
        "call {before}",
        "mov rdi, [rsp]",
        "mov rsi, [rsp + 8]",
        "mov rdx, [rsp + 16]",
        "mov rcx, [rsp + 24]",
        "call {way}",
        "mov rdi, [rsp]",
        "mov rsi, [rsp + 8]",
        "mov edx, eax",
        "mov [rsp], rax",
        "call {after}",
        "mov rax, [rsp]",
        "add rsp, 40",
        ".cfi_adjust_cfa_offset -40",
        "ret",
        ".cfi_endproc",
        before = sym notes::before_wait,
        after = sym notes::after_wait,
        way = sym way::<INDEX>,
    )
}

/// A parallel region of the GNU runtime: has the runtime call [`part`] in each thread, with what the program wants to be called
/// and its argument (the first two arguments). The region's name is where these lie, in this frame. The function has up to
/// eight arguments, of which two lie on the stack.
#[unsafe(naked)]
#[unsafe(link_section = "carom_led_on")]
pub unsafe extern "C" fn region<const INDEX: usize>() {
    naked_asm!(
        ".cfi_startproc",
        "sub rsp, 72",
        ".cfi_adjust_cfa_offset 72",
        "mov [rsp + 16], rdi",
        "mov [rsp + 24], rsi",
        "mov [rsp + 32], rdx",
        "mov [rsp + 40], rcx",
        "mov [rsp + 48], r8",
        "mov [rsp + 56], r9",
        "lea rdi, [rsp + 16]",
        "mov esi, {fork}",
        "call {before}",
        // What would be the two arguments on the stack, be they or not.
        "mov rax, [rsp + 80]",
        "mov [rsp], rax",
        "mov rax, [rsp + 88]",
        "mov [rsp + 8], rax",
        "lea rdi, [rip + {part}]",
        "lea rsi, [rsp + 16]",
        "mov rdx, [rsp + 32]",
        "mov rcx, [rsp + 40]",
        "mov r8, [rsp + 48]",
        "mov r9, [rsp + 56]",
        "call {way}",
        "mov [rsp + 64], rax",
        "lea rdi, [rsp + 16]",
        "mov esi, {merge}",
        "call {before}",
        "mov rax, [rsp + 64]",
        "add rsp, 72",
        ".cfi_adjust_cfa_offset -72",
        "ret",
        ".cfi_endproc",
        fork = const Act::Fork as u32,
        merge = const Act::Merge as u32,
        before = sym notes::before,
        part = sym part,
        way = sym way::<INDEX>,
    )
}

/// A thread's part of the region that its argument names.
#[unsafe(naked)]
#[unsafe(link_section = "carom_led_on")]
unsafe extern "C" fn part() {
    naked_asm!(
        ".cfi_startproc",
        "push rbx",
        ".cfi_adjust_cfa_offset 8",
        ".cfi_rel_offset rbx, 0",
        "sub rsp, 16",
        ".cfi_adjust_cfa_offset 16",
        "mov rbx, rdi",
        "call {enter}",
        "mov [rsp], rax",
        "mov rdi, [rbx + 8]",
        "call [rbx]",
        "mov rdi, rbx",
        "mov rsi, [rsp]",
        "call {leave}",
        "add rsp, 16",
        ".cfi_adjust_cfa_offset -16",
        "pop rbx",
        ".cfi_adjust_cfa_offset -8",
        ".cfi_restore rbx",
        "ret",
        ".cfi_endproc",
        enter = sym notes::enter,
        leave = sym notes::leave,
    )
}
