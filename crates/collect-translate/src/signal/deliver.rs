//! Delivery of a signal to the program.

use std::{arch::naked_asm, mem::offset_of};

use libc::{siginfo_t, ucontext_t};

use super::{
    actions,
    context::{self, Original, Place},
    counts, defer,
    frame::{self, Frame},
    kernel, masks,
    own::{OwnSignals, Stack, own},
    set::bit,
    stacks, steps, waits,
};
use crate::{
    blocks::{cache::Cache, passages},
    engine::{self, Engine, calling, enter::enter},
    lane::{
        registers::number::{RAX, RDI, RDX, RSI, RSP},
        slots::Slots,
    },
    observe::draw::begin_countdowns,
    probes::coverage::Leave,
    threads::thread::Thread,
};

/// The kernel's handler for every signal that the program handles. All signals are blocked. An embedder's handler of
/// a reserved signal continues here if the signal is the program's, with registers and stack as the kernel had left
/// them.
///
/// Runs on the embedder's stack where the thread has one, otherwise on the program's, which may be small: it does as
/// little as possible. An attached thread's engine stack is free, because no signal is handled while the dispatcher
/// runs.
///
/// # Safety
/// Called by the kernel only.
#[unsafe(naked)]
pub unsafe extern "C" fn entry() {
    naked_asm!(
        // Its frame restores the registers that are used here.
        "mov r12, rdi",
        "mov r15, rsp",
        // The program may have alignment checks enabled; the kernel clears other flags, not this one.
        "push {flags_of_ours}",
        "popfq",
        "sub rsp, 8",
        "mov rsi, r15",
        "lea rdx, [rip + {entry}]",
        "call {defer}",
        "test al, al",
        "jnz 3f",
        "call {attached}",
        "test rax, rax",
        "jz 2f",
        "mov rdi, rax",
        "mov qword ptr gs:[{inside}], 1",
        "mov rsp, gs:[{stack}]",
        "mov rcx, gs:[{vectors}]",
        "mov eax, {wanted}",
        "xor edx, edx",
        "xsave64 [rcx]",
        "mov qword ptr gs:[{whole}], 1",
        "mov qword ptr gs:[{blocked}], 1",
        "mov rsi, r12",
        "mov rdx, r15",
        "call {deliver}",
        "test al, al",
        "jnz {proceed}",
        "mov qword ptr gs:[{inside}], 0",
        // The thread is not attached, or runs native code: the handler is called as the kernel would.
        "2:",
        "lea rsp, [r15 - 40]",
        "mov rdi, r12",
        "mov rsi, r15",
        "mov rdx, rsp",
        "call {natively}",
        "mov rbx, [rsp]",
        "test rbx, rbx",
        "jz 3f",
        "mov r12, [rsp + 8]",
        "mov r13, [rsp + 16]",
        "lea rsi, [rsp + 24]",
        "mov rsp, r13",
        "mov edi, 2", // SIG_SETMASK
        "xor edx, edx",
        "mov r10d, 8",
        "mov eax, 14", // rt_sigprocmask
        "syscall",
        "mov rdi, r12",
        "lea rsi, [r13 + {info}]",
        "lea rdx, [r13 + {context}]",
        "xor eax, eax",
        "jmp rbx",
        "3:",
        "mov rsp, r15",
        "ret",
        flags_of_ours = const passages::ALWAYS_SET,
        entry = sym entry,
        defer = sym defer::defer,
        attached = sym attached,
        blocked = const offset_of!(Slots, blocked),
        inside = const offset_of!(Slots, inside),
        stack = const offset_of!(Slots, stack),
        vectors = const offset_of!(Slots, vectors),
        whole = const offset_of!(Slots, whole),
        wanted = const passages::VECTORS,
        deliver = sym deliver,
        natively = sym natively,
        proceed = sym passages::proceed,
        info = const Frame(0).info(),
        context = const Frame(0).context(),
    )
}

extern "C" fn attached() -> *mut Thread {
    calling::current().unwrap_or(std::ptr::null_mut())
}

/// The signals in `context` that are blocked once it is restored.
pub fn mask(context: &mut ucontext_t) -> &mut u64 {
    let set = (&raw mut context.uc_sigmask).cast::<u64>();
    // SAFETY: a `sigset_t` begins with the kernel's 8 bytes.
    unsafe { &mut *set }
}

/// A handler that is about to run.
#[repr(C)]
struct Beginning {
    handler: u64,
    signal: u64,
    frame: Frame,
    /// Signals that are blocked meanwhile, including those that only the program believes to be blocked.
    blocked: u64,
}

/// The process cannot continue: the kernel would have ended it by SIGSEGV.
struct Fatal;

/// Turns the kernel's frame into the one that the program's handler must find; `None` where the program does not
/// handle the signal. `translated`: the handler will run in the cache, which observes its return. `in_force`: the
/// mask of an interrupted call, where that is not the one to return to.
fn prepare(
    signal: u64,
    frame: Frame,
    translated: bool,
    in_force: Option<u64>,
) -> Result<Option<Beginning>, Fatal> {
    let context = std::ptr::with_exposed_provenance_mut::<ucontext_t>(frame.context() as usize);
    // SAFETY: the kernel's, known to this thread only.
    let context = unsafe { &mut *context };
    steps::end_embedders(context);
    let Some(action) = actions::function(signal) else { return Ok(None) };
    let kept = (&raw mut context.uc_stack).cast::<Stack>();
    // SAFETY: the same words, by their names in the kernel.
    let stack = stacks::in_force(unsafe { kept.read() });
    // A native thread returns by itself: the kernel must find again what it has put there.
    if translated || stack.disarms() {
        // SAFETY: as above.
        unsafe { kept.write(stack) };
    }
    let before = *mask(context);
    if translated {
        *mask(context) |= own().map_or(0, OwnSignals::hidden);
    }
    let sp = Original::of(context).gpr[RSP];
    let state = kernel::extended_state(context);
    let asks = action.flags & libc::SA_ONSTACK as u64 != 0;
    if let Some(frame) = frame::put_right(frame, state, sp, asks, &stack) {
        stacks::disarm(&stack);
        if bit(signal) & actions::reserved() != 0 {
            actions::used(signal, &action);
        }
        let deferred = if action.flags & libc::SA_NODEFER as u64 != 0 { 0 } else { bit(signal) };
        let blocked = in_force.unwrap_or(*mask(context)) | action.mask | deferred;
        return Ok(Some(Beginning { handler: action.handler, signal, frame, blocked }));
    }
    // As the kernel does when it cannot make the frame (Linux, kernel/signal.c, `force_sigsegv`).
    const SEGV: u64 = libc::SIGSEGV as u64;
    let Some(action) = actions::handled(SEGV).filter(|_| signal != SEGV && before & bit(SEGV) == 0) else {
        return Err(Fatal);
    };
    *mask(context) = before;
    actions::used(SEGV, &action);
    let info = std::ptr::with_exposed_provenance_mut::<siginfo_t>(frame.info() as usize);
    // SAFETY: part of the kernel's frame.
    unsafe { info.write(forced(libc::SIGSEGV)) };
    prepare(SEGV, frame, translated, in_force)
}

/// The information of a signal that the kernel sends by force.
fn forced(signal: i32) -> siginfo_t {
    const SI_KERNEL: i32 = 0x80;
    // SAFETY: plain data.
    let mut info: siginfo_t = unsafe { std::mem::zeroed() };
    (info.si_signo, info.si_code) = (signal, SI_KERNEL);
    info
}

/// For a thread that runs native code: the handler to call, 0 for none.
extern "C" fn natively(signal: u64, frame: Frame, place: *mut Beginning) {
    let none = Beginning { handler: 0, signal, frame, blocked: 0 };
    let mut beginning = match prepare(signal, frame, false, None) {
        Ok(beginning) => beginning.unwrap_or(none),
        Err(Fatal) => kernel::die_of(libc::SIGSEGV as u64),
    };
    if signal != beginning.signal || bit(signal) & actions::reserved() == 0 {
        // The embedder's signals stay unblocked, except in their own handlers.
        beginning.blocked &= !actions::reserved();
    }
    // SAFETY: the caller's place.
    unsafe { place.write(beginning) };
}

/// Sets up the slots for the program's handler. Runs on the engine's stack, with the vector registers saved.
///
/// False where the thread runs native code, which may hold locks of the embedder that the engine would wait for. Then
/// the handler runs natively, too.
extern "C" fn deliver(thread: *mut Thread, signal: u64, frame: Frame) -> bool {
    // SAFETY: the calling thread's own, and not in use: it was interrupted outside the dispatcher.
    let thread = unsafe { &mut *thread };
    let context = std::ptr::with_exposed_provenance_mut::<ucontext_t>(frame.context() as usize);
    let mut delivered = false;
    // The thread's stream may be cut short, which must not happen while another thread hands it over.
    thread.turn.wait();
    engine::with(|engine| {
        // SAFETY: the kernel's argument.
        let interrupted = unsafe { &mut *context };
        let stepped = steps::caused(signal, frame, interrupted);
        let at = Original::of(interrupted).rip;
        let Some(original) = interrupt(engine, thread, interrupted) else { return };
        delivered = true;
        let in_force = waits::mask(thread, &original);
        name_instruction(signal, frame, at, original.rip);
        let slots = thread.slots();
        slots.exit = (&raw const passages::ENTER) as u64;
        slots.regs = original.gpr;
        slots.regs[RAX] = 0;
        slots.flags = flags_in_handler(original.rflags);
        if stepped {
            ignore(engine, thread, frame);
            return begin_countdowns(engine, thread);
        }
        match prepare(signal, frame, true, in_force) {
            Ok(Some(Beginning { handler, signal, frame, blocked })) => {
                slots.regs[RDI] = signal;
                slots.regs[RSI] = frame.info();
                slots.regs[RDX] = frame.context();
                slots.regs[RSP] = frame.0;
                slots.mask = masks::keep_hidden(blocked);
                begin(engine, thread, handler);
            }
            Ok(None) => ignore(engine, thread, frame),
            Err(Fatal) => {
                engine.ending();
                kernel::die_of(libc::SIGSEGV as u64);
            }
        }
        begin_countdowns(engine, thread);
    });
    thread.turn.give();
    delivered
}

/// Where a signal names the instruction that has caused it, which the kernel found at `at`, names the program's at
/// `original` instead.
fn name_instruction(signal: u64, frame: Frame, at: u64, original: u64) {
    const OF_INSTRUCTIONS: [i32; 4] = [libc::SIGILL, libc::SIGFPE, libc::SIGTRAP, libc::SIGSYS];
    /// Of `si_addr` and `si_call_addr` (Linux, include/uapi/asm-generic/siginfo.h).
    const ADDRESS: u64 = 16;
    let info = std::ptr::with_exposed_provenance::<siginfo_t>(frame.info() as usize);
    // SAFETY: part of the kernel's frame.
    let caused = unsafe { (*info).si_code } > 0;
    if !caused || !OF_INSTRUCTIONS.iter().any(|&known| known as u64 == signal) {
        return;
    }
    let place = std::ptr::with_exposed_provenance_mut::<u64>((frame.info() + ADDRESS) as usize);
    // SAFETY: as above.
    if unsafe { place.read() } == at {
        // SAFETY: as above.
        unsafe { place.write(original) };
    }
}

/// Ends the thread's work in the cache: changes `context` to what would have been interrupted in a native thread.
fn interrupt(engine: &mut Engine, thread: &mut Thread, context: &mut ucontext_t) -> Option<Original> {
    let found = context::find(&engine.cache, thread, Original::of(context));
    match found.place {
        // It left for an instruction that must run in its own place, and that instruction has faulted there.
        Place::Native if is_at_instruction_left_for(&engine.cache, thread, &found.original) => {
            thread.clock.come_back();
            counts::take_back_one(engine, thread, found.original.rip);
        }
        Place::Native => return None,
        _ => counts::take_back(engine, thread, &found, context),
    }
    found.original.put(context);
    Some(found.original)
}

fn is_at_instruction_left_for(cache: &Cache, thread: &mut Thread, registers: &Original) -> bool {
    // Restartable sequences are not counted before they run.
    !cache.source.sequences().contains(registers.rip)
        && thread.clock.outside() == Some(Leave::Instruction)
        && thread.slots().pc == registers.rip
}

/// A handler begins with direction, trap and resume flag clear (System V ABI 3.2.1; Linux, arch/x86/kernel/signal.c).
const fn flags_in_handler(flags: u64) -> u64 {
    const DIRECTION: u64 = 1 << 10;
    const RESUME: u64 = 1 << 16;
    flags & !(steps::TRAP | DIRECTION | RESUME)
}

/// Continues with the handler; it returns into the cache even where it cannot run there.
fn begin(engine: &mut Engine, thread: &mut Thread, handler: u64) {
    enter(engine, thread, handler);
    if thread.slots().next == handler {
        thread.expect_return();
    }
}

/// The program does not handle the signal: the thread continues as if a handler had returned.
fn ignore(engine: &mut Engine, thread: &mut Thread, frame: Frame) {
    let slots = thread.slots();
    slots.mask = u64::MAX;
    slots.regs[RSP] = frame.context();
    let place = std::ptr::with_exposed_provenance::<u64>(frame.0 as usize);
    // SAFETY: the kernel has written the handler's return address there.
    let restorer = unsafe { place.read() };
    enter(engine, thread, restorer);
}
