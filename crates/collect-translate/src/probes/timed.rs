//! Loads that were timed.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use carom_base::Access;

/// A load that was timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timed {
    /// The load; one that also stores is a read-modify-write.
    pub access: Access,
    /// What the time-stamp counter has moved on by meanwhile, modulo 2^32, the cost of looking at it included
    /// ([`calibrate`]). Interrupts count.
    pub ticks: u32,
}

impl Timed {
    /// `times`: the lower halves of what the counter said in front of it, and above that behind it.
    pub(crate) const fn new(access: Access, times: u64) -> Self {
        Self { access, ticks: ((times >> u32::BITS) as u32).wrapping_sub(times as u32) }
    }
}

/// Whether there was code that times loads, so that there may be some in buffers.
///
/// ATOMICS: relaxed: set under the engine's lock, before any thread can run that code.
static IS_USED: AtomicBool = AtomicBool::new(false);

/// Code is being made that times loads.
pub fn note_use() {
    IS_USED.store(true, Relaxed);
}

/// Whether there may be loads that were timed in buffers.
pub fn is_used() -> bool {
    IS_USED.load(Relaxed)
}
