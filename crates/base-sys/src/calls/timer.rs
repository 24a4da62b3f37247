//! POSIX timers on a thread's CPU time, for machines that deny perf_event_open.

use std::sync::atomic::{AtomicI32, Ordering::Relaxed};

use crate::SysError;

/// A timer that sends SIGTRAP to one thread every so often of its CPU time, at most CONFIG_HZ times a second.
#[derive(Debug)]
pub struct CpuTimer(libc::c_int);

/// The kernel's `sigevent` with the thread to signal.
#[repr(C)]
struct ThreadSigevent {
    value: u64,
    signal: i32,
    notify: i32,
    thread: i32,
    padding: [i32; 11],
}

/// From `asm-generic/siginfo.h`.
const SIGEV_THREAD_ID: i32 = 4;

impl CpuTimer {
    /// Starts a timer on the calling thread. `cookie` comes back in `si_value`. Signal-safe.
    ///
    /// # Errors
    /// As timer_create(2): EAGAIN where RLIMIT_SIGPENDING is used up.
    pub fn start(period_ns: u64, cookie: u64) -> Result<Self, SysError> {
        let mut event = ThreadSigevent {
            value: cookie,
            signal: libc::SIGTRAP,
            notify: SIGEV_THREAD_ID,
            thread: crate::calls::signal::thread_id(),
            padding: [0; 11],
        };
        let mut id: libc::c_int = 0;
        // The raw call: the C library's wrapper allocates.
        // SAFETY: `event` has the kernel's layout and size; `id` is a valid place for the answer.
        let made = unsafe {
            libc::syscall(libc::SYS_timer_create, libc::CLOCK_THREAD_CPUTIME_ID, &raw mut event, &raw mut id)
        };
        if made < 0 {
            return Err(SysError::last("timer_create"));
        }
        let timer = Self(id);
        note(id);
        timer.set_period(period_ns)?;
        Ok(timer)
    }

    /// Changes the period. Signal-safe.
    ///
    /// # Errors
    /// EINVAL where the timer is gone (after fork).
    pub fn set_period(&self, period_ns: u64) -> Result<(), SysError> {
        let period = libc::timespec {
            tv_sec: (period_ns / 1_000_000_000) as i64,
            tv_nsec: (period_ns % 1_000_000_000) as i64,
        };
        let setting = libc::itimerspec { it_interval: period, it_value: period };
        // SAFETY: `setting` is a valid structure; no old value is asked for.
        let set = unsafe { libc::syscall(libc::SYS_timer_settime, self.0, 0, &raw const setting, 0usize) };
        if set < 0 { Err(SysError::last("timer_settime")) } else { Ok(()) }
    }

    /// Deletes the timer. Signal-safe.
    pub fn delete(self) {
        if let Some(place) = MADE.iter().find(|place| place.load(Relaxed) == self.0 + 1) {
            place.store(0, Relaxed);
        }
        delete(self.0);
    }
}

fn delete(id: libc::c_int) {
    // SAFETY: integer argument only.
    unsafe { libc::syscall(libc::SYS_timer_delete, id) };
}

/// One more than the identifier of each timer; 0 in free entries. Further timers are not remembered.
static MADE: [AtomicI32; 1024] = [const { AtomicI32::new(0) }; 1024];

/// The process that made them: a child has none of its parent's.
static MAKER: AtomicI32 = AtomicI32::new(0);

fn note(id: libc::c_int) {
    // SAFETY: no arguments.
    let process = unsafe { libc::getpid() };
    if MAKER.swap(process, Relaxed) != process {
        MADE.iter().for_each(|place| place.store(0, Relaxed));
    }
    for place in &MADE {
        if place.compare_exchange(0, id + 1, Relaxed, Relaxed).is_ok() {
            return;
        }
    }
}

/// Deletes the timers of all threads of the process. Signal-safe.
pub fn delete_all() {
    // SAFETY: no arguments.
    if MAKER.load(Relaxed) != unsafe { libc::getpid() } {
        return;
    }
    for place in &MADE {
        let id = place.swap(0, Relaxed) - 1;
        if id >= 0 {
            delete(id);
        }
    }
}
