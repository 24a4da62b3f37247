//! Parts of the translate engine by themselves, to measure what they cost.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use carom_base::Access;
use carom_base_wire::Trial;
use carom_collect_translate::{Batch, Mode};

/// Keeps sums from being left out because nobody looks at them.
static SUM: AtomicU64 = AtomicU64::new(0);

/// What the engine does for `trial`.
pub fn mode(trial: Trial) -> Mode {
    match trial {
        // Samples with no period are none.
        Trial::Counts | Trial::Samples => Mode::Count,
        Trial::Translation => Mode::Bare,
        Trial::Stream | Trial::Checksums => Mode::Stream,
    }
}

/// What becomes of accesses that a thread has written down, where nobody analyses them.
pub fn take(trial: Trial, batch: &Batch<'_>) {
    if trial == Trial::Checksums {
        let mut sum = 0u64;
        batch.for_each(|access| sum = sum.wrapping_add(access.addr.0));
        SUM.fetch_add(sum, Relaxed);
    }
}

/// What becomes of a sample that nobody asked for.
pub fn take_sample(access: Access) {
    SUM.fetch_add(access.addr.0, Relaxed);
}
