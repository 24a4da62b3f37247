//! Runs laid-out sequences on this processor, natively and from the cache, and looks at what they left.

use std::{
    arch::{naked_asm, x86_64::__cpuid_count},
    ffi::CString,
    fs,
    io::Write,
    os::fd::AsRawFd,
    ptr,
    sync::atomic::{AtomicI32, AtomicU64, Ordering::Relaxed},
};

use carom_collect_translate::enter;

use crate::{
    place::{
        AREA_BYTES, BASE, CODE, CONSTANTS, CONTEXT, Context, DATA, MXCSR_VALUES, MXCSRS, OFFSETS_32,
        OFFSETS_64, STACK_START, X87_CONTROL_VALUES, X87_CONTROLS,
    },
    random::Random,
};

/// x87, SSE, AVX and AVX-512 state (Intel SDM volume 1, 13.1).
const COMPONENTS: u32 = 0b1110_0111;
const XSAVE_BYTES: usize = 4096;
/// Where the legacy region of an xsave area has what is compared or made here (Intel SDM volume 1, table 13-1).
const MXCSR: usize = 24;
const X87_REGISTERS: usize = 32;
const XMM: usize = 160;
const HEADER: usize = 512;
const HEADER_BYTES: usize = 64;
/// The address and the operand of the last x87 instruction, with its opcode: in the cache, another address.
const LAST_X87: std::ops::Range<usize> = 6..24;

#[repr(C, align(64))]
#[derive(Clone)]
pub struct Vectors(pub [u8; XSAVE_BYTES]);

/// What a run begins with, and what it left.
#[derive(Clone)]
pub struct State {
    pub gprs: [u64; 16],
    pub flags: u64,
    pub vectors: Box<Vectors>,
    pub memory: Vec<u8>,
}

/// How a run ended.
pub enum End {
    Left(State),
    /// A native run raised a signal.
    Faulted(i32),
}

static mut HOST_STACK: u64 = 0;
static mut HOST: Vectors = Vectors([0; XSAVE_BYTES]);
static mut BEFORE: Vectors = Vectors([0; XSAVE_BYTES]);
static mut AFTER: Vectors = Vectors([0; XSAVE_BYTES]);
/// What the signal handler does: see [`NATIVE`] and the others.
static KIND: AtomicU64 = AtomicU64::new(0);
static FAULT: AtomicI32 = AtomicI32::new(0);
/// Which sequence runs, for the last words.
pub static RUNNING: AtomicU64 = AtomicU64::new(0);

/// Jumps back of each kind in one run.
const JUMPS_BACK: i64 = 8;

const NATIVE: u64 = 1;
const TRANSLATED: u64 = 2;
const STEPPED: u64 = 3;

/// Flags that are set in the program's image (Intel SDM volume 1, 3.4.3).
const TRAP_FLAG: u64 = 1 << 8;
const FLAGS_AT_START: u64 = 0x8d5;

fn context() -> *mut Context {
    ptr::with_exposed_provenance_mut(CONTEXT as usize)
}

/// Maps the memory, and takes the signals.
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

/// Maps `bytes` as code at [`CODE`], in place of what was there.
pub fn load(bytes: &[u8]) {
    let mut file = tempfile();
    file.write_all(bytes).unwrap();
    let at = ptr::with_exposed_provenance_mut(CODE as usize);
    let (rights, flags) = (libc::PROT_READ | libc::PROT_EXEC, libc::MAP_PRIVATE | libc::MAP_FIXED);
    // SAFETY: nothing else is mapped there, and no sequence runs.
    let code = unsafe { libc::mmap(at, bytes.len(), rights, flags, file.as_raw_fd(), 0) };
    assert_eq!(code, at, "{}", std::io::Error::last_os_error());
}

/// A file without a name, on a file system: files in memory are not translated.
fn tempfile() -> fs::File {
    let folder = CString::new(env!("CARGO_TARGET_TMPDIR")).unwrap();
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

impl State {
    /// Anything, but the stack pointer, exceptions masked, and no trap.
    pub fn random(random: &mut Random) -> Self {
        let mut gprs = [0; 16].map(|_: u64| random.number());
        gprs[4] = STACK_START;
        let mut vectors = FILLINGS.with(|fillings| fillings[random.below(FILLINGS_COUNT) as usize].0.clone());
        let memory = FILLINGS.with(|fillings| fillings[random.below(FILLINGS_COUNT) as usize].1.clone());
        let area = &mut vectors.0;
        area[0..2].copy_from_slice(&random.pick(&X87_CONTROL_VALUES).to_le_bytes());
        area[4] = random.word() as u8;
        area[MXCSR..MXCSR + 4].copy_from_slice(&random.pick(&MXCSR_VALUES).to_le_bytes());
        Self { gprs, flags: random.word() & FLAGS_AT_START | 2, vectors, memory }
    }

    /// What differs, and how.
    pub fn differences(&self, other: &Self) -> Vec<String> {
        let mut found = Vec::new();
        for (number, (one, two)) in self.gprs.iter().zip(&other.gprs).enumerate() {
            if one != two {
                found.push(format!(
                    "{:?}: {one:#x} natively, {two:#x} translated",
                    crate::sequence::GPRS[number]
                ));
            }
        }
        if self.flags != other.flags {
            found.push(format!("flags: {:#x} natively, {:#x} translated", self.flags, other.flags));
        }
        let first = |one: &[u8], two: &[u8]| {
            (one != two).then(|| one.iter().zip(two).position(|(one, two)| one != two).unwrap_or_default())
        };
        if let Some(at) = first(&self.vectors.0, &other.vectors.0) {
            found.push(format!(
                "xsave area at byte {at}: {:#x} and {:#x}",
                self.vectors.0[at], other.vectors.0[at]
            ));
        }
        if let Some(at) = first(&self.memory, &other.memory) {
            let address = DATA + at as u64;
            found.push(format!("memory at {address:#x}: {:#x} and {:#x}", self.memory[at], other.memory[at]));
        }
        found
    }
}

const FILLINGS_COUNT: u64 = 64;

thread_local! {
    /// Vector registers and memory to begin with. Made once: they are many words.
    static FILLINGS: Vec<(Box<Vectors>, Vec<u8>)> = (0..FILLINGS_COUNT).map(filling).collect();
}

fn filling(seed: u64) -> (Box<Vectors>, Vec<u8>) {
    let mut random = Random::of(seed, FILLINGS_COUNT);
    let mut vectors = Box::new(Vectors([0; XSAVE_BYTES]));
    let area = &mut vectors.0;
    for register in 0..8 {
        let number = (random.number() as i64 as f64).to_bits();
        area[X87_REGISTERS + 16 * register..][..8].copy_from_slice(&(number | 1 << 63).to_le_bytes());
        area[X87_REGISTERS + 16 * register + 8..][..2]
            .copy_from_slice(&(0x3fff + random.below(64) as u16).to_le_bytes());
    }
    let mut fill = |bytes: &mut [u8]| {
        for word in bytes.chunks_exact_mut(8) {
            // Floats of moderate size are half of the lanes: most instructions do nothing interesting with others.
            let float = random.chance(50);
            let value =
                if float { (random.below(1 << 20) as f64 / 1024.0).to_bits() } else { random.number() };
            word.copy_from_slice(&value.to_le_bytes());
        }
    };
    fill(&mut area[XMM..XMM + 256]);
    for component in [2, 5, 6, 7] {
        let (start, bytes) = component_place(component);
        fill(&mut area[start..start + bytes]);
    }
    area[HEADER..HEADER + 8].copy_from_slice(&u64::from(present()).to_le_bytes());
    let mut memory = vec![0; AREA_BYTES as usize];
    fill(&mut memory);
    (vectors, memory)
}

/// Offset and size of a component in the standard format.
fn component_place(component: u32) -> (usize, usize) {
    let leaf = __cpuid_count(0xd, component);
    if present() >> component & 1 == 0 { (0, 0) } else { (leaf.ebx as usize, leaf.eax as usize) }
}

fn present() -> u32 {
    __cpuid_count(0xd, 0).eax & COMPONENTS
}

/// Runs the sequence at `entry` natively.
pub fn native(entry: u64, before: &State) -> End {
    run(entry, before, NATIVE, 0)
}

/// Runs it in the cache.
pub fn translated(entry: u64, before: &State) -> State {
    match run(entry, before, TRANSLATED, 0) {
        End::Left(state) => state,
        End::Faulted(_) => unreachable!("the handler ends the process"),
    }
}

/// Runs it natively, step by step; `visit` sees the address of each instruction and RCX in front of it. A repeated
/// instruction is seen once per iteration.
pub fn stepped(entry: u64, before: &State, visit: fn(u64, u64)) -> End {
    // SAFETY: no handler runs now.
    unsafe { VISIT = visit };
    run(entry, before, STEPPED, TRAP_FLAG)
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
    // What a component in its first state looks like: zeroes, but for the x87 control word.
    let mut first = Vectors([0; XSAVE_BYTES]);
    first.0[0..2].copy_from_slice(&0x37fu16.to_le_bytes());
    // SAFETY: as above.
    unsafe { AFTER = first };
    FAULT.store(0, Relaxed);
    KIND.store(kind, Relaxed);
    // SAFETY: `map` put the sequence there; it ends in `back`.
    unsafe { go(entry, u64::from(kind == TRANSLATED), trap) };
    KIND.store(0, Relaxed);
    let fault = FAULT.load(Relaxed);
    if fault != 0 {
        return End::Faulted(fault);
    }
    // SAFETY: written by the sequence, which has ended.
    let after = unsafe { context().read() };
    let mut memory = vec![0; AREA_BYTES as usize];
    let area = ptr::with_exposed_provenance::<u8>(DATA as usize);
    // SAFETY: mapped.
    unsafe { ptr::copy_nonoverlapping(area, memory.as_mut_ptr(), memory.len()) };
    // SAFETY: as above.
    let mut vectors = Box::new(unsafe { (*(&raw const AFTER)).clone() });
    vectors.0[LAST_X87].fill(0);
    // Which components are in their first state, the processor tells as it likes; they are filled in.
    vectors.0[HEADER..HEADER + HEADER_BYTES].fill(0);
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

static mut VISIT: fn(u64, u64) = |_, _| {};

fn handle_signals() {
    const STACK_BYTES: usize = 1 << 18;
    let stack = Box::leak(vec![0u8; STACK_BYTES].into_boxed_slice());
    let stack = libc::stack_t { ss_sp: stack.as_mut_ptr().cast(), ss_flags: 0, ss_size: STACK_BYTES };
    // SAFETY: the memory is never freed.
    assert_eq!(unsafe { libc::sigaltstack(&raw const stack, ptr::null_mut()) }, 0);
    for signal in [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGTRAP] {
        // SAFETY: all zeroes is a valid value.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        action.sa_sigaction = on_signal as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
        // SAFETY: a valid action.
        assert_eq!(unsafe { libc::sigaction(signal, &raw const action, ptr::null_mut()) }, 0);
    }
}

/// A native run is given up; a translated one was seen not to fault natively, so this is a difference.
extern "C" fn on_signal(signal: i32, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let context = context.cast::<libc::ucontext_t>();
    // SAFETY: the kernel's.
    let registers = unsafe { &mut (*context).uc_mcontext.gregs };
    let rip = registers[libc::REG_RIP as usize] as u64;
    let kind = KIND.load(Relaxed);
    if kind == STEPPED && signal == libc::SIGTRAP {
        if rip == back as *const () as u64 {
            registers[libc::REG_EFL as usize] &= !(TRAP_FLAG as i64);
        } else {
            // SAFETY: set before the run.
            let visit = unsafe { VISIT };
            visit(rip, registers[libc::REG_RCX as usize] as u64);
        }
    } else if kind == NATIVE || kind == STEPPED {
        FAULT.store(signal, Relaxed);
        registers[libc::REG_RIP as usize] = (back as *const ()).addr() as i64;
        registers[libc::REG_EFL as usize] = 2;
    } else {
        let running = RUNNING.load(Relaxed);
        println!("{} {running} signal {signal} at {rip:#x}", crate::child::FAILED);
        std::process::exit(crate::child::FAILURE);
    }
}
