//! Handlers that are installed and run in the cache.

use std::sync::{
    Mutex, MutexGuard, PoisonError,
    atomic::{AtomicU64, Ordering::Relaxed},
};

use carom_base::Access;
use carom_base_insn::Registers;
use carom_collect_translate::{Batch, Counts, DrawnAs, Observer, Totals, bound_cache};
use libc::{SA_NODEFER, SA_ONSTACK, SA_RESETHAND, SA_RESTART, SA_SIGINFO, SIGALRM, SIGUSR1, SIGUSR2};

use crate::support::{begin, counted, note_executed, unsignalled};

pub type Handler = extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::ucontext_t);

pub fn install(signal: i32, handler: Handler, flags: i32, blocked: &[i32]) {
    // SAFETY: plain data.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = handler as *const () as usize;
    action.sa_flags = flags | SA_SIGINFO;
    for signal in blocked {
        // SAFETY: a set and a signal.
        unsafe { libc::sigaddset(&raw mut action.sa_mask, *signal) };
    }
    // SAFETY: a handler of this type.
    assert_eq!(unsafe { libc::sigaction(signal, &raw const action, std::ptr::null_mut()) }, 0);
}

pub fn current_handler(signal: i32) -> usize {
    // SAFETY: plain data.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: only asks.
    unsafe { libc::sigaction(signal, std::ptr::null(), &raw mut action) };
    action.sa_sigaction
}

/// The calling thread's mask, one bit per signal.
pub fn mask() -> u64 {
    // SAFETY: plain data.
    let mut set: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: only asks.
    unsafe { libc::pthread_sigmask(0, std::ptr::null(), &raw mut set) };
    // SAFETY: the kernel's part.
    unsafe { (&raw const set).cast::<u64>().read() }
}

pub fn raise(signal: i32) {
    let process = std::process::id();
    // SAFETY: no arguments.
    let thread = unsafe { libc::gettid() };
    // SAFETY: to the calling thread.
    unsafe { libc::syscall(libc::SYS_tgkill, process, thread, signal) };
}

fn bit(signal: i32) -> u64 {
    1 << (signal - 1)
}

static SEEN: AtomicU64 = AtomicU64::new(0);
static MASKS: [AtomicU64; 2] = [AtomicU64::new(0), AtomicU64::new(0)];

extern "C" fn note(signal: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::ucontext_t) {
    // SAFETY: the kernel's argument.
    assert_eq!(unsafe { (*info).si_signo }, signal);
    MASKS[0].store(mask(), Relaxed);
    SEEN.fetch_add(1, Relaxed);
}

extern "C" fn raises_the_other(_: libc::c_int, _: *mut libc::siginfo_t, _: *mut libc::ucontext_t) {
    raise(SIGUSR2);
    MASKS[1].store(mask(), Relaxed);
    SEEN.fetch_add(100, Relaxed);
}

extern "C" fn recurses(signal: libc::c_int, _: *mut libc::siginfo_t, _: *mut libc::ucontext_t) {
    if SEEN.fetch_add(1, Relaxed) < 4 {
        raise(signal);
    }
}

/// Actions belong to the process: tests take turns.
pub fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    begin(crate::MODE, &Raiser);
    if let Some((arenas, blocks)) = crate::BOUND {
        unsignalled(|| bound_cache(arenas, blocks));
    }
    SEEN.store(0, Relaxed);
    turn
}

/// A signal to send at every sample, or 0.
pub static RAISE_AT_SAMPLES: AtomicU64 = AtomicU64::new(0);

/// Sends signals in the dispatcher: they arrive on the way back from it.
struct Raiser;

impl Observer for Raiser {
    fn sampled(&self, _: &Registers<'_>, _: &Access, _: DrawnAs, _: f32) {
        let signal = RAISE_AT_SAMPLES.load(Relaxed) as i32;
        if signal != 0 {
            raise(signal);
        }
    }

    /// In one way, then in the other.
    fn takes_samples_early(&self) -> bool {
        static TURN: AtomicU64 = AtomicU64::new(0);
        TURN.fetch_add(1, Relaxed).is_multiple_of(2)
    }

    fn ending(&self, _: &mut dyn Iterator<Item = (u64, Totals)>) {}

    fn executed(&self, instructions: &mut dyn Iterator<Item = (u64, Counts)>) {
        note_executed(instructions);
    }

    fn streamed(&self, _: u64, batch: &Batch<'_>) {
        batch.for_each(|access| {
            STREAMED[0].fetch_add(u64::from(access.kind.reads()), Relaxed);
            STREAMED[1].fetch_add(u64::from(access.kind.writes()), Relaxed);
        });
    }
}

/// Loads and stores that were handed over.
pub static STREAMED: [AtomicU64; 2] = [AtomicU64::new(0), AtomicU64::new(0)];

fn in_cache(function: unsafe extern "C" fn(u64, u64) -> u64) -> u64 {
    counted(function, 0, 0).0
}

/// A timer that sends a signal to the calling thread, until it is dropped.
pub struct Timer(libc::timer_t);

impl Timer {
    pub fn start(clock: libc::clockid_t, signal: i32, period_us: i64) -> Self {
        // SAFETY: plain data.
        let mut event: libc::sigevent = unsafe { std::mem::zeroed() };
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = signal;
        // SAFETY: no arguments.
        event.sigev_notify_thread_id = unsafe { libc::gettid() };
        let mut timer = Self(std::ptr::null_mut());
        // SAFETY: valid places.
        assert_eq!(unsafe { libc::timer_create(clock, &raw mut event, &raw mut timer.0) }, 0);
        let period = libc::timespec { tv_sec: 0, tv_nsec: 1000 * period_us };
        let both = libc::itimerspec { it_interval: period, it_value: period };
        // SAFETY: a timer that was just made.
        assert_eq!(unsafe { libc::timer_settime(timer.0, 0, &raw const both, std::ptr::null_mut()) }, 0);
        timer
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        // SAFETY: made by `start`.
        unsafe { libc::timer_delete(self.0) };
    }
}

/// One handler, twice: it gets its signal, which is blocked meanwhile, with those in sa_mask, and not afterwards.
#[test]
fn a_handler_runs_and_returns() {
    let _turn = turn();
    unsafe extern "C" fn body(_: u64, _: u64) -> u64 {
        install(SIGUSR1, note, 0, &[SIGALRM]);
        let before = mask();
        raise(SIGUSR1);
        raise(SIGUSR1);
        assert_eq!(mask(), before);
        assert_eq!(current_handler(SIGUSR1), note as *const () as usize);
        SEEN.load(Relaxed)
    }
    assert_eq!(in_cache(body), 2);
    assert_eq!(MASKS[0].load(Relaxed) & (bit(SIGUSR1) | bit(SIGALRM)), bit(SIGUSR1) | bit(SIGALRM));
}

/// The second handler interrupts the first, and sees both signals blocked.
#[test]
fn handlers_nest() {
    let _turn = turn();
    unsafe extern "C" fn body(_: u64, _: u64) -> u64 {
        install(SIGUSR1, raises_the_other, 0, &[]);
        install(SIGUSR2, note, 0, &[]);
        raise(SIGUSR1);
        SEEN.load(Relaxed)
    }
    assert_eq!(in_cache(body), 101);
    assert_eq!(MASKS[0].load(Relaxed) & (bit(SIGUSR1) | bit(SIGUSR2)), bit(SIGUSR1) | bit(SIGUSR2));
    assert_eq!(MASKS[1].load(Relaxed) & (bit(SIGUSR1) | bit(SIGUSR2)), bit(SIGUSR1));
}

/// Without SA_NODEFER the raises inside would wait: five nested runs.
#[test]
fn nodefer_lets_a_handler_interrupt_itself() {
    let _turn = turn();
    unsafe extern "C" fn body(_: u64, _: u64) -> u64 {
        install(SIGUSR1, recurses, SA_NODEFER, &[]);
        raise(SIGUSR1);
        SEEN.load(Relaxed)
    }
    assert_eq!(in_cache(body), 5);
}

#[test]
fn resethand_drops_the_handler() {
    let _turn = turn();
    unsafe extern "C" fn body(_: u64, _: u64) -> u64 {
        install(SIGUSR1, note, SA_RESETHAND, &[]);
        raise(SIGUSR1);
        assert_eq!(current_handler(SIGUSR1), libc::SIG_DFL);
        SEEN.load(Relaxed)
    }
    assert_eq!(in_cache(body), 1);
}

/// A mask that a handler sets ends with it; one that it writes into its context stays.
#[test]
fn masks_set_in_handlers() {
    let _turn = turn();
    extern "C" fn blocks(_: libc::c_int, _: *mut libc::siginfo_t, context: *mut libc::ucontext_t) {
        // SAFETY: plain data.
        let mut set: libc::sigset_t = unsafe { std::mem::zeroed() };
        // SAFETY: a set and a signal.
        unsafe { libc::sigaddset(&raw mut set, SIGUSR2) };
        // SAFETY: a valid set.
        unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()) };
        // SAFETY: the kernel's argument.
        let blocked = unsafe { &raw mut (*context).uc_sigmask };
        // SAFETY: a set of the context's.
        unsafe { libc::sigaddset(blocked, SIGALRM) };
    }
    unsafe extern "C" fn body(_: u64, _: u64) -> u64 {
        install(SIGUSR1, blocks, 0, &[]);
        raise(SIGUSR1);
        let found = mask();
        // SAFETY: plain data.
        let none: libc::sigset_t = unsafe { std::mem::zeroed() };
        // SAFETY: a valid set.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut()) };
        found
    }
    assert_eq!(in_cache(body) & (bit(SIGUSR1) | bit(SIGUSR2) | bit(SIGALRM)), bit(SIGALRM));
}

/// The smallest stack that the system allows (AT_MINSIGSTKSZ), beyond which nothing is accessible.
#[test]
fn a_small_stack_of_its_own() {
    let _turn = turn();
    extern "C" fn where_am_i(_: libc::c_int, _: *mut libc::siginfo_t, _: *mut libc::ucontext_t) {
        let here = 0u8;
        MASKS[0].store((&raw const here) as u64, Relaxed);
        SEEN.fetch_add(1, Relaxed);
    }
    unsafe extern "C" fn body(stack: u64, bytes: u64) -> u64 {
        let stack = libc::stack_t { ss_sp: stack as *mut libc::c_void, ss_flags: 0, ss_size: bytes as usize };
        // SAFETY: the caller's memory.
        assert_eq!(unsafe { libc::sigaltstack(&raw const stack, std::ptr::null_mut()) }, 0);
        install(SIGUSR1, where_am_i, SA_ONSTACK, &[]);
        raise(SIGUSR1);
        let off = libc::stack_t { ss_flags: libc::SS_DISABLE, ..stack };
        // SAFETY: no stack.
        unsafe { libc::sigaltstack(&raw const off, std::ptr::null_mut()) };
        SEEN.load(Relaxed)
    }
    // SAFETY: reads the auxiliary vector.
    let least = unsafe { libc::getauxval(libc::AT_MINSIGSTKSZ) }.max(2048) + 512;
    const PAGE: u64 = 4096;
    let bytes = least.next_multiple_of(PAGE);
    // SAFETY: new memory.
    let memory = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            (bytes + PAGE) as usize,
            libc::PROT_NONE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    } as u64;
    // SAFETY: of that memory.
    unsafe {
        libc::mprotect(
            (memory + PAGE) as *mut libc::c_void,
            bytes as usize,
            libc::PROT_READ | libc::PROT_WRITE,
        )
    };
    let stack = memory + PAGE + bytes - least;
    assert_eq!(counted(body, stack, least).0, 1);
    assert!((stack..stack + least).contains(&MASKS[0].load(Relaxed)));
}

/// A read that blocks ends with EINTR, or goes on when SA_RESTART is given, until the handler's second run has written.
#[test]
fn interrupted_system_calls() {
    let _turn = turn();
    static PIPE: AtomicU64 = AtomicU64::new(0);
    extern "C" fn writes(_: libc::c_int, _: *mut libc::siginfo_t, _: *mut libc::ucontext_t) {
        if SEEN.fetch_add(1, Relaxed) == 2 {
            // SAFETY: an open pipe.
            unsafe { libc::write(PIPE.load(Relaxed) as i32, c"x".as_ptr().cast(), 1) };
        }
    }
    unsafe extern "C" fn body(from: u64, _: u64) -> u64 {
        let mut byte = 0u8;
        let place = (&raw mut byte).cast::<libc::c_void>();
        install(SIGALRM, writes, 0, &[]);
        let _timer = Timer::start(libc::CLOCK_MONOTONIC, SIGALRM, 5000);
        // SAFETY: an open pipe and a byte.
        let interrupted = unsafe { libc::read(from as i32, place, 1) };
        let why = std::io::Error::last_os_error().raw_os_error();
        assert_eq!((interrupted, why), (-1, Some(libc::EINTR)));
        install(SIGALRM, writes, SA_RESTART, &[]);
        // SAFETY: an open pipe and a byte.
        let read = unsafe { libc::read(from as i32, place, 1) };
        read as u64
    }
    let mut ends = [0i32; 2];
    // SAFETY: room for two.
    unsafe { libc::pipe(ends.as_mut_ptr()) };
    PIPE.store(ends[1] as u64, Relaxed);
    assert_eq!(counted(body, ends[0] as u64, 0).0, 1);
}

/// The kernel's refusals stay refusals, and bad pointers are errors.
#[test]
fn bad_arguments() {
    let _turn = turn();
    unsafe extern "C" fn body(_: u64, _: u64) -> u64 {
        let raw = |signal: i32, new: u64, old: u64, bytes: u64| {
            // SAFETY: the kernel, or the engine in its place, checks the pointers.
            let result = unsafe { libc::syscall(libc::SYS_rt_sigaction, signal, new, old, bytes) };
            if result < 0 { std::io::Error::last_os_error().raw_os_error().unwrap_or(0) } else { 0 }
        };
        let mut action = [0u64; 4];
        let place = action.as_mut_ptr() as u64;
        assert_eq!(raw(SIGUSR1, 8, 0, 8), libc::EFAULT);
        assert_eq!(raw(SIGUSR1, 0, 8, 8), libc::EFAULT);
        assert_eq!(raw(SIGUSR1, 0, place, 16), libc::EINVAL);
        assert_eq!(raw(libc::SIGKILL, place, 0, 8), libc::EINVAL);
        assert_eq!(raw(65, 0, place, 8), libc::EINVAL);
        assert_eq!(raw(0, 0, place, 8), libc::EINVAL);
        assert_eq!(raw(libc::SIGKILL, 0, place, 8), 0);
        0
    }
    in_cache(body);
}
