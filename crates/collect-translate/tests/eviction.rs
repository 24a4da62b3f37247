//! A cache that is much too small for the code that runs, and a change of its mode.
//!
//! One engine serves a process, so all tests share the small cache, and take turns.
#![allow(clippy::unwrap_used)] // What a test cannot have fails it.

mod support;

use std::{
    arch::naked_asm,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use carom_collect_translate::{Leave, Mode, Totals, bound_cache, set_mode};
use support::{counted, kernels, run, unsignalled};

/// The space that a fragment is given, in blocks: an arena with less is full.
const FRAGMENT_BLOCKS: usize = 1024;

/// A few: the code that runs here has some hundred blocks.
const FEW_BLOCKS: usize = 60;

/// The test's turn, in a cache of this many arenas of [`FEW_BLOCKS`].
fn small_cache(arenas: usize) -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    counted(kernels::sum, (&raw const ZERO) as u64, 0);
    bound(arenas);
    turn
}

/// Limits the cache to this many arenas. Returns how often one was emptied before.
fn bound(arenas: usize) -> u64 {
    unsignalled(|| bound_cache(arenas, FRAGMENT_BLOCKS + FEW_BLOCKS))
}

static ZERO: u64 = 0;

/// Rounds of [`much_code`]: each needs more code than a small cache holds.
const ROUNDS: u64 = 3;

/// Much code of the C library: `b` rounds of sorting, of formatting numbers and of reading them again. Returns a
/// checksum.
unsafe extern "C" fn much_code(_: u64, b: u64) -> u64 {
    let mut sum = 0u64;
    for round in 0..b {
        let mut numbers: [u32; 100] =
            std::array::from_fn(|n| (n as u32).wrapping_mul(2_654_435_761) ^ round as u32);
        // SAFETY: an array of 100.
        unsafe { support::sort(numbers.as_mut_ptr() as u64, 100) };
        let mut text = [0u8; 64];
        // SAFETY: 64 bytes.
        unsafe { support::format(text.as_mut_ptr() as u64, u64::from(numbers[50]) % 1000) };
        // SAFETY: a string that ends.
        let number = unsafe { libc::strtod(text.as_ptr().cast(), std::ptr::null_mut()) };
        sum = sum.wrapping_mul(31).wrapping_add(number as u64);
    }
    sum
}

/// The counts of a run, without the time that it took.
fn counts(totals: &Totals) -> [i64; 6] {
    [totals.instructions, totals.loads, totals.stores, totals.calls, totals.returns, totals.branches]
}

fn no_room(totals: &Totals) -> u64 {
    totals.coverage.leaves[Leave::NoMemory as usize]
}

/// The same work in a cache of one small arena, and in a cache that holds all of it: the counts are equal to the
/// unit, although that arena was emptied over and over, and nothing ran natively.
#[test]
fn counts_do_not_depend_on_the_size_of_the_cache() {
    let turn = small_cache(1);
    let before = bound(1);
    let small: [_; 3] = std::array::from_fn(|_| counted(much_code, 0, ROUNDS));
    assert!(bound(1) > before + 3, "it was large enough");
    drop(turn);
    let _turn = small_cache(usize::MAX);
    counted(much_code, 0, ROUNDS);
    let before = bound(usize::MAX);
    let (expected, large) = counted(much_code, 0, ROUNDS);
    assert_eq!(bound(usize::MAX), before, "it was too small");
    for (sum, small) in small {
        assert_eq!(sum, expected);
        assert_eq!(counts(&small), counts(&large));
        assert_eq!(no_room(&small), 0);
    }
}

/// Adds 1 to the word at `a` until the word at `b` is not 0: a loop whose jumps are all linked.
#[unsafe(naked)]
unsafe extern "C" fn count_until(_: u64, _: u64) -> u64 {
    naked_asm!("2:", "inc qword ptr [rdi]", "cmp qword ptr [rsi], 0", "je 2b", "mov eax, 1", "ret")
}

/// Reads a byte from the pipe `a`.
#[unsafe(naked)]
unsafe extern "C" fn read_byte(_: u64, _: u64) -> u64 {
    naked_asm!("sub rsp, 24", "mov rsi, rsp", "mov edx, 1", "xor eax, eax", "syscall", "add rsp, 24", "ret")
}

/// Two threads run much code beside one that never leaves its loop by itself, and one that sleeps in the cache. Every
/// result is right, the loop goes on, and the sleeper wakes up where it fell asleep.
#[test]
fn other_threads_are_waited_for() {
    let _turn = small_cache(3);
    let before = bound(3);
    let expected = counted(much_code, 0, ROUNDS).0;
    let [count, stop] = [AtomicU64::new(0), AtomicU64::new(0)];
    let mut pipe = [0; 2];
    // SAFETY: a place for two numbers.
    assert_eq!(unsafe { libc::pipe(pipe.as_mut_ptr()) }, 0);
    std::thread::scope(|scope| {
        let looping = scope.spawn(|| run(count_until, count.as_ptr() as u64, stop.as_ptr() as u64));
        let sleeping = scope.spawn(|| run(read_byte, pipe[0] as u64, 0));
        while count.load(Relaxed) == 0 {
            std::thread::yield_now();
        }
        let busy: Vec<_> = (0..2)
            .map(|_| scope.spawn(|| (0..3).map(|_| run(much_code, 0, ROUNDS).0).collect::<Vec<_>>()))
            .collect();
        for busy in busy {
            assert_eq!(busy.join().unwrap(), vec![expected; 3]);
        }
        let before = count.load(Relaxed);
        while count.load(Relaxed) == before {
            std::thread::yield_now();
        }
        stop.store(1, Relaxed);
        let (_, totals) = looping.join().unwrap();
        // inc, cmp and je for each number; mov and ret.
        assert_eq!(totals.instructions, 3 * count.load(Relaxed) as i64 + 2);
        // SAFETY: one byte.
        assert_eq!(unsafe { libc::write(pipe[1], b"x".as_ptr().cast(), 1) }, 1);
        let (read, totals) = sleeping.join().unwrap();
        assert_eq!((read, totals.instructions), (1, 7));
    });
    assert!(bound(3) > before + 3, "it was large enough");
}

/// A loop of three instructions runs while the mode changes forty times between counts and samples of every hundredth
/// access. Half of the changes find the loop on its way to a sample of the mode before. The counts stay exact.
#[test]
fn counts_are_exact_across_modes() {
    let _turn = small_cache(usize::MAX);
    let [count, stop] = [AtomicU64::new(0), AtomicU64::new(0)];
    std::thread::scope(|scope| {
        let looping = scope.spawn(|| run(count_until, count.as_ptr() as u64, stop.as_ptr() as u64));
        for round in 0..40 {
            let mode = if round % 2 == 0 { Mode::Sample { loads: 100, stores: 100 } } else { Mode::Count };
            unsignalled(|| set_mode(mode));
            let before = count.load(Relaxed);
            while count.load(Relaxed) < before + 1000 {
                std::thread::yield_now();
            }
        }
        stop.store(1, Relaxed);
        let (_, totals) = looping.join().unwrap();
        let rounds = count.load(Relaxed) as i64;
        assert_eq!(totals.instructions, 3 * rounds + 2);
        // inc loads and stores, cmp loads; the return address.
        assert_eq!((totals.loads, totals.stores), (2 * rounds + 1, rounds));
    });
}

/// Switched off, the loop runs natively: it is not counted, and that time does not count as missed.
#[test]
fn nothing_is_counted_while_switched_off() {
    let _turn = small_cache(usize::MAX);
    let [count, stop] = [AtomicU64::new(0), AtomicU64::new(0)];
    let pass = |rounds: u64| {
        let before = count.load(Relaxed);
        while count.load(Relaxed) < before + rounds {
            std::thread::yield_now();
        }
        count.load(Relaxed) as i64
    };
    std::thread::scope(|scope| {
        let looping = scope.spawn(|| run(count_until, count.as_ptr() as u64, stop.as_ptr() as u64));
        let on = pass(1000);
        unsignalled(|| set_mode(Mode::Off));
        // It leaves soon, but not at this very moment.
        let off = pass(1000);
        pass(1_000_000);
        unsignalled(|| set_mode(Mode::Count));
        stop.store(1, Relaxed);
        let (_, totals) = looping.join().unwrap();
        assert!((3 * on..3 * off).contains(&totals.instructions), "{on} {off} {totals:?}");
        assert_eq!(totals.coverage.outside_ns, 0);
        assert_eq!(totals.coverage.leaves, [0; Leave::COUNT]);
    });
}
