//! A lock for code inside a stranger's process: the C library's locks are the program's business, and std's may park.

use std::{
    cell::UnsafeCell,
    ops::{Deref, DerefMut},
    sync::atomic::{AtomicU64, Ordering::*},
};

/// Whoever takes the lock without giving a name. Fits a byte, for [`SpinLock::held`].
const SOMEBODY: u64 = 1;

/// Mutual exclusion by spinning. A handler only ever tries, unless the lock is held with all signals blocked.
pub struct SpinLock<T> {
    /// Who holds it; 0 while it is open.
    holder: AtomicU64,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached only through the guard, by one thread at a time.
unsafe impl<T: Send> Sync for SpinLock<T> {}

/// Releases the lock when dropped.
pub struct Guard<'a, T>(&'a SpinLock<T>);

impl<T> SpinLock<T> {
    /// An open lock.
    pub const fn new(value: T) -> Self {
        Self { holder: AtomicU64::new(0), value: UnsafeCell::new(value) }
    }

    /// Takes the lock if it is free.
    pub fn try_lock(&self) -> Option<Guard<'_, T>> {
        self.try_lock_as(SOMEBODY).ok()
    }

    /// Takes the lock in the name of `holder`, which is not 0.
    ///
    /// # Errors
    /// Who holds it.
    pub fn try_lock_as(&self, holder: u64) -> Result<Guard<'_, T>, u64> {
        // ATOMICS: pairs with the release in `drop`.
        let taken = self.holder.compare_exchange(0, holder, Acquire, Relaxed);
        // Made only where the lock was taken: a guard that is made and dropped opens the lock.
        taken.map(|_| Guard(self))
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

    /// The byte that is not 0 while the lock is held by [`lock`](Self::lock) or [`try_lock`](Self::try_lock): for whoever
    /// leaves it without a stack to return on. x86 is little-endian, and its stores release.
    pub const fn held(&self) -> *mut u8 {
        self.holder.as_ptr().cast()
    }

    /// Whether somebody holds the lock now.
    pub fn is_held(&self) -> bool {
        self.holder.load(Relaxed) != 0
    }

    /// Opens the lock whoever holds it: a forked child has no other threads.
    pub fn force_open(&self) {
        self.holder.store(0, Release);
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
        self.0.holder.store(0, Release);
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

    #[test]
    fn who_is_turned_away_learns_who_holds_it() {
        let lock = SpinLock::new(0);
        let guard = lock.try_lock_as(7);
        assert!(guard.is_ok() && lock.is_held());
        assert_eq!(lock.try_lock_as(8).map(|_| ()), Err(7));
        drop(guard);
        assert!(!lock.is_held());
    }

    #[test]
    fn its_byte_opens_it() {
        let lock = SpinLock::new(0);
        std::mem::forget(lock.lock());
        // SAFETY: the lock is alive, and its byte is part of an atomic that no other thread knows.
        unsafe { lock.held().write(0) };
        assert!(lock.try_lock().is_some());
    }
}
