use carom_base::{Addr, LINE_BYTES, Line};

use crate::config::MAX_WATCHPOINTS;
use crate::random::Random;

/// Bytes that one debug register watches on x86-64.
pub const CHUNK_BYTES: u64 = 8;

/// Chunks in a line.
const CHUNKS: usize = (LINE_BYTES / CHUNK_BYTES) as usize;

/// Which bytes to watch: distinct, randomly chosen chunks of one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatchPlan {
    /// The line.
    pub line: Line,
    /// First bytes of the chunks, each [`CHUNK_BYTES`] long and aligned; only the first `count` count.
    pub chunks: [Addr; MAX_WATCHPOINTS],
    /// How many chunks, 1 to [`MAX_WATCHPOINTS`].
    pub count: u8,
}

impl WatchPlan {
    /// `count` chunks of the line, every subset equally likely.
    pub(crate) fn random(line: Line, count: u8, random: &mut Random) -> Self {
        let count = usize::from(count).min(MAX_WATCHPOINTS);
        let mut offsets: [u64; CHUNKS] = core::array::from_fn(|i| i as u64 * CHUNK_BYTES);
        let mut chunks = [Addr::default(); MAX_WATCHPOINTS];
        // The first steps of a Fisher-Yates shuffle.
        for i in 0..count {
            let other = i + random.below((CHUNKS - i) as u32) as usize;
            offsets.swap(i, other);
            chunks[i] = Addr(line.start().0 + offsets[i]);
        }
        Self { line, chunks, count: count as u8 }
    }

    /// The chunks to watch.
    pub fn watched(&self) -> &[Addr] {
        &self.chunks[..usize::from(self.count).min(MAX_WATCHPOINTS)]
    }

    /// Line size over watched bytes: what one trap stands for (ComDetective 3.3).
    pub fn weight(&self) -> f32 {
        LINE_BYTES as f32 / (CHUNK_BYTES as f32 * f32::from(self.count.max(1)))
    }
}
