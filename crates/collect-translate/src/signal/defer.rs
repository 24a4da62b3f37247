//! Signals that arrive while a sample is taken, or a block is translated and linked.
//!
//! To block all signals and to unblock them takes two system calls, longer than the rest of a sample. So they are not
//! blocked for those ([`Reason::defers`](crate::lane::exit::Reason::defers)): while [`Slots::defers`] is set, a handler only keeps its frame, and blocks all signals when it returns to
//! the dispatcher. On its way out the dispatcher finds the frame, gives it the state that the program has then, and
//! calls the handler again, as the kernel would have if the signal had arrived at that moment.
//!
//! Thus the rules of locks (`carom_base_sys::lock`) hold as if signals were blocked.

use std::{arch::naked_asm, mem::offset_of, ptr};

use carom_base_sys::signal::{TRAP_PERF, TRAP_PERF_FLAG_ASYNC};
use libc::{siginfo_t, ucontext_t};

use super::{context::Original, deliver::mask, frame::Frame, kernel};
use crate::{
    blocks::passages::{self, ALWAYS_SET, MXCSR_OFFSET, PRESENT_OFFSET, SSE, VECTORS, XMM_OFFSET},
    engine::calling,
    lane::slots::Slots,
    memory::STACK_BYTES,
};

/// The room for a frame on the engine's stack, from this far below its top on: the dispatcher uses less, and below it
/// the handler has as much as on a stack of its own.
const KEPT_BELOW: u64 = STACK_BYTES / 2;

/// The state of vector and x87 registers with which the kernel has handlers begin (Linux, arch/x86/kernel/signal.c):
/// nothing present, so that all are initialised. MXCSR is read nevertheless.
#[repr(C, align(64))]
struct Initial([u32; 256]);
static INITIAL: Initial = {
    let mut words = [0; 256];
    words[MXCSR_OFFSET / 4] = 0x1f80;
    Initial(words)
};

/// Called first of all by handlers of the embedder for signals that it has installed natively, with the `context` that they
/// were given. True if the calling thread's signals are deferred: the handler must then return at once, and will be
/// called again at `handler`.
pub fn defer_signal(signal: i32, context: *mut ucontext_t, handler: u64) -> bool {
    defer(signal as u64, Frame::with_context(context.addr() as u64), handler)
}

/// The same for the engine's handler, with `frame` as the kernel has made it.
pub extern "C" fn defer(signal: u64, frame: Frame, handler: u64) -> bool {
    if !calling::defers() {
        return false;
    }
    let Some(mut slots) = calling::slots() else { return false };
    // SAFETY: the calling thread's. The dispatcher, which was interrupted, does not use these words meanwhile.
    let slots = unsafe { slots.as_mut() };
    // SAFETY: the kernel's, known to this thread only.
    let context = unsafe { context_of(frame) };
    let state = kernel::extended_state(context);
    let kept = frame.keep_below(slots.stack - KEPT_BELOW, state);
    delay_trap(kept);
    slots.mask = *mask(context);
    slots.blocked = 1;
    (slots.deferred, slots.deferred_frame, slots.deferred_to) = (signal, kept.0, handler);
    *mask(context) = u64::MAX;
    true
}

/// A trap of a perf event is delivered later than it happened, as one that was blocked.
fn delay_trap(frame: Frame) {
    const FLAGS_OFFSET: u64 = 36;
    let info = ptr::with_exposed_provenance::<siginfo_t>(frame.info() as usize);
    // SAFETY: part of the frame.
    let info = unsafe { &*info };
    if info.si_signo == libc::SIGTRAP && info.si_code == TRAP_PERF {
        let flags = ptr::with_exposed_provenance_mut::<u32>((frame.info() + FLAGS_OFFSET) as usize);
        // SAFETY: within the information.
        let before = unsafe { flags.read() };
        // SAFETY: as above.
        unsafe { flags.write(before | TRAP_PERF_FLAG_ASYNC) };
    }
}

/// The way out of the dispatcher if a signal was deferred: calls its handler as the kernel would. All signals are
/// blocked, and the program's registers are in the slots.
#[unsafe(naked)]
pub unsafe extern "C" fn deliver() {
    naked_asm!(
        "mov rsp, gs:[{stack}]",
        "push {flags_of_ours}",
        "popfq",
        "mov rdi, gs:[{this}]",
        "call {complete}",
        "mov eax, {all}",
        "xor edx, edx",
        "xrstor64 [rip + {initial}]",
        "mov rdi, gs:[{deferred}]",
        "mov rsp, gs:[{frame}]",
        "lea rsi, [rsp + {info}]",
        "lea rdx, [rsp + {context}]",
        "mov rcx, gs:[{handler}]",
        "mov qword ptr gs:[{deferred}], 0",
        "mov qword ptr gs:[{inside}], 0",
        "jmp rcx",
        stack = const offset_of!(Slots, stack),
        flags_of_ours = const ALWAYS_SET,
        this = const offset_of!(Slots, this),
        complete = sym complete,
        all = const VECTORS | X87,
        initial = sym INITIAL,
        deferred = const offset_of!(Slots, deferred),
        frame = const offset_of!(Slots, deferred_frame),
        handler = const offset_of!(Slots, deferred_to),
        inside = const offset_of!(Slots, inside),
        info = const Frame(0).info(),
        context = const Frame(0).context(),
    )
}

/// The state of x87 registers (Intel SDM volume 1, 13.1).
const X87: u32 = 1;

/// Gives the kept frame the state in which the program continues. The registers that are not saved have had their
/// values when the signal arrived, because signals are blocked before they are saved and used.
extern "C" fn complete(slots: *mut Slots) {
    // SAFETY: the calling thread's.
    let slots = unsafe { &*slots };
    // SAFETY: kept by `defer`, and used by nothing else.
    let context = unsafe { context_of(Frame(slots.deferred_frame)) };
    let rip = passages::go_on as *const () as u64;
    Original { gpr: slots.regs, rip, rflags: slots.flags }.put(context);
    *mask(context) = slots.mask;
    const XMM_BYTES: usize = 16 * 16;
    let area = ptr::with_exposed_provenance::<u8>(slots.vectors as usize);
    let kept = context.uc_mcontext.fpregs.cast::<u8>();
    let state_bytes = kernel::extended_state(context).len();
    let registers = [(XMM_OFFSET, XMM_BYTES), (MXCSR_OFFSET, size_of::<u32>())];
    for (offset, bytes) in registers.into_iter().filter(|(offset, bytes)| offset + bytes <= state_bytes) {
        // SAFETY: both have room for these registers, and do not overlap.
        unsafe { kept.wrapping_add(offset).copy_from(area.wrapping_add(offset), bytes) };
    }
    if PRESENT_OFFSET < state_bytes {
        let present = kept.wrapping_add(PRESENT_OFFSET);
        // SAFETY: in the header of the area.
        let before = unsafe { present.read() };
        // SAFETY: as above.
        unsafe { present.write(before | SSE as u8) };
    }
}

/// # Safety
/// A live frame, to whose context there is no other reference.
unsafe fn context_of<'a>(frame: Frame) -> &'a mut ucontext_t {
    let context = ptr::with_exposed_provenance_mut::<ucontext_t>(frame.context() as usize);
    // SAFETY: the caller's promise.
    unsafe { &mut *context }
}
