//! Locks with priority inheritance: the holder runs with the highest priority of the real-time threads that wait.
//!
//! The kernel hands a lock of this kind over when it is opened (FUTEX_LOCK_PI): it belongs to a thread that is still to
//! be woken, and until then all others wait. Where threads take a lock often, all of them would wait every time after
//! the first wait. So only threads of a real-time class wait in this way. All others, which the scheduler runs
//! eventually at any priority, wait for a second futex (the bell), and then take the lock if it is open.

use std::{
    sync::atomic::{AtomicU32, Ordering::*},
    time::Duration,
};

use super::{
    AWAITED,
    futex::{Deadline, call, futex, sleep, take_open, take_soon, timespec},
};
use crate::calls::clock;

/// The futex on which threads wait that do not lend their priority.
pub struct Bell {
    /// The number of waiting threads.
    waiting: AtomicU32,
    /// How often it was rung.
    rung: AtomicU32,
}

impl Bell {
    pub const fn new() -> Self {
        Self { waiting: AtomicU32::new(0), rung: AtomicU32::new(0) }
    }

    /// In a forked child no thread waits.
    pub fn forget(&self) {
        self.waiting.store(0, Relaxed);
    }

    fn ring(&self) {
        // ATOMICS: sequentially consistent with the exchanges of the lock's word. A waiting thread counts itself first
        // and then reads the word. A thread that opens the lock changes the word first and then reads the count.
        if self.waiting.load(SeqCst) != 0 {
            self.rung.fetch_add(1, SeqCst);
            futex(&self.rung, libc::FUTEX_WAKE, 1, None);
        }
    }

    /// Takes the lock for `holder`. False after `most`.
    fn wait(&self, word: &AtomicU32, holder: u32, most: Duration) -> bool {
        let until = Deadline::after(most);
        self.waiting.fetch_add(1, SeqCst);
        let taken = loop {
            let rung = self.rung.load(SeqCst);
            // ATOMICS: as above.
            if word.compare_exchange(0, holder, SeqCst, SeqCst).is_ok() {
                break true;
            }
            if !until.wait_for_change(&self.rung, rung) {
                break false;
            }
        };
        self.waiting.fetch_sub(1, SeqCst);
        taken
    }
}

/// Takes a lock for `holder`, trying at least once. False after `most`.
pub fn take(word: &AtomicU32, bell: &Bell, holder: u32, most: Duration) -> bool {
    take_soon(word, holder)
        || if is_urgent() { take_urgently(word, holder, most) } else { bell.wait(word, holder, most) }
}

/// The holder inherits the caller's priority. Where the kernel refuses that, the caller looks again from time to time.
fn take_urgently(word: &AtomicU32, holder: u32, most: Duration) -> bool {
    let until = clock::now().0 + most.as_nanos() as u64;
    // This operation, unlike the others here, takes an absolute time, of CLOCK_REALTIME.
    let deadline = timespec(wall_clock() + most);
    loop {
        // Where the waiters' bit is set only the kernel may take an open lock; `take_open` succeeds only on 0.
        if futex(word, libc::FUTEX_LOCK_PI, 0, Some(&deadline)) == 0 || take_open(word, holder) {
            return true;
        }
        if clock::now().0 >= until {
            return false;
        }
        sleep();
    }
}

/// Opens a lock of this kind.
pub fn open(word: &AtomicU32, bell: &Bell) {
    let seen = word.load(Relaxed);
    if seen & AWAITED == 0 && word.compare_exchange(seen, 0, SeqCst, Relaxed).is_ok() {
        return bell.ring();
    }
    // The kernel hands the lock over to the first waiting thread. It refuses in a forked child, which has no other threads.
    if futex(word, libc::FUTEX_UNLOCK_PI, 0, None) != 0 {
        word.store(0, SeqCst);
    }
    bell.ring();
}

/// Whether the calling thread is of a real-time class and may keep others from running (sched(7)).
fn is_urgent() -> bool {
    // SAFETY: only asks, about the calling thread.
    let policy = unsafe { call(libc::SYS_sched_getscheduler, [0; 4]) } as i32;
    matches!(policy & !libc::SCHED_RESET_ON_FORK, libc::SCHED_FIFO | libc::SCHED_RR | libc::SCHED_DEADLINE)
}

/// The time of day.
fn wall_clock() -> Duration {
    let mut now = timespec(Duration::ZERO);
    // SAFETY: a valid place.
    unsafe { libc::clock_gettime(libc::CLOCK_REALTIME, &raw mut now) };
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}
