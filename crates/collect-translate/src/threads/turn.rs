//! Which thread may hand over a thread's buffer.

use std::{
    mem,
    sync::atomic::{AtomicUsize, Ordering::*},
};

use carom_base_sys::lock::{Lock, Rank};

/// The turn to hand a thread's buffer over: that of the thread itself, or of one that flushes.
pub struct Turn {
    held: Lock<()>,
    /// Words that were handed over, and are still in the buffer.
    pub handed: AtomicUsize,
}

impl Default for Turn {
    fn default() -> Self {
        Self { held: Lock::new(Rank::Turn, ()), handed: AtomicUsize::new(0) }
    }
}

impl Turn {
    /// Takes the turn. False where another thread has it.
    pub fn take(&self) -> bool {
        self.held.try_lock().map(mem::forget).is_some()
    }

    /// Gives the turn back. Then the thread may end.
    pub fn give(&self) {
        self.held.open();
    }

    /// Keeps only this many words; some of those that were handed over may not have taken place.
    pub fn shorten(&self, words: usize) {
        self.handed.fetch_min(words, Relaxed);
    }

    /// Waits for the turn. Must be called by the thread itself, without the engine's lock, before it ends.
    pub fn wait(&self) {
        mem::forget(self.held.lock());
    }
}
