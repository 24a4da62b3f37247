//! How a thread sleeps until a lock is open (futex(2)).
//!
//! System calls without the C library: errno is the program's.

use std::{
    arch::asm,
    hint,
    sync::atomic::{AtomicU32, Ordering::*},
    time::Duration,
};

use carom_base::Nanos;

use super::AWAITED;
use crate::calls::clock;

/// A waiting thread looks at the lock again after this time, even without a wake-up.
pub const LONGEST: Duration = Duration::from_millis(200);

/// How long a thread sleeps where the kernel cannot wait for the lock: other threads run meanwhile, at any priority.
const A_MOMENT: Duration = Duration::from_micros(50);

/// How often a thread looks whether a lock has been opened before it sleeps: some microseconds, which is longer than most
/// are held.
const GLANCES: u32 = 100;

/// Takes a lock for `holder`, trying at least once. False after `most`.
pub fn take(word: &AtomicU32, holder: u32, most: Duration) -> bool {
    if take_soon(word, holder) {
        return true;
    }
    // Other threads may be waiting too: a thread that has waited wakes the next one.
    let holder = holder | AWAITED;
    let until = Deadline::after(most);
    loop {
        let seen = word.load(Relaxed);
        if seen == 0 {
            if take_open(word, holder) {
                return true;
            }
            continue;
        }
        let awaited = seen | AWAITED;
        if seen != awaited && word.compare_exchange(seen, awaited, Relaxed, Relaxed).is_err() {
            continue;
        }
        if !until.wait_for_change(word, awaited) {
            return false;
        }
    }
}

/// Opens a lock that was taken here.
pub fn open(word: &AtomicU32) {
    if word.swap(0, Release) & AWAITED != 0 {
        futex(word, libc::FUTEX_WAKE, 1, None);
    }
}

/// Takes a lock that is open.
pub fn take_open(word: &AtomicU32, holder: u32) -> bool {
    // ATOMICS: pairs with the release that opens the lock.
    word.compare_exchange(0, holder, Acquire, Relaxed).is_ok()
}

/// Takes a lock that is open, or will be in a moment.
pub fn take_soon(word: &AtomicU32, holder: u32) -> bool {
    for _ in 0..GLANCES {
        if word.load(Relaxed) == 0 && take_open(word, holder) {
            return true;
        }
        hint::spin_loop();
    }
    false
}

/// The end of a wait.
pub struct Deadline(Nanos);

impl Deadline {
    pub fn after(most: Duration) -> Self {
        Self(Nanos(clock::now().0.saturating_add(most.as_nanos() as u64)))
    }

    /// Sleeps until `word` may differ from `seen`. False where the time is over.
    pub fn wait_for_change(&self, word: &AtomicU32, seen: u32) -> bool {
        let left = self.0.0.saturating_sub(clock::now().0);
        if left == 0 {
            return false;
        }
        match futex(word, libc::FUTEX_WAIT, seen, Some(&timespec(Duration::from_nanos(left)))) {
            0 | EAGAIN | EINTR | ETIMEDOUT => {}
            _ => sleep(),
        }
        true
    }
}

const EAGAIN: i64 = -(libc::EAGAIN as i64);
const EINTR: i64 = -(libc::EINTR as i64);
const ETIMEDOUT: i64 = -(libc::ETIMEDOUT as i64);

/// Waits for a moment. No cancellation point.
pub fn sleep() {
    let moment = timespec(A_MOMENT);
    // SAFETY: a valid duration; whether it is slept to the end is all one.
    unsafe { call(libc::SYS_nanosleep, [(&raw const moment) as u64, 0, 0, 0]) };
}

pub fn timespec(time: Duration) -> libc::timespec {
    libc::timespec { tv_sec: time.as_secs() as i64, tv_nsec: i64::from(time.subsec_nanos()) }
}

/// `operation` on a word that no other process has.
pub fn futex(word: &AtomicU32, operation: i32, value: u32, time: Option<&libc::timespec>) -> i64 {
    let operation = (operation | libc::FUTEX_PRIVATE_FLAG) as u64;
    let time = time.map_or(0, |time| std::ptr::from_ref(time) as u64);
    // SAFETY: a live word, and a valid time or none.
    unsafe { call(libc::SYS_futex, [word.as_ptr() as u64, operation, u64::from(value), time]) }
}

/// A system call of four arguments: its result, or the error's number, negative.
///
/// # Safety
/// As the system call itself.
pub unsafe fn call(number: i64, arguments: [u64; 4]) -> i64 {
    let [a, b, c, d] = arguments;
    let result: i64;
    // SAFETY: the kernel's calling convention; memory changes as the caller promised.
    unsafe {
        asm!("syscall", inlateout("rax") number => result, in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d,
            lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    result
}
