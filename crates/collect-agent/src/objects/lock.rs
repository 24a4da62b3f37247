//! A lock that knows its holder: it never waits for the calling thread itself, nor for one that will not come back.

use carom_base_sys::{clock, lock::SpinLock};

pub use carom_base_sys::lock::Guard;

use crate::registry;

/// A holder that keeps the lock longer than this, in nanoseconds, has left it by a jump out of a signal
/// handler: what is done under it takes microseconds.
const PATIENCE_NS: u64 = 1_000_000_000;

/// Attempts between two looks at the clock.
const ATTEMPTS: u32 = 64;

/// Held in the name of the holder's thread pointer.
pub struct HolderLock<T>(SpinLock<T>);

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
        Self(SpinLock::new(value))
    }

    /// Takes the lock if it is free. Signal-safe.
    pub fn try_lock(&self) -> Option<Guard<'_, T>> {
        self.0.try_lock_as(registry::thread_pointer()).ok()
    }

    /// Waits for the lock, giving the processor away: the holder may be preempted on a busy machine.
    ///
    /// # Errors
    /// See [`Shut`].
    pub fn lock(&self) -> Result<Guard<'_, T>, Shut> {
        let own = registry::thread_pointer();
        let mut since = None;
        loop {
            for _ in 0..ATTEMPTS {
                match self.0.try_lock_as(own) {
                    Ok(guard) => return Ok(guard),
                    Err(holder) if holder == own => return Err(Shut::Mine),
                    Err(_) => std::thread::yield_now(),
                }
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
        if self.0.is_held() {
            self.0.force_open();
            if let Some(mut value) = self.try_lock() {
                std::mem::forget(std::mem::replace(&mut *value, fresh));
            }
        }
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
