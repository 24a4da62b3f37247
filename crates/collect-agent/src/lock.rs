//! A spin lock for hooks. The C library's locks are the program's business, and std's may park.

use std::{
    cell::UnsafeCell,
    ops::{Deref, DerefMut},
    sync::atomic::{AtomicBool, Ordering::*},
};

/// Mutual exclusion by spinning. Handlers only ever try.
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

    /// Takes the lock if it is free.
    pub fn try_lock(&self) -> Option<Guard<'_, T>> {
        // ATOMICS: pairs with the release in `drop`.
        self.held.compare_exchange(false, true, Acquire, Relaxed).is_ok().then_some(Guard(self))
    }

    /// Waits for the lock, giving the processor away: the holder may be preempted on a busy machine.
    pub fn lock(&self) -> Guard<'_, T> {
        loop {
            if let Some(guard) = self.try_lock() {
                return guard;
            }
            // SAFETY: no arguments.
            unsafe { libc::sched_yield() };
        }
    }

    /// Opens the lock whoever holds it: a forked child has no other threads.
    pub fn force_open(&self) {
        self.held.store(false, Release);
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
