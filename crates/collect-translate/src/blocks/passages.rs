//! The passages between the cache, the dispatcher and native code.
//!
//! While the dispatcher runs, the program's registers are in `Slots`, all signals are blocked or deferred, and the stack
//! is the engine's. A signal can be handled only in the few instructions before and after. These are straight-line
//! code, use nothing but registers and slots, and keep the program's stack pointer and flags, so that
//! `signal::passage` can complete them on a copy of the context. All passages lie in a section of their own.

use std::{arch::naked_asm, mem::offset_of, ops::Range};

use crate::lane::{
    exit::{Exit, Reason},
    slots::Slots,
};
use crate::memory::TableKind;

/// Where the slots hold the registers, and the scratch words for borrowed ones.
pub const RAX: usize = offset_of!(Slots, regs);
pub const SCRATCH: usize = offset_of!(Slots, scratch);

/// The vector state: SSE, AVX and AVX-512 (Intel SDM volume 1, 13.1). Code of the engine and of libraries does not touch
/// x87 and tile registers.
pub const VECTORS: u32 = SSE | WIDE;
/// XMM0 to XMM15, which compiled code of the engine and the embedder uses, and MXCSR.
pub const SSE: u32 = 0b0000_0010;
/// The rest of it, which only other libraries use.
pub const WIDE: u32 = 0b1110_0100;

/// Where an area of vector registers has MXCSR, XMM0, and the parts that are not in their initial state (Intel SDM
/// volume 1, 13.4).
pub const MXCSR_OFFSET: usize = 24;
pub const XMM_OFFSET: usize = 160;
pub const PRESENT_OFFSET: usize = 512;

/// Loads XMM0 to XMM15 from the area at RCX.
macro_rules! load_xmm {
    () => {
        ".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
        movaps xmm\\n, [rcx + {xmm} + 16 * \\n]
        .endr"
    };
}

/// The flags with which the engine's own code begins: all clear, except for the bit that is always set.
pub const ALWAYS_SET: u32 = 2;

/// Continues where the slots say. All signals are blocked or deferred, the stack is the engine's.
#[unsafe(naked)]
#[unsafe(link_section = "carom_passages")]
pub unsafe extern "C" fn proceed() {
    naked_asm!(
        "mov rcx, gs:[{vectors}]",
        "cmp qword ptr gs:[{whole}], 0",
        "jne 2f",
        "ldmxcsr [rcx + {mxcsr}]",
        load_xmm!(),
        "jmp 3f",
        "2:",
        "mov eax, {wanted}",
        "xor edx, edx",
        "xrstor64 [rcx]",
        "3:",
        "push qword ptr gs:[{flags}]",
        "popfq",
        "mov rsp, gs:[{rax} + 32]",
        "mov qword ptr gs:[{defers}], 0",
        // A deferred signal has blocked all: if none are blocked here, the next one finds a passage.
        "mov rcx, gs:[{blocked}]",
        "jrcxz 4f",
        "mov rcx, gs:[{deferred}]",
        "jrcxz 5f",
        "jmp qword ptr gs:[{deliver}]",
        "5:",
        "mov edi, 2",
        "mov rsi, gs:[{this}]",
        "lea rsi, [rsi + {mask}]",
        "mov edx, 0",
        "mov r10d, 8",
        "mov eax, 14",
        "syscall",
        // Waiting signals are delivered here, already on the program's stack.
        "4:",
        "mov qword ptr gs:[{inside}], 0",
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
        "jmp qword ptr gs:[{next}]",
        rax = const RAX,
        inside = const offset_of!(Slots, inside),
        defers = const offset_of!(Slots, defers),
        blocked = const offset_of!(Slots, blocked),
        deferred = const offset_of!(Slots, deferred),
        deliver = const offset_of!(Slots, deliver),
        flags = const offset_of!(Slots, flags),
        this = const offset_of!(Slots, this),
        mask = const offset_of!(Slots, mask),
        vectors = const offset_of!(Slots, vectors),
        whole = const offset_of!(Slots, whole),
        mxcsr = const MXCSR_OFFSET,
        xmm = const XMM_OFFSET,
        next = const offset_of!(Slots, next),
        wanted = const VECTORS,
    )
}

/// Where a signal that was deferred finds its thread: at the end of [`proceed`], with the program's values in all
/// registers.
#[unsafe(naked)]
#[unsafe(link_section = "carom_passages")]
pub unsafe extern "C" fn go_on() {
    naked_asm!("jmp qword ptr gs:[{next}]", next = const offset_of!(Slots, next))
}

/// Where a signal handler's context leads when it is restored: back into the cache, with the program's values in all
/// registers.
#[unsafe(naked)]
#[unsafe(link_section = "carom_passages")]
pub unsafe extern "C" fn resume() {
    naked_asm!("jmp qword ptr gs:[{resume}]", resume = const offset_of!(Slots, resume))
}

static RETURN_MISS: Exit = Exit { reason: Reason::Return, detail: 0, pc: 0, back: 0 };
static CALL_MISS: Exit = Exit { reason: Reason::Call, detail: 0, pc: 0, back: 0 };
static JUMP_MISS: Exit = Exit { reason: Reason::Jump, detail: 0, pc: 0, back: 0 };
pub static ENTER: Exit = Exit { reason: Reason::Enter, detail: 0, pc: 0, back: 0 };
static BACK: Exit = Exit { reason: Reason::Back, detail: 0, pc: 0, back: 0 };

/// The way to the dispatcher for a kind of transfer whose table does not have the target. The target is in `$target`,
/// whose own value is in A; RCX's value is in B.
macro_rules! miss {
    ($(#[$doc:meta])* $name:ident, $record:ident, $target:literal) => {
        $(#[$doc])*
        #[unsafe(naked)]
        #[unsafe(link_section = "carom_passages")]
        pub unsafe extern "C" fn $name() {
            naked_asm!(
                concat!("mov gs:[{target}], ", $target),
                "mov rcx, gs:[{scratch} + 8]",
                concat!("mov ", $target, ", gs:[{scratch}]"),
                "mov gs:[{scratch}], rax",
                "lea rax, [rip + {record}]",
                "jmp qword ptr gs:[{dispatch}]",
                target = const offset_of!(Slots, target),
                scratch = const SCRATCH,
                record = sym $record,
                dispatch = const offset_of!(Slots, dispatch),
            )
        }
    };
}

miss!(
    /// Of returns.
    return_miss, RETURN_MISS, "rsi"
);
miss!(
    /// Of indirect calls.
    call_miss, CALL_MISS, "r11"
);
miss!(
    /// Of indirect jumps.
    jump_miss, JUMP_MISS, "r11"
);

/// Continues in the cache with the code at RAX. All other registers and the stack must be as that code expects them.
///
/// # Safety
/// The calling thread is attached. Jump here, do not call.
#[unsafe(naked)]
#[unsafe(link_section = "carom_passages")]
pub unsafe extern "C" fn enter() {
    naked_asm!(
        "mov gs:[{target}], rax",
        "mov gs:[{scratch}], rax",
        "lea rax, [rip + {record}]",
        "jmp qword ptr gs:[{dispatch}]",
        target = const offset_of!(Slots, target),
        scratch = const SCRATCH,
        record = sym ENTER,
        dispatch = const offset_of!(Slots, dispatch),
    )
}

/// As [`enter`], with the target in the slots and RAX's value in A.
#[unsafe(naked)]
#[unsafe(link_section = "carom_passages")]
pub unsafe extern "C" fn reenter() {
    naked_asm!(
        "lea rax, [rip + {record}]",
        "jmp qword ptr gs:[{dispatch}]",
        record = sym ENTER,
        dispatch = const offset_of!(Slots, dispatch),
    )
}

/// The range of all passages.
pub fn passages() -> Range<u64> {
    // The linker defines these for sections whose names are identifiers.
    unsafe extern "C" {
        #[link_name = "__start_carom_passages"]
        static START: u8;
        #[link_name = "__stop_carom_passages"]
        static STOP: u8;
    }
    (&raw const START).addr() as u64..(&raw const STOP).addr() as u64
}

/// Where native functions return that were called from the cache.
#[unsafe(naked)]
#[unsafe(link_section = "carom_passages")]
pub unsafe extern "C" fn native_return() {
    naked_asm!(
        "mov gs:[{scratch}], rax",
        "lea rax, [rip + {record}]",
        "jmp qword ptr gs:[{dispatch}]",
        scratch = const SCRATCH,
        record = sym BACK,
        dispatch = const offset_of!(Slots, dispatch),
    )
}

/// Where landings lead in the end, by [`TableKind`].
pub fn misses() -> [u64; TableKind::ALL.len()] {
    [return_miss as *const () as u64, call_miss as *const () as u64, jump_miss as *const () as u64]
}
