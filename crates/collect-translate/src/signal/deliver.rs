//! A signal has arrived for the program.

use std::{arch::naked_asm, mem::offset_of};

use libc::ucontext_t;

use super::{
    actions, bit,
    context::{self, Original, Place},
    counts,
    kernel::Action,
};
use crate::{
    coverage::Leave,
    dispatch::{begin_countdowns, enter},
    engine::{self, Engine},
    state::{
        Slots,
        number::{RAX, RDI, RDX, RSI, RSP},
    },
    switch,
    thread::Thread,
};

/// The kernel's handler for every signal that the program handles. All signals are blocked.
///
/// On the program's stack, which may be a small one, as little as can be is done. An attached thread's engine stack is
/// free: no signal arrives while the dispatcher runs.
///
/// # Safety
/// Called by the kernel only.
#[unsafe(naked)]
pub unsafe extern "C" fn entry() {
    naked_asm!(
        // What the kernel passes; it gives the registers that are used here back from its frame.
        "mov r12, rdi",
        "mov r13, rsi",
        "mov r14, rdx",
        "mov r15, rsp",
        "sub rsp, 8",
        "call {attached}",
        "test rax, rax",
        "jz 2f",
        "mov rdi, rax",
        "mov rsp, gs:[{stack}]",
        "mov rcx, gs:[{vectors}]",
        "mov eax, {wanted}",
        "xor edx, edx",
        "xsave64 [rcx]",
        "mov rsi, r12",
        "mov rdx, r13",
        "mov rcx, r14",
        "mov r8, r15",
        "call {deliver}",
        "test al, al",
        "jnz {proceed}",
        // The thread is none of ours, or runs native code: the handler is called as the kernel would.
        "2:",
        "lea rsp, [r15 - 24]",
        "mov rdi, r12",
        "mov rsi, r14",
        "mov rdx, rsp",
        "call {natively}",
        "mov rbx, rax",
        "mov rsi, rsp",
        "mov rsp, r15",
        "test rbx, rbx",
        "jz 3f",
        "mov edi, 2", // SIG_SETMASK
        "xor edx, edx",
        "mov r10d, 8",
        "mov eax, 14", // rt_sigprocmask
        "syscall",
        "mov rdi, r12",
        "mov rsi, r13",
        "mov rdx, r14",
        "xor eax, eax",
        "jmp rbx",
        "3:",
        "ret",
        attached = sym attached,
        stack = const offset_of!(Slots, stack),
        vectors = const offset_of!(Slots, vectors),
        wanted = const switch::VECTORS,
        deliver = sym deliver,
        natively = sym natively,
        proceed = sym switch::proceed,
    )
}

extern "C" fn attached() -> *mut Thread {
    engine::current().unwrap_or(std::ptr::null_mut())
}

/// The signals blocked in `context`.
fn mask(context: &ucontext_t) -> u64 {
    let set = (&raw const context.uc_sigmask).cast::<u64>();
    // SAFETY: a `sigset_t` begins with the kernel's 8 bytes.
    unsafe { set.read() }
}

/// The signals blocked while a handler runs.
fn mask_in_handler(signal: u64, action: &Action, context: &ucontext_t) -> u64 {
    let own = if action.flags & libc::SA_NODEFER as u64 != 0 { 0 } else { bit(signal) };
    mask(context) | action.mask | own
}

/// For a thread that is not attached: the handler to call, 0 for none, and the signals to block meanwhile.
extern "C" fn natively(signal: u64, context: *const ucontext_t, blocked: *mut u64) -> u64 {
    let Some(action) = actions::function(signal) else { return 0 };
    // SAFETY: the kernel's argument.
    let context = unsafe { &*context };
    // SAFETY: the caller's place.
    unsafe { blocked.write(mask_in_handler(signal, &action, context)) };
    action.handler
}

/// Sets up the slots for the program's handler. On the engine's stack, the vector registers saved.
///
/// False where the thread runs native code, which may hold locks of the embedder's that the engine would wait for: the
/// handler is run natively, too.
extern "C" fn deliver(
    thread: *mut Thread,
    signal: u64,
    info: u64,
    context: *mut ucontext_t,
    frame: u64,
) -> bool {
    // SAFETY: the calling thread's own, and not in use: it was interrupted outside the dispatcher.
    let thread = unsafe { &mut *thread };
    let place = context.expose_provenance() as u64;
    // SAFETY: the kernel's argument.
    let context = unsafe { &mut *context };
    let mut delivered = false;
    // What it has streamed may be cut short, which is not to happen while another thread hands it over.
    thread.turn.wait();
    engine::with(|engine| {
        let Some(original) = interrupt(engine, thread, context) else { return };
        delivered = true;
        let slots = thread.slots();
        slots.exit = (&raw const switch::ENTER) as u64;
        slots.regs = original.gpr;
        slots.regs[RAX] = 0;
        slots.regs[RDI] = signal;
        slots.regs[RSI] = info;
        slots.regs[RDX] = place;
        slots.regs[RSP] = frame;
        slots.flags = flags_in_handler(original.rflags);
        match actions::function(signal) {
            Some(action) => {
                slots.mask = mask_in_handler(signal, &action, context);
                begin(engine, thread, action.handler);
            }
            None => ignore(engine, thread),
        }
        begin_countdowns(engine, thread);
    });
    thread.turn.give();
    delivered
}

/// Ends what the thread was doing in the cache: `context` is made to show what a native thread would have been
/// interrupted in.
fn interrupt(engine: &mut Engine, thread: &mut Thread, context: &mut ucontext_t) -> Option<Original> {
    let found = context::find(&engine.cache, thread, Original::of(context));
    match found.place {
        // It left for an instruction that must run in its own place, and which has faulted there.
        Place::Native if is_at_instruction_left_for(thread, &found.original) => {
            thread.clock.come_back();
            counts::take_back_one(engine, thread, found.original.rip);
        }
        Place::Native => return None,
        _ => counts::take_back(engine, thread, &found, context),
    }
    found.original.put(context);
    Some(found.original)
}

fn is_at_instruction_left_for(thread: &mut Thread, registers: &Original) -> bool {
    thread.clock.outside() == Some(Leave::Instruction) && thread.slots().pc == registers.rip
}

/// A handler begins with direction, trap and resume flag clear (System V ABI 3.2.1; Linux, arch/x86/kernel/signal.c).
const fn flags_in_handler(flags: u64) -> u64 {
    const TRAP: u64 = 1 << 8;
    const DIRECTION: u64 = 1 << 10;
    const RESUME: u64 = 1 << 16;
    flags & !(TRAP | DIRECTION | RESUME)
}

/// Goes on with the handler; it returns into the cache also where it cannot run there.
fn begin(engine: &mut Engine, thread: &mut Thread, handler: u64) {
    enter(engine, thread, handler);
    if thread.slots().next == handler {
        thread.expect_return();
    }
}

/// Nobody wants the signal: the thread goes on as if the handler had returned.
fn ignore(engine: &mut Engine, thread: &mut Thread) {
    let slots = thread.slots();
    slots.mask = u64::MAX;
    let frame = std::ptr::with_exposed_provenance::<u64>(slots.regs[RSP] as usize);
    slots.regs[RSP] = slots.regs[RSP].wrapping_add(size_of::<u64>() as u64);
    // SAFETY: the kernel has put there where handlers return to.
    let restorer = unsafe { frame.read() };
    enter(engine, thread, restorer);
}
