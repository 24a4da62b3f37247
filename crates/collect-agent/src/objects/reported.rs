//! The blocks that the host knows already.

use carom_base::{LINE_BYTES, StackId};

/// Blocks that a thread remembers having reported; one that fell out is reported again.
const REMEMBERED: usize = 64;

/// The blocks that a thread has reported: first byte, size and site.
pub struct Reported([(u64, u64, StackId); REMEMBERED]);

impl Reported {
    /// None yet.
    pub const fn new() -> Self {
        Self([(0, 0, StackId::NONE); REMEMBERED])
    }

    /// Where a block that begins at `base` is remembered.
    pub fn place(&mut self, base: u64) -> &mut (u64, u64, StackId) {
        /// From the fraction of the golden ratio: blocks that are used at once lie in a row of lines, or large ones in a
        /// row of pages, and neither row meets itself soon.
        const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;
        /// The least distance of two blocks that matter.
        const STRIDE: u64 = LINE_BYTES / 2;
        let hash = (base / STRIDE).wrapping_mul(MULTIPLIER);
        &mut self.0[(hash >> u32::BITS) as usize % REMEMBERED]
    }
}
