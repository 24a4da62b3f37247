//! The exact look-up of an access that the quick look-up found near watched places.

use std::{arch::naked_asm, mem::offset_of, ops::Range};

use crate::lane::{
    exit::Exit,
    slots::{LOOKED_UP, Scratch, Slots},
    watches,
};

/// Code jumps here with the address in `Slots::looked_up`, the address of the `Exit` in RAX, and the program's values
/// in all other registers; RAX's is in scratch word A. Behind the `Exit` lie pairs of 16-bit words, one for each access: an
/// offset from that address and the mask of an entry. A mask of 0 ends them. Goes back where no access is to a
/// watched place.
#[unsafe(naked)]
#[unsafe(link_section = "carom_passages")]
pub unsafe extern "C" fn look_up_exactly() {
    naked_asm!(
        "mov gs:[{exit}], rax",
        "mov gs:[{regs} + 8], rcx",
        "mov gs:[{regs} + 16], rdx",
        "mov gs:[{regs} + 24], rbx",
        "mov gs:[{regs} + 48], rsi",
        "mov gs:[{regs} + 56], rdi",
        "mov rsi, rax",
        // A thread that is interrupted from here to the next label counts as having found something.
        ".globl carom_translate_exact_look_up",
        ".hidden carom_translate_exact_look_up",
        "carom_translate_exact_look_up:",
        "lahf",
        "seto al",
        "lea rbx, [rsi + {members}]",
        "2:",
        "mov edx, [rbx]",
        "movzx ecx, dx",
        "shr edx, 16",
        "jz 4f",
        "add rbx, 4",
        "add rcx, gs:[{looked_up}]",
        "imul edi, ecx, {factor}",
        "shr edi, {shift}",
        "test word ptr gs:[rdi * 2 + {bytes}], dx",
        "jnz 3f",
        "shr rcx, {line_shift}",
        "imul edi, ecx, {factor}",
        "shr edi, {shift}",
        "test word ptr gs:[rdi * 2 + {lines}], dx",
        "jz 2b",
        "jmp 3f",
        "4:",
        "mov rbx, [rsi + {back}]",
        "mov gs:[{next}], rbx",
        "mov rbx, [rsi + {exit_pc}]",
        "mov gs:[{pc}], rbx",
        ".globl carom_translate_exact_look_up_end",
        ".hidden carom_translate_exact_look_up_end",
        "carom_translate_exact_look_up_end:",
        "add al, 127",
        "sahf",
        "mov rdi, gs:[{regs} + 56]",
        "mov rsi, gs:[{regs} + 48]",
        "mov rbx, gs:[{regs} + 24]",
        "mov rdx, gs:[{regs} + 16]",
        "mov rcx, gs:[{regs} + 8]",
        "mov rax, gs:[{scratch}]",
        "jmp qword ptr gs:[{next}]",
        "3:",
        "add al, 127",
        "sahf",
        "mov rdi, gs:[{regs} + 56]",
        "mov rsi, gs:[{regs} + 48]",
        "mov rbx, gs:[{regs} + 24]",
        "mov rdx, gs:[{regs} + 16]",
        "mov rcx, gs:[{regs} + 8]",
        "mov rax, gs:[{exit}]",
        "jmp qword ptr gs:[{dispatch}]",
        exit = const offset_of!(Slots, exit),
        regs = const offset_of!(Slots, regs),
        members = const size_of::<Exit>(),
        looked_up = const LOOKED_UP,
        factor = const watches::FACTOR,
        shift = const watches::SHIFT,
        line_shift = const watches::LINE_SHIFT,
        bytes = const watches::BYTES,
        lines = const watches::LINES,
        back = const offset_of!(Exit, back),
        next = const offset_of!(Slots, next),
        exit_pc = const offset_of!(Exit, pc),
        pc = const offset_of!(Slots, pc),
        scratch = const Scratch::A.offset(),
        dispatch = const offset_of!(Slots, dispatch),
    )
}

/// Links the function, and with it its labels, even where nothing else names it.
#[used]
static LINKED: unsafe extern "C" fn() = look_up_exactly;

/// The part of [`look_up_exactly`] that a signal must not leave half done.
pub fn looking() -> Range<u64> {
    // Defined in `look_up_exactly`.
    unsafe extern "C" {
        static carom_translate_exact_look_up: u8;
        static carom_translate_exact_look_up_end: u8;
    }
    let [start, end] =
        [&raw const carom_translate_exact_look_up, &raw const carom_translate_exact_look_up_end]
            .map(<*const u8>::addr);
    start as u64..end as u64
}
