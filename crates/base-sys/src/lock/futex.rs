//! How a thread sleeps until a lock is open (futex(2)).
//!
//! System calls without the C library: errno is the program's.

use std::{
    arch::asm,
    sync::atomic::{AtomicU32, Ordering::*},
    time::Duration,
};

use super::AWAITED;
use crate::clock;

/// A wait is looked at again after this time, should nobody have woken it.
pub const LONGEST: Duration = Duration::from_millis(200);

/// How long a thread sleeps where the kernel does not wait for it: others run meanwhile, whatever their priority.
const A_MOMENT: Duration = Duration::from_micros(50);

/// Takes a lock for `holder`, waiting for `most` once at least. False where that was too short.
pub fn take(word: &AtomicU32, holder: u32, most: Duration) -> bool {
    // ATOMICS: here and below: pairs with the release that opens the lock.
    if word.compare_exchange(0, holder, Acquire, Relaxed).is_ok() {
        return true;
    }
    // Others may be waiting too: whoever has waited wakes the next one.
    let holder = holder | AWAITED;
    let until = clock::now().0 + most.as_nanos() as u64;
    loop {
        let seen = word.load(Relaxed);
        if seen == 0 {
            if word.compare_exchange(0, holder, Acquire, Relaxed).is_ok() {
                return true;
            }
            continue;
        }
        let awaited = seen | AWAITED;
        if seen != awaited && word.compare_exchange(seen, awaited, Relaxed, Relaxed).is_err() {
            continue;
        }
        let left = until.saturating_sub(clock::now().0);
        if left == 0 {
            return false;
        }
        match futex(word, libc::FUTEX_WAIT, awaited, Some(&timespec(Duration::from_nanos(left)))) {
            0 | EAGAIN | EINTR | ETIMEDOUT => {}
            _ => sleep(),
        }
    }
}

/// Opens such a lock.
pub fn open(word: &AtomicU32) {
    if word.swap(0, Release) & AWAITED != 0 {
        futex(word, libc::FUTEX_WAKE, 1, None);
    }
}

/// As [`take`], the holder being lent the caller's priority. Where the kernel refuses to, the caller looks again after each
/// moment.
pub fn take_inheriting(word: &AtomicU32, holder: u32, most: Duration) -> bool {
    if word.compare_exchange(0, holder, Acquire, Relaxed).is_ok() {
        return true;
    }
    let until = clock::now().0 + most.as_nanos() as u64;
    // This operation alone takes the time of day at which to give up, and by the clock that people set.
    let deadline = timespec(wall_clock() + most);
    loop {
        // Only the kernel may take an open lock that others wait for.
        if futex(word, libc::FUTEX_LOCK_PI, 0, Some(&deadline)) == 0
            || word.compare_exchange(0, holder, Acquire, Relaxed).is_ok()
        {
            return true;
        }
        if clock::now().0 >= until {
            return false;
        }
        sleep();
    }
}

/// Opens such a lock.
pub fn open_inheriting(word: &AtomicU32) {
    let seen = word.load(Relaxed);
    if seen & AWAITED == 0 && word.compare_exchange(seen, 0, Release, Relaxed).is_ok() {
        return;
    }
    // It hands the lock over to the first who waits. It refuses in a forked child, where none of them is.
    if futex(word, libc::FUTEX_UNLOCK_PI, 0, None) != 0 {
        word.store(0, Release);
    }
}

const EAGAIN: i64 = -(libc::EAGAIN as i64);
const EINTR: i64 = -(libc::EINTR as i64);
const ETIMEDOUT: i64 = -(libc::ETIMEDOUT as i64);

/// Waits for a moment.
fn sleep() {
    let moment = timespec(A_MOMENT);
    // SAFETY: a valid duration; whether it is slept to the end is all one.
    unsafe { call(libc::SYS_nanosleep, [(&raw const moment) as u64, 0, 0, 0]) };
}

fn timespec(time: Duration) -> libc::timespec {
    libc::timespec { tv_sec: time.as_secs() as i64, tv_nsec: i64::from(time.subsec_nanos()) }
}

/// The time of day.
fn wall_clock() -> Duration {
    let mut now = timespec(Duration::ZERO);
    // SAFETY: a valid place.
    unsafe { libc::clock_gettime(libc::CLOCK_REALTIME, &raw mut now) };
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

/// `operation` on a word that no other process has.
fn futex(word: &AtomicU32, operation: i32, value: u32, time: Option<&libc::timespec>) -> i64 {
    let operation = (operation | libc::FUTEX_PRIVATE_FLAG) as u64;
    let time = time.map_or(0, |time| std::ptr::from_ref(time) as u64);
    // SAFETY: a live word, and a valid time or none.
    unsafe { call(libc::SYS_futex, [word.as_ptr() as u64, operation, u64::from(value), time]) }
}

/// A system call of four arguments: its result, or the error's number, negative.
///
/// # Safety
/// As the system call itself.
unsafe fn call(number: i64, arguments: [u64; 4]) -> i64 {
    let [a, b, c, d] = arguments;
    let result: i64;
    // SAFETY: the kernel's calling convention; memory changes as the caller promised.
    unsafe {
        asm!("syscall", inlateout("rax") number => result, in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d,
            lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    result
}
