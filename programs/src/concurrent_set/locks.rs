//! Two locks that programs use: a word that is spun on, and the C library's mutex.

use std::cell::UnsafeCell;
use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, Ordering::*};

/// Mutual exclusion without a guard: the data lies beside it.
pub trait Lock: Send {
    /// An open one.
    fn new() -> Self;
    /// Waits until it is open, and closes it.
    fn acquire(&self);
    /// Opens it. Only its holder may.
    fn release(&self);
}

/// Test and test-and-set.
pub struct SpinLock(AtomicBool);

impl Lock for SpinLock {
    fn new() -> Self {
        Self(AtomicBool::new(false))
    }

    fn acquire(&self) {
        while self.0.swap(true, Acquire) {
            while self.0.load(Relaxed) {
                spin_loop();
            }
        }
    }

    fn release(&self) {
        self.0.store(false, Release);
    }
}

/// `pthread_mutex_t`, which never moves once it is used.
pub struct PthreadMutex(Box<UnsafeCell<libc::pthread_mutex_t>>);

// SAFETY: a mutex is made to be used by several threads.
unsafe impl Sync for PthreadMutex {}

impl Lock for PthreadMutex {
    fn new() -> Self {
        Self(Box::new(UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER)))
    }

    fn acquire(&self) {
        // SAFETY: initialised, and where it was.
        unsafe { libc::pthread_mutex_lock(self.0.get()) };
    }

    fn release(&self) {
        // SAFETY: as above; the caller holds it.
        unsafe { libc::pthread_mutex_unlock(self.0.get()) };
    }
}
