//! The lock around the cache. Held only with all signals blocked, so its holder always goes on.

use std::{
    cell::UnsafeCell,
    ops::{Deref, DerefMut},
    sync::atomic::{AtomicBool, Ordering::*},
};

/// Mutual exclusion by spinning: a parked thread would need the C library.
pub struct SpinLock<T> {
    held: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached only through the guard, by one thread at a time.
unsafe impl<T: Send> Sync for SpinLock<T> {}

/// Releases the lock when dropped.
pub struct Guard<'a, T>(&'a SpinLock<T>);

impl<T> SpinLock<T> {
    /// An open lock.
    pub const fn new(value: T) -> Self {
        Self { held: AtomicBool::new(false), value: UnsafeCell::new(value) }
    }

    /// Waits for the lock, giving the processor away: the holder may be preempted on a busy machine.
    pub fn lock(&self) -> Guard<'_, T> {
        // ATOMICS: the acquire pairs with the release in `drop`.
        while self.held.compare_exchange_weak(false, true, Acquire, Relaxed).is_err() {
            // SAFETY: no arguments.
            unsafe { libc::sched_yield() };
        }
        Guard(self)
    }

    /// The byte that is not 0 while the lock is held: for whoever leaves it without a stack to return on. x86 stores
    /// release.
    pub const fn held(&self) -> *mut u8 {
        self.held.as_ptr().cast()
    }
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: the guard is the only access.
        unsafe { &*self.0.value.get() }
    }
}

impl<T> DerefMut for Guard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the guard is the only access.
        unsafe { &mut *self.0.value.get() }
    }
}

impl<T> Drop for Guard<'_, T> {
    fn drop(&mut self) {
        self.0.held.store(false, Release);
    }
}
