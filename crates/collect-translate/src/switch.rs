//! The passages between the cache, the dispatcher and native code.
//!
//! The program's registers are in `Slots` while the dispatcher runs, all signals are blocked, and the stack is the
//! engine's. A signal that arrives in the few instructions before and after finds the same: see the labels.

use std::{arch::naked_asm, mem::offset_of};

use crate::{
    dispatch::dispatch_exit,
    exit::{Exit, Reason},
    state::Slots,
};

const RAX: usize = offset_of!(Slots, regs);
const SCRATCH: usize = offset_of!(Slots, scratch);

/// What xsave is asked for: SSE, AVX and AVX-512 state (Intel SDM volume 1, 13.1), which compiled code may use. x87 and
/// tile registers it does not touch.
const VECTORS: u32 = 0b1110_0110;

/// The signal set with everything in it.
static EVERY_SIGNAL: u64 = u64::MAX;

/// Where exits arrive: RAX in scratch word A, the address of the `Exit` in RAX.
#[unsafe(naked)]
pub unsafe extern "C" fn dispatch() {
    naked_asm!(
        "mov gs:[{exit}], rax",
        "mov gs:[{rax} + 32], rsp",
        "mov rsp, gs:[{stack}]",
        // From here on the stack is the engine's.
        ".globl carom_translate_on_engine_stack",
        ".hidden carom_translate_on_engine_stack",
        "carom_translate_on_engine_stack:",
        "pushfq",
        "pop qword ptr gs:[{flags}]",
        "mov rax, gs:[{scratch}]",
        "mov gs:[{rax}], rax",
        "mov gs:[{rax} + 8], rcx",
        "mov gs:[{rax} + 16], rdx",
        "mov gs:[{rax} + 24], rbx",
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
        // From here on the registers are in the slots.
        ".globl carom_translate_saved",
        ".hidden carom_translate_saved",
        "carom_translate_saved:",
        "cld",
        "mov edi, 2", // SIG_SETMASK
        "lea rsi, [rip + {every}]",
        "mov rdx, gs:[{this}]",
        "add rdx, {mask}",
        "mov r10d, 8",
        "mov eax, 14", // rt_sigprocmask
        "syscall",
        "mov rcx, gs:[{vectors}]",
        "mov eax, {wanted}",
        "xor edx, edx",
        "xsave64 [rcx]",
        "mov rdi, gs:[{thread}]",
        "mov rsi, gs:[{exit}]",
        "call {work}",
        ".globl carom_translate_continue",
        ".hidden carom_translate_continue",
        "carom_translate_continue:",
        "mov rcx, gs:[{vectors}]",
        "mov eax, {wanted}",
        "xor edx, edx",
        "xrstor64 [rcx]",
        "mov edi, 2",
        "mov rsi, gs:[{this}]",
        "add rsi, {mask}",
        "xor edx, edx",
        "mov r10d, 8",
        "mov eax, 14",
        "syscall",
        "push qword ptr gs:[{flags}]",
        "popfq",
        "mov rax, gs:[{rax}]",
        "mov rcx, gs:[{rax} + 8]",
        "mov rdx, gs:[{rax} + 16]",
        "mov rbx, gs:[{rax} + 24]",
        "mov rbp, gs:[{rax} + 40]",
        "mov rsi, gs:[{rax} + 48]",
        "mov rdi, gs:[{rax} + 56]",
        "mov r8, gs:[{rax} + 64]",
        "mov r9, gs:[{rax} + 72]",
        "mov r10, gs:[{rax} + 80]",
        "mov r11, gs:[{rax} + 88]",
        "mov r12, gs:[{rax} + 96]",
        "mov r13, gs:[{rax} + 104]",
        "mov r14, gs:[{rax} + 112]",
        "mov r15, gs:[{rax} + 120]",
        "mov rsp, gs:[{rax} + 32]",
        "jmp qword ptr gs:[{next}]",
        // Up to here the slots say how the program goes on.
        ".globl carom_translate_end",
        ".hidden carom_translate_end",
        "carom_translate_end:",
        exit = const offset_of!(Slots, exit),
        rax = const RAX,
        scratch = const SCRATCH,
        stack = const offset_of!(Slots, stack),
        flags = const offset_of!(Slots, flags),
        this = const offset_of!(Slots, this),
        mask = const offset_of!(Slots, mask),
        vectors = const offset_of!(Slots, vectors),
        thread = const offset_of!(Slots, thread),
        next = const offset_of!(Slots, next),
        wanted = const VECTORS,
        every = sym EVERY_SIGNAL,
        work = sym dispatch_exit,
    )
}

static RETURN_MISS: Exit = Exit { reason: Reason::Return, detail: 0, pc: 0, back: 0 };
static CALL_MISS: Exit = Exit { reason: Reason::Call, detail: 0, pc: 0, back: 0 };
static JUMP_MISS: Exit = Exit { reason: Reason::Jump, detail: 0, pc: 0, back: 0 };
static ENTER: Exit = Exit { reason: Reason::Enter, detail: 0, pc: 0, back: 0 };
static BACK: Exit = Exit { reason: Reason::Back, detail: 0, pc: 0, back: 0 };

/// A return that the table does not know: target in RSI, RSI in A, RCX in B.
#[unsafe(naked)]
pub unsafe extern "C" fn return_miss() {
    naked_asm!(
        "mov gs:[{target}], rsi",
        "mov rcx, gs:[{scratch} + 8]",
        "mov rsi, gs:[{scratch}]",
        "mov gs:[{scratch}], rax",
        "lea rax, [rip + {record}]",
        "jmp {dispatch}",
        target = const offset_of!(Slots, target),
        scratch = const SCRATCH,
        record = sym RETURN_MISS,
        dispatch = sym dispatch,
    )
}

/// An indirect call that the table does not know: target in R11, RAX in B.
#[unsafe(naked)]
pub unsafe extern "C" fn call_miss() {
    naked_asm!(
        "mov gs:[{target}], r11",
        "mov rax, gs:[{scratch} + 8]",
        "mov gs:[{scratch}], rax",
        "lea rax, [rip + {record}]",
        "jmp {dispatch}",
        target = const offset_of!(Slots, target),
        scratch = const SCRATCH,
        record = sym CALL_MISS,
        dispatch = sym dispatch,
    )
}

/// An indirect jump that the table does not know: target in R11, R11 in A, R10 in B.
#[unsafe(naked)]
pub unsafe extern "C" fn jump_miss() {
    naked_asm!(
        "mov gs:[{target}], r11",
        "mov r10, gs:[{scratch} + 8]",
        "mov r11, gs:[{scratch}]",
        "mov gs:[{scratch}], rax",
        "lea rax, [rip + {record}]",
        "jmp {dispatch}",
        target = const offset_of!(Slots, target),
        scratch = const SCRATCH,
        record = sym JUMP_MISS,
        dispatch = sym dispatch,
    )
}

/// Goes on in the cache with the code at RAX, all other registers and the stack as that code expects them.
///
/// The calling thread must be attached.
#[unsafe(naked)]
pub unsafe extern "C" fn enter() {
    naked_asm!(
        "mov gs:[{target}], rax",
        "mov gs:[{scratch}], rax",
        "lea rax, [rip + {record}]",
        "jmp {dispatch}",
        target = const offset_of!(Slots, target),
        scratch = const SCRATCH,
        record = sym ENTER,
        dispatch = sym dispatch,
    )
}

/// Where native functions return that were called from the cache.
#[unsafe(naked)]
pub unsafe extern "C" fn native_return() {
    naked_asm!(
        "mov gs:[{scratch}], rax",
        "lea rax, [rip + {record}]",
        "jmp {dispatch}",
        scratch = const SCRATCH,
        record = sym BACK,
        dispatch = sym dispatch,
    )
}
