//! A lock that knows its holder: it waits neither for the calling thread itself, nor for a holder that will never
//! release it.
//!
//! It is taken wherever the program allocates, and signals may come while it is held. A handler of the program whose
//! own thread holds the lock goes on without it.

use std::time::Duration;

use carom_base_sys::lock::{Lock, Rank};

pub use carom_base_sys::lock::{Guard, Shut};

use crate::registry;

/// A holder that keeps the lock longer than this has left it by a jump out of a signal handler: work under it takes
/// microseconds.
const PATIENCE: Duration = Duration::from_secs(1);

/// Held in the name of the holder.
pub struct HolderLock<T>(Lock<T>);

/// The calling thread's name: its thread pointer but for the bits that are the same in all. A thread that finds one of the
/// same name to be the holder does without the lock.
fn own_name() -> u32 {
    (registry::thread_pointer() >> 6) as u32
}

impl<T> HolderLock<T> {
    /// An open lock.
    pub const fn new(value: T) -> Self {
        Self(Lock::new(Rank::Objects, value))
    }

    /// Takes the lock if it is free. Signal-safe.
    pub fn try_lock(&self) -> Option<Guard<'_, T>> {
        self.0.try_lock_as(own_name()).ok()
    }

    /// Waits for the lock.
    ///
    /// # Errors
    /// [`Shut::Mine`]: a signal handler of the program has interrupted a hook. [`Shut::Others`]: its holder will never come
    /// back.
    pub fn lock(&self) -> Result<Guard<'_, T>, Shut> {
        self.0.lock_within(own_name(), PATIENCE)
    }

    /// Whether some thread holds it.
    pub fn is_held(&self) -> bool {
        self.0.is_held()
    }

    /// In a forked child: where a thread that is not here held the lock, opens it with `fresh` behind it. The
    /// old value may be half changed and is left alone.
    pub fn after_fork(&self, fresh: T) {
        if self.0.is_held() {
            self.0.open();
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
