//! Timed loads.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use carom_base::Access;

/// A timed load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timed {
    /// The load; if it also stores, it is a read-modify-write.
    pub access: Access,
    /// The ticks of the time-stamp counter from before to after the load, modulo 2^32, including the cost of reading
    /// it ([`calibrate`]). Interrupts count.
    pub ticks: u32,
}

impl Timed {
    /// `times`: the lower half of the counter before the load, and above it the one after it.
    pub(crate) const fn new(access: Access, times: u64) -> Self {
        Self { access, ticks: ((times >> u32::BITS) as u32).wrapping_sub(times as u32) }
    }
}

/// Whether there has been code that times loads, so that buffers may have timed loads.
///
/// ATOMICS: relaxed: set under the engine's lock, before any thread can run that code.
static IS_USED: AtomicBool = AtomicBool::new(false);

/// Notes that code is being made that times loads.
pub fn note_use() {
    IS_USED.store(true, Relaxed);
}

/// Whether buffers may have timed loads.
pub fn is_used() -> bool {
    IS_USED.load(Relaxed)
}
