//! The passage from the cache into the dispatcher.

use std::{arch::naked_asm, mem::offset_of};

use super::dispatch::dispatch_exit;
use crate::{
    blocks::passages::{ALWAYS_SET, MXCSR_OFFSET, PRESENT_OFFSET, RAX, SCRATCH, SSE, XMM_OFFSET, proceed},
    lane::{
        exit::{Exit, Reason},
        slots::Slots,
    },
};

/// The SSE control register for the engine's own code: all exceptions masked, rounding to nearest (Intel SDM volume
/// 1, 10.2.3). The program's value is saved with its vectors. (The x87 control word is not used.)
static CONTROL_OF_OURS: u32 = 0x1f80;

/// The signal set with everything in it.
static EVERY_SIGNAL: u64 = u64::MAX;

/// Of which exits signals are blocked.
static BLOCKS: [u64; Reason::COUNT] = Reason::BLOCKS;

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
        // Of most exits, that signals are deferred is enough, which takes no system call. The flags are still the program's.
        "mov rcx, gs:[{exit}]",
        "mov rcx, [rcx + {reason}]",
        "lea rdx, [rip + {blocks}]",
        "mov rcx, [rdx + 8 * rcx]",
        "jrcxz 2f",
        "mov edi, 2", // SIG_SETMASK
        "lea rsi, [rip + {every}]",
        "mov rdx, gs:[{this}]",
        "lea rdx, [rdx + {mask}]",
        "mov r10d, 8",
        "mov eax, 14", // rt_sigprocmask
        "syscall",
        "mov qword ptr gs:[{blocked}], 1",
        "jmp 3f",
        "2:",
        "mov qword ptr gs:[{blocked}], 0",
        "mov qword ptr gs:[{defers}], 1",
        // No signal is handled from here on.
        "3:",
        "mov rsp, gs:[{stack}]",
        "pushfq",
        "pop qword ptr gs:[{flags}]",
        // Compiled code expects a clear direction flag, may access misaligned words, and may divide.
        "push {flags_of_ours}",
        "popfq",
        "mov rcx, gs:[{vectors}]",
        // The other vector registers stay where they are until something may use them.
        "mov qword ptr gs:[{whole}], 0",
        ".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15",
        "movaps [rcx + {xmm} + 16 * \\n], xmm\\n",
        ".endr",
        "stmxcsr [rcx + {mxcsr}]",
        "or dword ptr [rcx + {present}], {sse}",
        "ldmxcsr [rip + {control}]",
        "mov rdi, gs:[{thread}]",
        "mov rsi, gs:[{exit}]",
        "call {work}",
        "jmp {proceed}",
        exit = const offset_of!(Slots, exit),
        reason = const offset_of!(Exit, reason),
        blocks = sym BLOCKS,
        blocked = const offset_of!(Slots, blocked),
        defers = const offset_of!(Slots, defers),
        inside = const offset_of!(Slots, inside),
        rax = const RAX,
        scratch = const SCRATCH,
        stack = const offset_of!(Slots, stack),
        flags = const offset_of!(Slots, flags),
        this = const offset_of!(Slots, this),
        mask = const offset_of!(Slots, mask),
        vectors = const offset_of!(Slots, vectors),
        thread = const offset_of!(Slots, thread),
        whole = const offset_of!(Slots, whole),
        xmm = const XMM_OFFSET,
        mxcsr = const MXCSR_OFFSET,
        present = const PRESENT_OFFSET,
        sse = const SSE,
        every = sym EVERY_SIGNAL,
        flags_of_ours = const ALWAYS_SET,
        control = sym CONTROL_OF_OURS,
        work = sym dispatch_exit,
        proceed = sym proceed,
    )
}
