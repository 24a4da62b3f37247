//! Every instruction of the cache, one by one: the translator's context of the thread is a state through which a
//! native thread goes.
//!
//! The function sets the trap flag itself, in the cache as natively, so each instruction is followed by a SIGTRAP. In
//! the dispatcher, where that would be fatal, there are no steps: the trap flag is cleared in front of what blocks or
//! defers all signals, until the function sets it again in its next part.

use std::{
    arch::naked_asm,
    cell::UnsafeCell,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

use carom_collect_translate::{Original, accesses_at, original_registers, reserve_signals};
use iced_x86::{
    Code, Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, OpAccess, Register,
    RflagsBits,
};
use libc::{REG_EFL, REG_RIP, siginfo_t, ucontext_t};

use super::{
    basics::turn,
    mix::{Buffer, fresh_round},
};
use crate::support::counted;

const TRAP: u64 = 1 << 8;
const RESUME: u64 = 1 << 16;
const RSP: usize = 4;
const R11: usize = 11;
const RCX: usize = 1;

/// One trap.
#[derive(Clone, Copy)]
struct Step {
    /// Where the thread is.
    rip: u64,
    /// Where the program is.
    state: Original,
    /// How often stepping was suspended before.
    suspended: usize,
    /// The thread's accesses before.
    position: Option<u64>,
}

/// All traps.
struct Trace {
    states: UnsafeCell<Vec<Step>>,
}

// SAFETY: tests take turns, and only the thread that steps uses it.
unsafe impl Sync for Trace {}

static TRACE: Trace = Trace { states: UnsafeCell::new(Vec::new()) };
static LEFT: AtomicUsize = AtomicUsize::new(0);

/// Notes the state. The trace has room, so nothing is allocated.
extern "C" fn trap(_: libc::c_int, _: *mut siginfo_t, context: *mut ucontext_t) {
    // SAFETY: the kernel's argument.
    let context = unsafe { &mut *context };
    let rip = context.uc_mcontext.gregs[REG_RIP as usize] as u64;
    let raw = native(context);
    let state = original_registers(context).unwrap_or(raw);
    // SAFETY: see `Trace`.
    let states = unsafe { &mut *TRACE.states.get() };
    if states.len() < states.capacity() {
        let (suspended, position) = (LEFT.load(Relaxed), accesses_at(context));
        states.push(Step { rip, state, suspended, position });
    }
    // SAFETY: code that is about to run.
    let next = unsafe { (rip as *const [u8; 18]).read_unaligned() };
    // SAFETY: the instruction before, of the same code: mov eax, 14.
    let before = unsafe { ((rip - 5) as *const [u8; 5]).read_unaligned() };
    let blocks = next.starts_with(&[0x0f, 0x05]) && before == [0xb8, 14, 0, 0, 0];
    // mov qword ptr gs:[...], 1; mov rsp, gs:[...]
    let defers = next.starts_with(&[0x65, 0x48, 0xc7, 0x04, 0x25])
        && next.ends_with(&[1, 0, 0, 0, 0x65, 0x48, 0x8b, 0x24, 0x25]);
    if blocks || defers {
        LEFT.fetch_add(1, Relaxed);
        context.uc_mcontext.gregs[REG_EFL as usize] &= !(TRAP as i64);
    }
}

/// The context in the kernel's form.
fn native(context: &ucontext_t) -> Original {
    use libc::*;
    let places = [
        REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI, REG_R8, REG_R9, REG_R10,
        REG_R11, REG_R12, REG_R13, REG_R14, REG_R15,
    ];
    let word = |place: i32| context.uc_mcontext.gregs[place as usize] as u64;
    Original { gpr: places.map(word), rip: word(REG_RIP), rflags: word(REG_EFL) }
}

/// `a` rounds of [`fresh_round`] in the buffer at `b`, the trap flag set in each.
#[unsafe(naked)]
unsafe extern "C" fn stepped(_a: u64, _b: u64) -> u64 {
    naked_asm!(
        "push rbx",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        "push rbp",
        "mov rbx, rdi",
        "mov r12, rsi",
        "xor r13d, r13d",
        "2:",
        "xor eax, eax",
        "xor ecx, ecx",
        "xor edx, edx",
        "xor esi, esi",
        "xor edi, edi",
        "xor r8d, r8d",
        "xor r9d, r9d",
        "xor r10d, r10d",
        "xor r11d, r11d",
        "mov r14d, 0x100",
        "xor r15d, r15d",
        "xor ebp, ebp",
        "call {round}",
        // Flags are dead behind a return.
        "test rbx, rbx",
        "pushfq",
        "and qword ptr [rsp], ~0x100",
        "popfq",
        "dec rbx",
        "jnz 2b",
        "mov rax, r13",
        "pop rbp",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbx",
        "ret",
        round = sym fresh_round,
    )
}

/// Calls `function(a, b)` on a stack that is the same every time.
fn trace(how: impl FnOnce() -> u64) -> (u64, Vec<Step>) {
    // SAFETY: see `Trace`.
    let states = unsafe { &mut *TRACE.states.get() };
    *states = Vec::with_capacity(1 << 16);
    let result = how();
    (result, std::mem::take(states))
}

/// The processor does not trap between a system call and the next instruction, which is a `nop` here.
fn with_skipped(states: Vec<Step>) -> Vec<Step> {
    const NOP_BYTES: u64 = 1;
    let mut all: Vec<Step> = Vec::new();
    for step in states {
        if all.last().is_some_and(|last| decode(last.state.rip).code() == Code::Syscall) {
            all.push(Step { state: Original { rip: step.state.rip - NOP_BYTES, ..step.state }, ..step });
        }
        all.push(step);
    }
    all
}

/// The state without the parts that may differ: the address of the stack, and what the step itself sets.
fn comparable(state: &Original, stack: u64) -> Original {
    let mut state = *state;
    state.gpr[RSP] = state.gpr[RSP].wrapping_sub(stack);
    state.rflags &= !(TRAP | RESUME);
    state
}

/// Right after an instruction that sets the flag. In the cache a `nop` follows; natively the processor does not trap
/// there, unless the flag was set before.
fn is_behind_setting(state: &Original) -> bool {
    const POPFQ: u8 = 0x9d;
    // SAFETY: code that has run, which is the function's second instruction or a later one.
    let before = unsafe { ((state.rip - 1) as *const u8).read() };
    before == POPFQ && state.rflags & TRAP != 0
}

/// The function's instruction at `pc`.
fn decode(pc: u64) -> Instruction {
    // SAFETY: code that has run.
    let code = unsafe { std::slice::from_raw_parts(pc as *const u8, 15) };
    Decoder::with_ip(64, code, pc, DecoderOptions::NONE).decode()
}

/// The number of instructions that are examined for dead values.
const LOOK_AHEAD: usize = 60;

/// The arithmetic flags that are read on `path` before they are written. Calls and returns leave them dead.
fn live_flags(path: &[Step]) -> u64 {
    const PLACES: [(u32, u64); 6] = [
        (RflagsBits::CF, 1 << 0),
        (RflagsBits::PF, 1 << 2),
        (RflagsBits::AF, 1 << 4),
        (RflagsBits::ZF, 1 << 6),
        (RflagsBits::SF, 1 << 7),
        (RflagsBits::OF, 1 << 11),
    ];
    let (mut live, mut written) = (0, 0);
    for Step { state, .. } in path.iter().take(LOOK_AHEAD) {
        let instruction = decode(state.rip);
        // The value that a system call copies into R11 is never read.
        if instruction.code() == Code::Syscall {
            break;
        }
        live |= instruction.rflags_read() & !written;
        written |= instruction.rflags_modified();
        let flow = instruction.flow_control();
        if matches!(flow, FlowControl::Call | FlowControl::IndirectCall | FlowControl::Return) {
            break;
        }
    }
    PLACES.into_iter().filter(|(bit, _)| live & bit != 0).map(|(_, flag)| flag).sum()
}

/// Whether a register is read on `path` before it is written.
fn is_live(register: Register, path: &[Step]) -> bool {
    let mut factory = InstructionInfoFactory::new();
    for Step { state, .. } in path.iter().take(LOOK_AHEAD) {
        let instruction = decode(state.rip);
        let uses = |used: &&iced_x86::UsedRegister| used.register().full_register() == register;
        let accesses: Vec<OpAccess> = factory
            .info(&instruction)
            .used_registers()
            .iter()
            .filter(uses)
            .map(|used| used.access())
            .collect();
        if accesses.iter().any(|access| !matches!(access, OpAccess::Write)) {
            return true;
        }
        if !accesses.is_empty() {
            return false;
        }
    }
    false
}

/// Whether a state from the cache equals the native one at the beginning of `path`, except for dead values: flags,
/// R11 at calls, and what a system call destroys.
fn agrees(found: &Original, path: &[Step], stacks: [u64; 2]) -> bool {
    const ARITHMETIC: u64 = 0x8d5;
    let Some(native) = path.first().filter(|native| native.state.rip == found.rip) else { return false };
    let (mut found, native) = (comparable(found, stacks[0]), comparable(&native.state, stacks[1]));
    for (number, register) in [(RCX, Register::RCX), (R11, Register::R11)] {
        if !is_live(register, path) {
            found.gpr[number] = native.gpr[number];
        }
    }
    let ours = live_flags(path);
    found.rflags = found.rflags & !(ARITHMETIC & !ours) | native.rflags & ARITHMETIC & !ours;
    found == native
}

/// The test handles SIGTRAP itself, without the engine's knowledge.
fn trap_by_ourselves() {
    LEFT.store(0, Relaxed);
    reserve_signals(1 << (libc::SIGTRAP - 1));
    // SAFETY: plain data.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = trap as *const () as usize;
    action.sa_flags = libc::SA_SIGINFO;
    // SAFETY: a handler of this type.
    unsafe { libc::sigaction(libc::SIGTRAP, &raw const action, std::ptr::null_mut()) };
}

/// `a` times a loop of five rounds over the word at `b`, with the trap flag set.
#[unsafe(naked)]
unsafe extern "C" fn stepped_loops(_a: u64, _b: u64) -> u64 {
    naked_asm!(
        "mov r9, rdi",
        "mov r8d, 5",
        "2:",
        "xor ecx, ecx",
        "pushfq",
        "or qword ptr [rsp], 0x100",
        "popfq",
        "3:",
        "mov rdx, [rsi]",
        "add rcx, 1",
        "add rdx, 1",
        "mov [rsi], rdx",
        "cmp r8, rcx",
        "jne 3b",
        "pushfq",
        "and qword ptr [rsp], ~0x100",
        "popfq",
        "dec r9",
        "jnz 2b",
        "mov rax, [rsi]",
        "ret",
    )
}

/// Inside of a loop, too, the position is that of the instruction, wherever in the cache the thread is.
#[test]
fn every_instruction_of_a_loop_has_its_position() {
    let _turn = turn();
    trap_by_ourselves();
    const ROUNDS: u64 = 40;
    const EACH: u64 = 5;
    let mut word = 0u64;
    let (result, found) = trace(|| counted(stepped_loops, ROUNDS, (&raw mut word) as u64).0);
    assert_eq!(result, ROUNDS * EACH);
    // mov rdx, [rsi]
    let top = found.iter().map(|step| step.state.rip).find(|&pc| bytes_at(pc) == [0x48, 0x8b, 0x16]);
    let top = top.expect("the loop was stepped");
    // Accesses of a round of the outer loop: two pushes, two pops, two that read and write the stack; of the inner loop two.
    const OUTER: u64 = 4 + 4 + 2 * EACH;
    const R9: usize = 9;
    let mut begin = None;
    let mut steps = 0;
    for Step { state, position, .. } in found {
        let rounds = 2 * state.gpr[RCX];
        // By the end of each instruction; RCX grows at the second.
        let inside = match state.rip.wrapping_sub(top) {
            0 => rounds,
            3 => rounds + 1,
            7 | 11 => rounds - 1,
            14 | 17 | 19 => rounds,
            _ => continue,
        };
        let before = (ROUNDS - state.gpr[R9]) * OUTER + inside;
        let begins = position.expect("the thread is attached") - before;
        assert_eq!(
            *begin.get_or_insert(begins),
            begins,
            "at {:#x} in round {}",
            state.rip - top,
            state.gpr[RCX]
        );
        steps += 1;
    }
    // Some rounds end early, at the first exits.
    assert!(steps > ROUNDS * EACH * 6 / 2, "{steps} steps");
}

fn bytes_at(pc: u64) -> [u8; 3] {
    // SAFETY: code that has run.
    unsafe { (pc as *const [u8; 3]).read_unaligned() }
}

#[test]
fn every_instruction_of_the_cache_shows_the_programs_state() {
    let _turn = turn();
    trap_by_ourselves();

    let mut buffer = Buffer::new();
    const ROUNDS: u64 = 12;
    // SAFETY: the function's contract.
    let (expected, native) = trace(|| unsafe { stepped(ROUNDS, buffer.address()) });
    let native = with_skipped(native);
    let (result, found) = trace(|| counted(stepped, ROUNDS, buffer.address()).0);
    assert_eq!(result, expected);
    assert!(
        native.len() > 500 && found.len() > native.len(),
        "{} native, {} found",
        native.len(),
        found.len()
    );

    // Stack pointers are compared relative to where the function begins.
    let stacks = [found[0].state.gpr[RSP], native[0].state.gpr[RSP]];
    let (mut at, mut suspended) = (0, 0);
    for (number, step) in found.iter().enumerate() {
        // Added code preserves the state; the function's own code advances it by one instruction. Where there were no
        // steps it is a later one.
        let here = native.get(at..).unwrap_or_default();
        // Direct jumps have no code of their own.
        let jumps = here.iter().take(3).filter(|step| decode(step.state.rip).is_jmp_short_or_near()).count();
        let behind_setting = is_behind_setting(&step.state);
        let far = if step.suspended > suspended && !behind_setting { native.len() } else { 2 + jumps };
        let ahead = (0..here.len().min(far)).find(|&skip| agrees(&step.state, &here[skip..], stacks));
        if ahead.is_none() && behind_setting {
            continue;
        }
        suspended = step.suspended;
        let Some(skip) = ahead else {
            // SAFETY: code that has run.
            let code = unsafe { (step.rip as *const [u8; 16]).read_unaligned() };
            let natives: Vec<Original> = here.iter().take(2).map(|step| step.state).collect();
            panic!("step {number}, code {code:x?}\nfound {:x?}\nnative {natives:x?}", step.state);
        };
        at += skip;
    }
    // Where code leaves the cache from time to time, it may do so behind the last place where stepping begins again.
    let leaves = matches!(
        crate::MODE,
        carom_collect_translate::Mode::Time { .. } | carom_collect_translate::Mode::Episodes { .. }
    );
    let left_at_last = leaves && LEFT.load(Relaxed) > suspended;
    assert!(
        at == native.len() - 1 || left_at_last && at + 20 > native.len(),
        "the last state was met: {at} of {}",
        native.len()
    );
    // The first rounds end at exits that are not linked yet, and run the first instructions of the dispatcher.
    assert!((5..100).contains(&suspended), "{suspended}");
}
