//! Threads that leave the cache, and come back or do not.
#![allow(clippy::unwrap_used)] // What a test cannot have fails it.

mod support;

use std::{
    arch::naked_asm,
    sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
};

use carom_collect_translate::{Leave, defer_signal, reserve_signals, witness};
use support::{counted, try_run};

/// Rounds of adding 1 to every register but the arguments and the stack's, and to a vector register and the word at `a`,
/// until the word at `b` is not 0. All must then be equal: returns how many are not.
#[unsafe(naked)]
unsafe extern "C" fn rounds(_: u64, _: u64) -> u64 {
    naked_asm!(
        "push rbx",
        "push rbp",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        "xor eax, eax",
        "xor ebx, ebx",
        "xor ecx, ecx",
        "xor edx, edx",
        "xor ebp, ebp",
        "xor r8d, r8d",
        "xor r9d, r9d",
        "xor r10d, r10d",
        "xor r11d, r11d",
        "xor r12d, r12d",
        "xor r13d, r13d",
        "xor r14d, r14d",
        "xor r15d, r15d",
        "pxor xmm0, xmm0",
        "pcmpeqd xmm1, xmm1",
        "2:",
        "inc rax",
        "inc rbx",
        "inc rcx",
        "inc rdx",
        "inc rbp",
        "inc r8",
        "inc r9",
        "inc r10",
        "inc r11",
        "inc r12",
        "inc r13",
        "inc r14",
        "inc r15",
        "psubq xmm0, xmm1",
        "inc qword ptr [rdi]",
        "cmp qword ptr [rsi], 0",
        "je 2b",
        "xor rbx, rax",
        "xor rcx, rax",
        "xor rdx, rax",
        "xor rbp, rax",
        "xor r8, rax",
        "xor r9, rax",
        "xor r10, rax",
        "xor r11, rax",
        "xor r12, rax",
        "xor r13, rax",
        "xor r14, rax",
        "xor r15, rax",
        "or rbx, rcx",
        "or rbx, rdx",
        "or rbx, rbp",
        "or rbx, r8",
        "or rbx, r9",
        "or rbx, r10",
        "or rbx, r11",
        "or rbx, r12",
        "or rbx, r13",
        "or rbx, r14",
        "or rbx, r15",
        "movq rcx, xmm0",
        "xor rcx, rax",
        "or rbx, rcx",
        "xor rax, [rdi]",
        "or rax, rbx",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbp",
        "pop rbx",
        "ret",
    )
}

/// Instructions of a round.
const ROUND: i64 = 17;

/// Instructions behind them, up to the return.
const AFTER_ROUNDS: i64 = 12 + 11 + 3 + 2 + 6 + 1;

/// Code made at run time, which is not translated: it jumps to [`rounds`].
fn trampoline() -> u64 {
    let protection = libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a new mapping.
    let page = unsafe { libc::mmap(std::ptr::null_mut(), 4096, protection, flags, -1, 0) };
    assert_ne!(page, libc::MAP_FAILED);
    // mov rax, imm64; jmp rax
    let mut code = [0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xe0];
    code[2..10].copy_from_slice(&(rounds as *const () as u64).to_le_bytes());
    // SAFETY: in the page.
    unsafe { page.cast::<[u8; 12]>().write(code) };
    page as u64
}

/// Of thread CPU time between two signals, as if a timer sent them.
const TICK_NS: u64 = 1_000_000;

static COMEBACKS: AtomicUsize = AtomicUsize::new(0);
static REFUSALS: AtomicUsize = AtomicUsize::new(0);

extern "C" fn on_signal(signal: libc::c_int, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
    if defer_signal(signal, context.cast(), on_signal as *const () as u64) {
        return;
    }
    // SAFETY: the kernel passes a context.
    let context = unsafe { &mut *context.cast::<libc::ucontext_t>() };
    let tried = if witness(context, TICK_NS) { &COMEBACKS } else { &REFUSALS };
    tried.fetch_add(1, Relaxed);
}

/// This signal is the test's own, as if the test were the embedder. Before the engine starts.
fn handle(signal: libc::c_int) {
    reserve_signals(1 << (signal - 1));
    // SAFETY: an empty action.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = on_signal as *const () as usize;
    action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
    // SAFETY: valid places.
    unsafe { libc::sigfillset(&raw mut action.sa_mask) };
    // SAFETY: a handler of this signal's type.
    assert_eq!(unsafe { libc::sigaction(signal, &raw const action, std::ptr::null_mut()) }, 0);
}

/// Begins in code that is not translated and runs natively, until a signal brings the thread back. Further signals
/// find it in the cache, and change nothing.
#[test]
fn a_thread_comes_back_with_all_its_registers() {
    handle(libc::SIGUSR1);
    let (count, stop) = (AtomicU64::new(0), AtomicU64::new(0));
    let code = trampoline();
    // SAFETY: it jumps to a function of two words.
    let function: support::Function = unsafe { std::mem::transmute(code) };
    // SAFETY: no arguments.
    let thread = unsafe { libc::pthread_self() };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while count.load(Relaxed) == 0 {
                std::thread::yield_now();
            }
            for sent in 1..=50 {
                // SAFETY: the thread waits for this one.
                assert_eq!(unsafe { libc::pthread_kill(thread, libc::SIGUSR1) }, 0);
                while COMEBACKS.load(Relaxed) + REFUSALS.load(Relaxed) < sent {
                    std::thread::yield_now();
                }
            }
            stop.store(1, Relaxed);
        });
        let (unequal, totals) = counted(function, count.as_ptr() as u64, stop.as_ptr() as u64);
        assert_eq!(unequal, 0);
        assert_eq!((COMEBACKS.load(Relaxed), REFUSALS.load(Relaxed)), (1, 49));
        // Into the trampoline, and back to this test.
        let coverage = totals.coverage;
        assert_eq!(coverage.leaves[Leave::ForeignCode as usize], 2);
        assert!(0 < coverage.outside_ns && coverage.outside_ns < coverage.cpu_ns, "{coverage:?}");
        // Not all rounds were made in the cache, but those since the thread came back were.
        let all = ROUND * count.load(Relaxed) as i64 + AFTER_ROUNDS;
        assert!(
            AFTER_ROUNDS + ROUND < totals.instructions && totals.instructions < all,
            "{totals:?} of {all}"
        );
    });
}

/// arch_prctl(ARCH_SET_GS, a); then returns GS.
#[unsafe(naked)]
unsafe extern "C" fn set_gs(_: u64, _: u64) -> u64 {
    naked_asm!("mov rsi, rdi", "mov edi, 0x1001", "mov eax, 158", "syscall", "rdgsbase rax", "ret")
}

/// arch_prctl(ARCH_GET_GS, a).
#[unsafe(naked)]
unsafe extern "C" fn get_gs(_: u64, _: u64) -> u64 {
    naked_asm!("mov rsi, rdi", "mov edi, 0x1004", "mov eax, 158", "syscall", "ret")
}

#[test]
fn a_program_that_uses_gs_has_it() {
    handle(libc::SIGUSR1);
    let mut base = 1u64;
    assert_eq!(counted(get_gs, &raw mut base as u64, 0).0, 0);
    // SAFETY: written by the kernel.
    assert_eq!(unsafe { (&raw const base).read_volatile() }, 0);
    assert_eq!(counted(get_gs, 8, 0).0 as i64, -i64::from(libc::EFAULT));
    assert_eq!(try_run(get_gs, 1 << 63, 0).0 as i64, -i64::from(libc::EFAULT));
    std::thread::spawn(|| {
        let (base, totals) = try_run(set_gs, 0x1234_5678_9000, 0);
        assert_eq!(base, 0x1234_5678_9000);
        // What it had counted until it left for good.
        assert!(totals.is_some_and(|totals| totals.coverage.leaves[Leave::ProgramGs as usize] == 1));
    })
    .join()
    .unwrap();
}
