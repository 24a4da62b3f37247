//! The passage from the cache into the dispatcher.

use std::{arch::naked_asm, mem::offset_of};

use super::dispatch::dispatch_exit;
use crate::{
    blocks::passages::{ALWAYS_SET, RAX, SCRATCH, VECTORS, proceed},
    lane::slots::Slots,
};

/// The SSE control register for the engine's own code: all exceptions masked, rounding to nearest (Intel SDM volume
/// 1, 10.2.3). The program's value is saved with its vectors. (The x87 control word is not used.)
static CONTROL_OF_OURS: u32 = 0x1f80;

/// The signal set with everything in it.
static EVERY_SIGNAL: u64 = u64::MAX;

/// Exits arrive here by [`Slots::dispatch`], with RAX's value in scratch word A and the address of the `Exit` in RAX.
#[unsafe(naked)]
#[unsafe(link_section = "carom_passages")]
pub unsafe extern "C" fn dispatch() {
    naked_asm!(
        "mov gs:[{exit}], rax",
        "mov rax, gs:[{scratch}]",
        "mov gs:[{rax}], rax",
        "mov gs:[{rax} + 8], rcx",
        "mov gs:[{rax} + 16], rdx",
        "mov gs:[{rax} + 24], rbx",
        "mov gs:[{rax} + 32], rsp",
        "mov gs:[{rax} + 40], rbp",
        "mov gs:[{rax} + 48], rsi",
        "mov gs:[{rax} + 56], rdi",
        "mov gs:[{rax} + 64], r8",
        "mov gs:[{rax} + 72], r9",
        "mov gs:[{rax} + 80], r10",
        "mov gs:[{rax} + 88], r11",
        "mov gs:[{rax} + 96], r12",
        "mov gs:[{rax} + 104], r13",
        "mov gs:[{rax} + 112], r14",
        "mov gs:[{rax} + 120], r15",
        "mov qword ptr gs:[{inside}], 1",
        "mov edi, 2", // SIG_SETMASK
        "lea rsi, [rip + {every}]",
        "mov rdx, gs:[{this}]",
        "lea rdx, [rdx + {mask}]",
        "mov r10d, 8",
        "mov eax, 14", // rt_sigprocmask
        "syscall",
        // No signal arrives from here on. The system call has put the flags into R11 (Intel SDM volume 2, SYSCALL).
        "mov gs:[{flags}], r11",
        "mov rsp, gs:[{stack}]",
        // Compiled code expects a clear direction flag, may access misaligned words, and may divide.
        "push {flags_of_ours}",
        "popfq",
        "mov rcx, gs:[{vectors}]",
        "mov eax, {wanted}",
        "xor edx, edx",
        "xsave64 [rcx]",
        "ldmxcsr [rip + {control}]",
        "mov rdi, gs:[{thread}]",
        "mov rsi, gs:[{exit}]",
        "call {work}",
        "jmp {proceed}",
        exit = const offset_of!(Slots, exit),
        inside = const offset_of!(Slots, inside),
        rax = const RAX,
        scratch = const SCRATCH,
        stack = const offset_of!(Slots, stack),
        flags = const offset_of!(Slots, flags),
        this = const offset_of!(Slots, this),
        mask = const offset_of!(Slots, mask),
        vectors = const offset_of!(Slots, vectors),
        thread = const offset_of!(Slots, thread),
        wanted = const VECTORS,
        every = sym EVERY_SIGNAL,
        flags_of_ours = const ALWAYS_SET,
        control = sym CONTROL_OF_OURS,
        work = sym dispatch_exit,
        proceed = sym proceed,
    )
}
