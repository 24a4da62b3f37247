//! Runs sequences on this processor, natively and from the cache, and reads the resulting state.

use std::{
    arch::naked_asm,
    ffi::CString,
    fs,
    io::Write,
    os::fd::AsRawFd,
    ptr,
    sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering::Relaxed},
};

use carom_collect_translate::{Original, enter, original_registers};

use crate::{
    fault::Fault,
    place::{
        AREA_BYTES, BASE, CODE, CONSTANTS, CONTEXT, Context, DATA, MXCSR_VALUES, MXCSRS, OFFSETS_32,
        OFFSETS_64, X87_CONTROL_VALUES, X87_CONTROLS,
    },
    state::{COMPONENTS, State, Vectors},
};

/// How a run ended.
pub enum End {
    Left(State),
    /// It raised a signal ([`fault`]), or, natively, did not end.
    Faulted,
}

static mut HOST_STACK: u64 = 0;
static mut HOST: Vectors = Vectors::ZERO;
static mut BEFORE: Vectors = Vectors::ZERO;
static mut AFTER: Vectors = Vectors::ZERO;
/// What the signal handler does: see [`NATIVE`] and the others.
static KIND: AtomicU64 = AtomicU64::new(0);
static FAULTED: AtomicBool = AtomicBool::new(false);
static mut FAULT: Option<Fault> = None;
/// The number of runs, and the number at the last tick of the clock.
static RUNS: AtomicU64 = AtomicU64::new(0);
static RUNS_AT_TICK: AtomicU64 = AtomicU64::new(0);
/// The running sequence, for the last message.
pub static RUNNING: AtomicU64 = AtomicU64::new(0);

/// The number of jumps back of each kind in one run.
const JUMPS_BACK: i64 = 8;

const NATIVE: u64 = 1;
const TRANSLATED: u64 = 2;
const STEPPED: u64 = 3;
/// Runs in the cache that may fault, and that are single-stepped.
const MAY_FAULT: u64 = 4;
const TRACED: u64 = 5;

/// Makes the processor trap behind each instruction (Intel SDM volume 1, 3.4.3).
const TRAP_FLAG: u64 = 1 << 8;

fn context() -> *mut Context {
    ptr::with_exposed_provenance_mut(CONTEXT as usize)
}

/// Maps the memory, and installs the signal handlers.
pub fn prepare() {
    let private = libc::MAP_PRIVATE | libc::MAP_FIXED_NOREPLACE;
    let area = CODE as usize - BASE as usize;
    let base = ptr::with_exposed_provenance_mut(BASE as usize);
    // SAFETY: at an address where nothing is.
    let reserved = unsafe { libc::mmap(base, area, libc::PROT_NONE, private | libc::MAP_ANONYMOUS, -1, 0) };
    assert_eq!(reserved, base, "the place is taken");
    for (start, bytes) in [(DATA, AREA_BYTES), (CONTEXT, 0x2000)] {
        let start = ptr::with_exposed_provenance_mut(start as usize);
        // SAFETY: what was reserved above.
        let made = unsafe { libc::mprotect(start, bytes as usize, libc::PROT_READ | libc::PROT_WRITE) };
        assert_eq!(made, 0);
    }
    fill_constants();
    handle_signals();
}

/// Maps `bytes` as code at [`CODE`], in place of earlier code.
pub fn load(bytes: &[u8]) {
    let mut file = tempfile();
    file.write_all(bytes).expect("room for the code");
    let at = ptr::with_exposed_provenance_mut(CODE as usize);
    let (rights, flags) = (libc::PROT_READ | libc::PROT_EXEC, libc::MAP_PRIVATE | libc::MAP_FIXED);
    // SAFETY: nothing else is mapped there, and no sequence runs.
    let code = unsafe { libc::mmap(at, bytes.len(), rights, flags, file.as_raw_fd(), 0) };
    assert_eq!(code, at, "{}", std::io::Error::last_os_error());
}

/// A file without a name, on a file system: files in memory are not translated.
fn tempfile() -> fs::File {
    let folder = CString::new(env!("CARGO_TARGET_TMPDIR")).expect("a path");
    // SAFETY: a valid path.
    let fd = unsafe { libc::open(folder.as_ptr(), libc::O_TMPFILE | libc::O_RDWR | libc::O_CLOEXEC, 0o700) };
    assert!(fd >= 0, "{}", std::io::Error::last_os_error());
    // SAFETY: just opened.
    unsafe { std::os::fd::FromRawFd::from_raw_fd(fd) }
}

fn write(at: u64, bytes: &[u8]) {
    let to = ptr::with_exposed_provenance_mut(at as usize);
    // SAFETY: mapped by `map`, and nobody holds a reference.
    unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) };
}

fn fill_constants() {
    for lane in 0..16u64 {
        write(CONSTANTS + OFFSETS_32 + 4 * lane, &(lane as u32 * 7 % 40).to_le_bytes());
    }
    for lane in 0..8u64 {
        write(CONSTANTS + OFFSETS_64 + 8 * lane, &(lane * 11 % 40).to_le_bytes());
    }
    for (index, value) in MXCSR_VALUES.iter().enumerate() {
        write(CONSTANTS + MXCSRS + 4 * index as u64, &value.to_le_bytes());
    }
    for (index, value) in X87_CONTROL_VALUES.iter().enumerate() {
        write(CONSTANTS + X87_CONTROLS + 2 * index as u64, &value.to_le_bytes());
    }
}

/// Runs the sequence at `entry` natively.
pub fn native(entry: u64, before: &State) -> End {
    run(entry, before, NATIVE, 0)
}

/// Runs it in the cache.
pub fn translated(entry: u64, before: &State) -> State {
    match run(entry, before, TRANSLATED, 0) {
        End::Left(state) => state,
        End::Faulted => unreachable!("the handler ends the process"),
    }
}

/// Runs it in the cache, where it may fault.
pub fn translated_to_its_end(entry: u64, before: &State) -> End {
    run(entry, before, MAY_FAULT, 0)
}

/// How the last run faulted; `None` where it did not end.
pub fn fault() -> Option<Fault> {
    // SAFETY: no handler runs now.
    unsafe { FAULT }
}

/// What a single step shows: the address of an instruction, and the general registers in front of it by their
/// numbers.
pub type Visit = fn(u64, &[u64; 16]);

/// Runs it natively, step by step. A repeated instruction is seen once per iteration.
pub fn stepped(entry: u64, before: &State, visit: Visit) -> End {
    // SAFETY: no handler runs now.
    unsafe { VISIT = visit };
    run(entry, before, STEPPED, TRAP_FLAG)
}

/// Runs it in the cache, single-stepped up to where it leaves for the dispatcher. The steps show the translator's
/// context of the thread.
pub fn traced(entry: u64, before: &State, visit: Visit) {
    // SAFETY: no handler runs now.
    unsafe { VISIT = visit };
    run(entry, before, TRACED, TRAP_FLAG);
}

fn run(entry: u64, before: &State, kind: u64, trap: u64) -> End {
    let start = Context {
        before: before.gprs,
        flags_before: before.flags | trap,
        after: [0; 16],
        flags_after: 0,
        back: back as *const () as u64,
        fuel: JUMPS_BACK,
        flagless_fuel: JUMPS_BACK,
    };
    // SAFETY: mapped, and nobody else uses it.
    unsafe { context().write(start) };
    write(DATA, &before.memory);
    // SAFETY: one thread runs sequences.
    unsafe { BEFORE = (*before.vectors).clone() };
    // SAFETY: as above.
    unsafe { AFTER = Vectors::first() };
    FAULTED.store(false, Relaxed);
    // SAFETY: no handler runs now.
    unsafe { FAULT = None };
    RUNS.fetch_add(1, Relaxed);
    KIND.store(kind, Relaxed);
    // SAFETY: `map` put the sequence there; it ends in `back`.
    unsafe { go(entry, u64::from(matches!(kind, TRANSLATED | MAY_FAULT | TRACED)), trap) };
    KIND.store(0, Relaxed);
    if FAULTED.load(Relaxed) {
        return End::Faulted;
    }
    // SAFETY: written by the sequence, which has ended.
    let after = unsafe { context().read() };
    let mut memory = vec![0; AREA_BYTES as usize];
    let area = ptr::with_exposed_provenance::<u8>(DATA as usize);
    // SAFETY: mapped.
    unsafe { ptr::copy_nonoverlapping(area, memory.as_mut_ptr(), memory.len()) };
    let vectors = &raw const AFTER;
    // SAFETY: as above.
    let vectors = unsafe { vectors.read() }.comparable();
    End::Left(State { gprs: after.after, flags: after.flags_after & !trap, vectors, memory })
}

/// The code of [`back`], which must not be translated.
pub fn native_code() -> std::ops::Range<u64> {
    let start = back as *const () as u64;
    start..start + 64
}

/// Goes to `entry`, in the cache where `translated` is not 0, with `trap` in the flags.
#[unsafe(naked)]
unsafe extern "C" fn go(entry: u64, translated: u64, trap: u64) {
    naked_asm!(
        "push rbx", "push rbp", "push r12", "push r13", "push r14", "push r15",
        "mov r8, rdx",
        "mov [rip + {stack}], rsp",
        "mov eax, {components}",
        "xor edx, edx",
        "xsave64 [rip + {host}]",
        "xrstor64 [rip + {before}]",
        "mov rax, rdi",
        "test rsi, rsi",
        "jnz {enter}",
        "pushfq",
        "or [rsp], r8",
        "popfq",
        "jmp rax",
        stack = sym HOST_STACK,
        host = sym HOST,
        before = sym BEFORE,
        components = const COMPONENTS,
        enter = sym enter,
    )
}

/// Where sequences return to.
#[unsafe(naked)]
unsafe extern "C" fn back() {
    naked_asm!(
        "mov rsp, [rip + {stack}]",
        "mov eax, {components}",
        "xor edx, edx",
        "xsave64 [rip + {after}]",
        "push 2",
        "popfq",
        "xrstor64 [rip + {host}]",
        "pop r15", "pop r14", "pop r13", "pop r12", "pop rbp", "pop rbx",
        "ret",
        ".balign 64",
        stack = sym HOST_STACK,
        after = sym AFTER,
        host = sym HOST,
        components = const COMPONENTS,
    )
}

/// The signal of the clock that watches native runs: some overwrite a return address and never end.
const TICK: i32 = libc::SIGVTALRM;
const TICK_NS: i64 = 300_000_000;

/// Starts the clock (of this thread's CPU time), or stops it.
pub fn watch(on: bool) {
    static TIMER: AtomicPtr<libc::c_void> = AtomicPtr::new(ptr::null_mut());
    let period = libc::timespec { tv_sec: 0, tv_nsec: if on { TICK_NS } else { 0 } };
    let period = libc::itimerspec { it_interval: period, it_value: period };
    if on {
        // SAFETY: all zeroes is a valid value.
        let mut event: libc::sigevent = unsafe { std::mem::zeroed() };
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = TICK;
        // SAFETY: no arguments.
        event.sigev_notify_thread_id = unsafe { libc::gettid() };
        let mut timer = ptr::null_mut();
        // SAFETY: valid places.
        let made =
            unsafe { libc::timer_create(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut event, &raw mut timer) };
        assert_eq!(made, 0);
        TIMER.store(timer, Relaxed);
    }
    let timer = TIMER.load(Relaxed);
    // SAFETY: made above.
    assert_eq!(unsafe { libc::timer_settime(timer, 0, &raw const period, ptr::null_mut()) }, 0);
}

static mut VISIT: Visit = |_, _| {};

/// Where the kernel's context has the registers, by their numbers.
pub const PLACES: [i32; 16] = [
    libc::REG_RAX,
    libc::REG_RCX,
    libc::REG_RDX,
    libc::REG_RBX,
    libc::REG_RSP,
    libc::REG_RBP,
    libc::REG_RSI,
    libc::REG_RDI,
    libc::REG_R8,
    libc::REG_R9,
    libc::REG_R10,
    libc::REG_R11,
    libc::REG_R12,
    libc::REG_R13,
    libc::REG_R14,
    libc::REG_R15,
];

fn handle_signals() {
    const STACK_BYTES: usize = 1 << 18;
    let stack = Box::leak(vec![0u8; STACK_BYTES].into_boxed_slice());
    let stack = libc::stack_t { ss_sp: stack.as_mut_ptr().cast(), ss_flags: 0, ss_size: STACK_BYTES };
    // SAFETY: the memory is never freed.
    assert_eq!(unsafe { libc::sigaltstack(&raw const stack, ptr::null_mut()) }, 0);
    for signal in [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGTRAP, TICK] {
        // SAFETY: all zeroes is a valid value.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        action.sa_sigaction = on_signal as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
        // SAFETY: a valid action.
        assert_eq!(unsafe { libc::sigaction(signal, &raw const action, ptr::null_mut()) }, 0);
    }
}

/// A native run is given up. A translated one did not fault natively, so this is a difference.
extern "C" fn on_signal(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let context = context.cast::<libc::ucontext_t>();
    // SAFETY: the kernel's.
    let registers = unsafe { &mut (*context).uc_mcontext.gregs };
    let rip = registers[libc::REG_RIP as usize] as u64;
    let kind = KIND.load(Relaxed);
    // A run that has lasted from one tick to the next does not end.
    if signal == TICK && (kind == 0 || RUNS_AT_TICK.swap(RUNS.load(Relaxed), Relaxed) != RUNS.load(Relaxed)) {
        return;
    }
    if kind == STEPPED && signal == libc::SIGTRAP {
        if rip == back as *const () as u64 {
            registers[libc::REG_EFL as usize] &= !(TRAP_FLAG as i64);
        } else {
            // SAFETY: set before the run.
            let visit = unsafe { VISIT };
            visit(rip, &PLACES.map(|place| registers[place as usize] as u64));
        }
    } else if kind == TRACED && signal == libc::SIGTRAP {
        // SAFETY: the kernel's.
        trace(unsafe { &mut *context });
    } else if matches!(kind, NATIVE | STEPPED | MAY_FAULT) && (kind != MAY_FAULT || signal != TICK) {
        if signal != TICK {
            // SAFETY: the kernel's.
            let info = unsafe { &*info };
            // SAFETY: the kernel's.
            let context = unsafe { &*context };
            // SAFETY: one thread runs sequences, and waits.
            unsafe { FAULT = Some(Fault::of(signal, info, context)) };
        }
        FAULTED.store(true, Relaxed);
        registers[libc::REG_RIP as usize] = (back as *const ()).addr() as i64;
        registers[libc::REG_EFL as usize] = 2;
    } else {
        let running = RUNNING.load(Relaxed);
        println!("{} {running} signal {signal} at {rip:#x}", crate::child::FAILED);
        std::process::exit(crate::child::FAILURE);
    }
}

/// A step in the cache. There must be none in the dispatcher, which begins where signals are blocked or deferred.
fn trace(context: &mut libc::ucontext_t) {
    let rip = context.uc_mcontext.gregs[libc::REG_RIP as usize] as u64;
    if begins_dispatcher(rip) {
        context.uc_mcontext.gregs[libc::REG_EFL as usize] &= !(TRAP_FLAG as i64);
        return;
    }
    let found = original_registers(context);
    // SAFETY: set before the run.
    let visit = unsafe { VISIT };
    if let Some(Original { gpr, rip, .. }) =
        found.filter(|found| found.rip >= CODE && found.rip != back as *const () as u64)
    {
        visit(rip, &gpr);
    }
}

/// Whether the thread is about to run `mov eax, 14; syscall`, of which the first has been run, or the second of
/// `mov qword ptr gs:[A], 0; mov qword ptr gs:[B], 1`.
fn begins_dispatcher(rip: u64) -> bool {
    const BLOCKING: [u8; 5] = [0xb8, 14, 0, 0, 0];
    const SYSCALL: [u8; 2] = [0x0f, 0x05];
    const SETTING: [u8; 5] = [0x65, 0x48, 0xc7, 0x04, 0x25];
    const SETTING_BYTES: usize = 13;
    let code = ptr::with_exposed_provenance::<u8>(rip as usize);
    // SAFETY: the code that the thread is about to run, and what is in front of it: code is never the first of its page but in
    // sequences, in front of which there is memory, too; and never the last.
    let around =
        unsafe { code.wrapping_sub(SETTING_BYTES).cast::<[u8; 2 * SETTING_BYTES]>().read_unaligned() };
    let (before, next) = around.split_at(SETTING_BYTES);
    let sets = |code: &[u8], value: u8| code.starts_with(&SETTING) && code.ends_with(&[value, 0, 0, 0]);
    next.starts_with(&SYSCALL) && before.ends_with(&BLOCKING) || sets(before, 0) && sets(next, 1)
}
