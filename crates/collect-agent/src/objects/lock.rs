//! A spin lock that knows its holder.

use std::{
    cell::UnsafeCell,
    ops::{Deref, DerefMut},
    sync::atomic::{AtomicU64, Ordering::*},
};

use carom_base_sys::clock;

use crate::registry;

/// A holder that keeps the lock longer than this, in nanoseconds, has left it by a jump out of a signal
/// handler: what is done under it takes microseconds.
const PATIENCE_NS: u64 = 1_000_000_000;

/// Attempts between two looks at the clock.
const ATTEMPTS: u32 = 64;

/// Mutual exclusion that never waits for the calling thread itself.
pub struct HolderLock<T> {
    /// The holder's thread pointer, 0 while the lock is open.
    holder: AtomicU64,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached only through the guard, by one thread at a time.
unsafe impl<T: Send> Sync for HolderLock<T> {}

/// Releases the lock when dropped.
pub struct Guard<'a, T>(&'a HolderLock<T>);

/// Why a lock was not had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shut {
    /// The calling thread holds it: a signal handler of the program has interrupted a hook.
    Mine,
    /// Its holder will never come back.
    Abandoned,
}

impl<T> HolderLock<T> {
    /// An open lock.
    pub const fn new(value: T) -> Self {
        Self { holder: AtomicU64::new(0), value: UnsafeCell::new(value) }
    }

    /// Takes the lock if it is free. Signal-safe.
    pub fn try_lock(&self) -> Option<Guard<'_, T>> {
        self.take().ok()
    }

    /// Takes the lock, or says who has it.
    fn take(&self) -> Result<Guard<'_, T>, u64> {
        // ATOMICS: pairs with the release in `drop`.
        let taken = self.holder.compare_exchange(0, registry::thread_pointer(), Acquire, Relaxed);
        taken.map(|_| Guard(self))
    }

    /// Waits for the lock, giving the processor away: the holder may be preempted on a busy machine.
    ///
    /// # Errors
    /// See [`Shut`].
    pub fn lock(&self) -> Result<Guard<'_, T>, Shut> {
        let mut since = None;
        loop {
            for _ in 0..ATTEMPTS {
                match self.take() {
                    Ok(guard) => return Ok(guard),
                    Err(holder) if holder == registry::thread_pointer() => return Err(Shut::Mine),
                    // SAFETY: no arguments.
                    Err(_) => unsafe { libc::sched_yield() },
                };
            }
            let now = clock::now().0;
            if now.saturating_sub(*since.get_or_insert(now)) > PATIENCE_NS {
                return Err(Shut::Abandoned);
            }
        }
    }

    /// In a forked child: where a thread that is not here held the lock, opens it with `fresh` behind it. The
    /// old value may be half changed and is left alone.
    pub fn after_fork(&self, fresh: T) {
        if self.holder.load(Relaxed) != 0 {
            // SAFETY: the child has one thread, which does not hold the lock.
            unsafe { self.value.get().write(fresh) };
            self.holder.store(0, Release);
        }
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
    fn a_thread_never_waits_for_itself() {
        let lock = HolderLock::new(1);
        let guard = lock.lock().unwrap_or_else(|_| unreachable!());
        assert_eq!(lock.lock().map(|_| ()), Err(Shut::Mine));
        assert!(lock.try_lock().is_none());
        drop(guard);
        assert!(lock.try_lock().is_some());
    }

    #[test]
    fn only_a_lock_that_was_held_starts_over_after_fork() {
        let lock = HolderLock::new(1);
        lock.after_fork(2);
        assert_eq!(lock.try_lock().map(|guard| *guard), Some(1));
        std::mem::forget(lock.try_lock());
        lock.after_fork(2);
        assert_eq!(lock.try_lock().map(|guard| *guard), Some(2));
    }
}
