//! A lock for code inside a stranger's process: the C library's locks are the program's business, and std's may park.

use std::{
    cell::UnsafeCell,
    ops::{Deref, DerefMut},
    sync::atomic::{AtomicBool, Ordering::*},
};

/// Mutual exclusion by spinning. A handler only ever tries, unless the lock is held with all signals blocked.
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
        let taken = self.held.compare_exchange(false, true, Acquire, Relaxed).is_ok();
        // Made only where the lock was taken: a guard that is made and dropped opens the lock.
        taken.then(|| Guard(self))
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

    /// The byte that is not 0 while the lock is held: for whoever leaves it without a stack to return on. x86 stores
    /// release.
    pub const fn held(&self) -> *mut u8 {
        self.held.as_ptr().cast()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trying_does_not_open_what_another_holds() {
        let lock = SpinLock::new(0);
        let guard = lock.try_lock();
        assert!(guard.is_some());
        assert!(lock.try_lock().is_none());
        assert!(lock.try_lock().is_none(), "the first attempt must not have opened it");
        drop(guard);
        assert!(lock.try_lock().is_some());
    }
}
