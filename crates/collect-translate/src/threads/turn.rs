//! Whose turn it is with the buffer of a thread.

use std::{
    mem,
    sync::atomic::{AtomicUsize, Ordering::*},
};

use carom_base_sys::lock::{Lock, Rank};

/// Whose turn it is to hand a thread's buffer over: the thread itself, or one that flushes.
pub struct Turn {
    held: Lock<()>,
    /// Words that were handed over, and lie in the buffer still.
    pub handed: AtomicUsize,
}

impl Default for Turn {
    fn default() -> Self {
        Self { held: Lock::new(Rank::Turn, ()), handed: AtomicUsize::new(0) }
    }
}

impl Turn {
    /// Takes it. False where somebody has it.
    pub fn take(&self) -> bool {
        self.held.try_lock().map(mem::forget).is_some()
    }

    /// Gives it back. Then the thread may end.
    pub fn give(&self) {
        self.held.open();
    }

    /// Only so many words are left; of those that were handed over some may not have taken place.
    pub fn shorten(&self, words: usize) {
        self.handed.fetch_min(words, Relaxed);
    }

    /// Waits for it. To be called by the thread itself, without the engine's lock, before it ends.
    pub fn wait(&self) {
        mem::forget(self.held.lock());
    }
}
