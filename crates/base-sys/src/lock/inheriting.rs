//! Waiting for a lock whose holder is lent the priority of whoever waits.
//!
//! The kernel hands such a lock over when it is opened (FUTEX_LOCK_PI): it belongs to a thread that is still to be woken, and
//! until then everybody waits. Where threads take a lock often, each of them would wait every time from the first wait on. So
//! only threads of a real-time class wait in this way. All others, which the scheduler lets run at some time whatever their
//! priorities, wait for a bell, and then take the lock if it is open.

use std::{
    sync::atomic::{AtomicU32, Ordering::*},
    time::Duration,
};

use super::{
    AWAITED,
    futex::{Deadline, call, futex, sleep, take_open, take_soon, timespec},
};
use crate::calls::clock;

/// Where threads wait that need not lend their priority.
pub struct Bell {
    /// How many do.
    waiting: AtomicU32,
    /// How often it was rung.
    rung: AtomicU32,
}

impl Bell {
    pub const fn new() -> Self {
        Self { waiting: AtomicU32::new(0), rung: AtomicU32::new(0) }
    }

    /// In a forked child nobody waits.
    pub fn forget(&self) {
        self.waiting.store(0, Relaxed);
    }

    fn ring(&self) {
        // ATOMICS: in one order with the exchanges of the lock's word. Who waits is counted first, and then looks at that; who
        // opens the lock changes it first, and then looks here.
        if self.waiting.load(SeqCst) != 0 {
            self.rung.fetch_add(1, SeqCst);
            futex(&self.rung, libc::FUTEX_WAKE, 1, None);
        }
    }

    /// Takes the lock for `holder`. False where `most` was too short.
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

/// Takes a lock for `holder`, waiting for `most` once at least. False where that was too short.
pub fn take(word: &AtomicU32, bell: &Bell, holder: u32, most: Duration) -> bool {
    take_soon(word, holder)
        || if is_urgent() { take_urgently(word, holder, most) } else { bell.wait(word, holder, most) }
}

/// The holder is lent the caller's priority. Where the kernel refuses to, the caller looks again after each moment.
fn take_urgently(word: &AtomicU32, holder: u32, most: Duration) -> bool {
    let until = clock::now().0 + most.as_nanos() as u64;
    // This operation alone takes the time of day at which to give up, and by the clock that people set.
    let deadline = timespec(wall_clock() + most);
    loop {
        // Only the kernel may take an open lock that others wait for.
        if futex(word, libc::FUTEX_LOCK_PI, 0, Some(&deadline)) == 0 || take_open(word, holder) {
            return true;
        }
        if clock::now().0 >= until {
            return false;
        }
        sleep();
    }
}

/// Opens such a lock.
pub fn open(word: &AtomicU32, bell: &Bell) {
    let seen = word.load(Relaxed);
    if seen & AWAITED == 0 && word.compare_exchange(seen, 0, SeqCst, Relaxed).is_ok() {
        return bell.ring();
    }
    // It hands the lock over to the first who waits. It refuses in a forked child, where none of them is.
    if futex(word, libc::FUTEX_UNLOCK_PI, 0, None) != 0 {
        word.store(0, SeqCst);
    }
    bell.ring();
}

/// Whether the calling thread may keep others from running for as long as it likes (sched(7)).
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
