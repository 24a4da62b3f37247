use core::sync::atomic::{AtomicU64, Ordering};

/// What a detector counts. All zero at first; shared like the slots.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub struct Tally {
    samples: AtomicU64,
}

impl Tally {
    /// Counts a sample, and numbers it.
    pub(super) fn sample(&self) -> u64 {
        // ATOMICS: a counter by itself; no other data hangs on its value.
        self.samples.fetch_add(1, Ordering::Relaxed)
    }
}
