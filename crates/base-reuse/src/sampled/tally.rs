use core::sync::atomic::{AtomicU64, Ordering};

/// The counters of a detector. All zero at first; shared like the slots.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub struct Tally {
    samples: AtomicU64,
}

impl Tally {
    /// Counts a sample, and numbers it.
    pub(super) fn sample(&self) -> u64 {
        // ATOMICS: a counter by itself; no other data depends on its value.
        self.samples.fetch_add(1, Ordering::Relaxed)
    }
}
