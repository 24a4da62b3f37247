//! Runs a function from the cache, on the calling thread.

#![allow(dead_code)] // Each test uses some of it.

pub mod heap;
pub mod kernels;

use std::{
    arch::naked_asm,
    iter,
    sync::{
        Mutex, Once, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use carom_base::Access;
use carom_base_insn::Registers;
use carom_collect_translate::{
    Counts, DrawnAs, Mode, Observer, Totals, assume_superblocks, attach, begin_episode, count_by_instruction,
    detach, end_episode, enter, start, tell_totals,
};

pub type Function = unsafe extern "C" fn(u64, u64) -> u64;

/// The counts of threads that ended in the cache.
pub static ENDED: Mutex<Vec<Totals>> = Mutex::new(Vec::new());

/// Where the instructions of all threads are added up when the process ends: a word that processes share, or 0.
pub static ENDING: AtomicU64 = AtomicU64::new(0);

/// What instructions have executed, as the engine told it since the last call of [`executed`].
static EXECUTED: Mutex<Vec<(u64, Counts)>> = Mutex::new(Vec::new());

pub struct Tester;

impl Observer for Tester {
    fn sampled(&self, _: &Registers<'_>, _: &Access, _: DrawnAs, _: f32) {}

    /// Samples that cannot be taken early are taken as usual.
    fn takes_samples_early(&self) -> bool {
        true
    }

    fn ending(&self, threads: &mut dyn Iterator<Item = (u64, Totals)>) {
        let place = ENDING.load(Relaxed) as *mut i64;
        if !place.is_null() {
            // SAFETY: the test's word.
            unsafe { place.write_volatile(threads.map(|(_, totals)| totals.instructions).sum()) };
        }
    }

    fn executed(&self, instructions: &mut dyn Iterator<Item = (u64, Counts)>) {
        note_executed(instructions);
    }

    fn thread_ending(&self, _: u64, totals: &Totals) {
        ENDED.lock().expect("nobody panics with it").push(*totals);
    }

    fn forking(&self) {
        heap::HEAP.lock();
    }

    fn forked(&self, _: bool) {
        heap::HEAP.unlock();
    }
}

/// For observers: notes what instructions have executed.
pub fn note_executed(instructions: &mut dyn Iterator<Item = (u64, Counts)>) {
    EXECUTED.lock().expect("nobody panics with it").extend(instructions);
}

/// What instructions have executed in all threads since the last call, by address.
pub fn executed() -> Vec<(u64, Counts)> {
    unsignalled(tell_totals);
    std::mem::take(&mut EXECUTED.lock().expect("nobody panics with it"))
}

/// The sum of these counts.
pub fn sum(instructions: &[(u64, Counts)]) -> Counts {
    let mut all = Counts::default();
    instructions.iter().for_each(|(_, counts)| all.join(counts));
    all
}

/// Calls `function(a, b)` in the cache, and returns the counts. One at a time: other threads of the test harness
/// would be counted, too.
pub fn counted(function: Function, a: u64, b: u64) -> (u64, Totals) {
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    run(function, a, b)
}

/// As [`counted`], beside others.
pub fn run(function: Function, a: u64, b: u64) -> (u64, Totals) {
    let (result, totals) = try_run(function, a, b);
    (result, totals.expect("attached"))
}

/// As [`run`], where the thread may no longer be attached afterwards.
pub fn try_run(function: Function, a: u64, b: u64) -> (u64, Option<Totals>) {
    begin(Mode::Count, &Tester);
    run_as(0, function, a, b)
}

/// Starts the engine, if it has not been started.
pub fn begin(mode: Mode, observer: &'static dyn Observer) {
    static ENGINE: Once = Once::new();
    ENGINE.call_once(|| {
        let native = back as *const () as u64;
        start(mode, iter::once(native..native + 64).collect(), observer).expect("an engine");
        unsignalled(count_by_instruction);
        if env!("CARGO_CRATE_NAME").contains("superblocks") {
            unsignalled(assume_superblocks);
        }
        if env!("CARGO_CRATE_NAME").contains("episodes") {
            // Natively: the engine does not know this thread.
            std::thread::spawn(begin_and_end);
        }
    });
}

/// Begins and ends episodes, of all lengths that some rounds of a loop may have.
fn begin_and_end() {
    for number in 0u64.. {
        let pause =
            |shift: u64| std::thread::sleep(Duration::from_micros(number.wrapping_mul(7) >> shift & 0xff));
        unsignalled(begin_episode);
        pause(0);
        unsignalled(end_episode);
        pause(1);
    }
}

/// As [`try_run`], in a thread of this name.
pub fn run_as(name: u64, function: Function, a: u64, b: u64) -> (u64, Option<Totals>) {
    run_prepared(name, || {}, function, a, b)
}

/// As [`run_as`]; `prepare` is called when the thread is attached.
pub fn run_prepared(
    name: u64,
    prepare: impl FnOnce(),
    function: Function,
    a: u64,
    b: u64,
) -> (u64, Option<Totals>) {
    assert!(unsignalled(|| attach(name)));
    prepare();
    // SAFETY: the function takes two words and returns one; the thread is attached.
    let result = unsafe { call(function as *const () as u64, a, b) };
    (result, unsignalled(detach))
}

/// Does something with all signals blocked.
pub fn unsignalled<R>(work: impl FnOnce() -> R) -> R {
    // SAFETY: plain data.
    let [mut all, mut before]: [libc::sigset_t; 2] = unsafe { std::mem::zeroed() };
    // SAFETY: a valid place.
    unsafe { libc::sigfillset(&raw mut all) };
    // SAFETY: valid sets.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before) };
    let result = work();
    // SAFETY: as above.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut()) };
    result
}

/// Enters the cache at the first argument, with the others as arguments and `back` as return address.
#[unsafe(naked)]
unsafe extern "C" fn call(function: u64, a: u64, b: u64) -> u64 {
    naked_asm!(
        "push rbx", "push rbp", "push r12", "push r13", "push r14", "push r15",
        "sub rsp, 8",
        "mov rax, rdi", "mov rdi, rsi", "mov rsi, rdx",
        "lea rcx, [rip + {back}]",
        "push rcx",
        "jmp {enter}",
        back = sym back,
        enter = sym enter,
    )
}

/// Native code: the way out of the cache.
#[unsafe(naked)]
unsafe extern "C" fn back() {
    naked_asm!(
        "add rsp, 8",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbp",
        "pop rbx",
        "ret",
        ".balign 64",
    )
}

unsafe extern "C" fn ascending(left: *const libc::c_void, right: *const libc::c_void) -> libc::c_int {
    // SAFETY: qsort passes elements of the array.
    let left = unsafe { *left.cast::<u32>() };
    // SAFETY: as above.
    let right = unsafe { *right.cast::<u32>() };
    left.cmp(&right) as libc::c_int
}

/// qsort of `b` numbers of 32 bits at `a`.
pub unsafe extern "C" fn sort(a: u64, b: u64) -> u64 {
    // SAFETY: the caller's array.
    unsafe { libc::qsort(a as *mut libc::c_void, b as usize, 4, Some(ascending)) };
    0
}

/// snprintf of the number `b` and more into 64 bytes at `a`.
pub unsafe extern "C" fn format(a: u64, b: u64) -> u64 {
    // SAFETY: the caller's buffer.
    unsafe {
        libc::snprintf(
            a as *mut libc::c_char,
            64,
            c"%d is %x, %.3f and %s".as_ptr(),
            b as i32,
            b as i32,
            0.1f64,
            c"carom".as_ptr(),
        ) as u64
    }
}
