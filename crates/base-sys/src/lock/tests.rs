use std::{
    sync::atomic::{AtomicBool, Ordering::*},
    thread,
};

use super::*;
use crate::calls::{clock, signal::Quiet};

fn both() -> [Lock<u64>; 2] {
    [Lock::new(Rank::Heap, 0), Lock::inheriting(Rank::Heap, 0)]
}

#[test]
fn trying_does_not_open_what_another_holds() {
    for lock in both() {
        let guard = lock.try_lock();
        assert!(guard.is_some());
        assert!(lock.try_lock().is_none());
        assert!(lock.try_lock().is_none(), "the first attempt must not have opened it");
        drop(guard);
        assert!(lock.try_lock().is_some());
    }
}

#[test]
fn who_is_turned_away_learns_whether_it_is_its_own_doing() {
    let lock = Lock::new(Rank::Heap, 0);
    let guard = lock.try_lock_as(7);
    assert!(guard.is_ok() && lock.is_held());
    assert_eq!(lock.lock_within(7, Duration::from_secs(60)).map(|_| ()), Err(Shut::Mine));
    assert_eq!(lock.lock_within(8, Duration::from_millis(1)).map(|_| ()), Err(Shut::Others));
    drop(guard);
    assert!(!lock.is_held());
    assert!(lock.lock_within(8, Duration::ZERO).is_ok());
}

#[test]
fn its_word_opens_it() {
    let lock = Lock::new(Rank::Heap, 0);
    std::mem::forget(lock.try_lock());
    // SAFETY: the lock is alive, and no other thread knows it.
    unsafe { lock.leave().write(0) };
    assert!(lock.try_lock().is_some());
}

/// Each addition is a read and a write that others could come between.
#[test]
fn one_thread_at_a_time_is_inside_and_all_of_them_come_in() {
    for lock in both() {
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..5_000 {
                        let _quiet = Quiet::begin();
                        let mut value = lock.lock();
                        let before = *value;
                        std::hint::black_box(&mut value);
                        *value = before + 1;
                    }
                });
            }
        });
        assert_eq!(lock.try_lock().map(|value| *value), Some(20_000));
        assert!(!lock.is_held(), "nobody is left to be woken");
    }
}

#[test]
fn who_waits_sleeps_until_it_is_opened() {
    for lock in both() {
        let opened = AtomicBool::new(false);
        let guard = lock.try_lock();
        thread::scope(|scope| {
            let waits = scope.spawn(|| {
                let _quiet = Quiet::begin();
                let _guard = lock.lock();
                assert!(opened.load(SeqCst));
                clock::thread_cpu()
            });
            // Longer than a wait is without another look.
            thread::sleep(2 * futex::LONGEST);
            opened.store(true, SeqCst);
            drop(guard);
            let busy = waits.join().unwrap();
            assert!(busy < 100_000_000, "{busy} ns of processor time were spent on waiting");
        });
    }
}

/// A lock that is handed over belongs to a thread that is still to be woken, which takes long.
#[test]
fn who_opens_a_lock_may_have_it_again_before_those_who_sleep() {
    const TRIALS: usize = 20;
    for lock in both() {
        let done = AtomicBool::new(false);
        let again = thread::scope(|scope| {
            scope.spawn(|| {
                let _quiet = Quiet::begin();
                while !done.load(Relaxed) {
                    drop(lock.lock());
                }
            });
            let _quiet = Quiet::begin();
            let has_it_again = |_: &usize| {
                let guard = lock.lock();
                thread::sleep(Duration::from_millis(5));
                drop(guard);
                lock.try_lock().is_some()
            };
            let again = (0..TRIALS).filter(has_it_again).count();
            done.store(true, Relaxed);
            again
        });
        assert!(again > TRIALS / 2, "{again} of {TRIALS}");
    }
}

/// The kernel knows the child's thread by another number.
#[test]
fn a_forked_child_opens_what_its_thread_took_in_the_parent() {
    let lock = Lock::inheriting(Rank::Heap, 0);
    let guard = lock.try_lock();
    // SAFETY: the child only uses this lock, and ends.
    let child = unsafe { libc::fork() };
    if child == 0 {
        lock.keep_in_child();
        let kept = lock.is_held() && lock.try_lock().is_none();
        drop(guard);
        let status = i32::from(!kept || lock.try_lock().is_none());
        // SAFETY: ends the child.
        unsafe { libc::_exit(status) };
    }
    let mut status = 0;
    // SAFETY: our child, and a valid place.
    unsafe { libc::waitpid(child, &raw mut status, 0) };
    assert_eq!(status, 0);
}

#[cfg(debug_assertions)]
mod checks {
    use super::*;

    /// How a child ends that does `what`.
    fn ends(what: fn()) -> i32 {
        // SAFETY: the child does what is tried, and ends.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // The sentence is not the tests'.
            // SAFETY: a descriptor of the child's.
            unsafe { libc::close(libc::STDERR_FILENO) };
            expect_quiet();
            what();
            // SAFETY: ends the child.
            unsafe { libc::_exit(0) };
        }
        let mut status = 0;
        // SAFETY: our child, and a valid place.
        unsafe { libc::waitpid(child, &raw mut status, 0) };
        if libc::WIFSIGNALED(status) { libc::WTERMSIG(status) } else { 0 }
    }

    static EARLY: Lock<()> = Lock::new(Rank::Modules, ());
    static LATE: Lock<()> = Lock::new(Rank::Heap, ());

    #[test]
    fn a_lock_is_not_waited_for_while_signals_may_come() {
        assert_eq!(ends(|| drop(LATE.lock())), libc::SIGABRT);
        let quietly = || {
            let _quiet = Quiet::begin();
            drop(LATE.lock());
        };
        assert_eq!(ends(quietly), 0);
    }

    #[test]
    fn locks_are_taken_in_their_order() {
        let in_order = || {
            let _quiet = Quiet::begin();
            let _early = EARLY.lock();
            drop(LATE.lock());
            drop(LATE.lock());
        };
        assert_eq!(ends(in_order), 0);
        let out_of_order = || {
            let _quiet = Quiet::begin();
            let _late = LATE.lock();
            drop(EARLY.lock());
        };
        assert_eq!(ends(out_of_order), libc::SIGABRT);
        let twice = || {
            let _quiet = Quiet::begin();
            let _once = LATE.lock();
            drop(LATE.lock());
        };
        assert_eq!(ends(twice), libc::SIGABRT);
    }
}
