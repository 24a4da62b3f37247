use carom_base::{Addr, LINE_BYTES, Line};

use crate::config::{MAX_WATCHPOINTS, Watch};
use crate::random::Random;

/// Bytes that one debug register watches on x86-64.
pub const CHUNK_BYTES: u64 = 8;

/// Chunks in a line.
const CHUNKS: usize = (LINE_BYTES / CHUNK_BYTES) as usize;

/// Which bytes to watch: distinct, randomly chosen chunks of one line, or all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatchPlan {
    /// The line.
    pub line: Line,
    /// The first bytes of the chunks, each [`CHUNK_BYTES`] long and aligned. Only the first `count` are used.
    pub chunks: [Addr; MAX_WATCHPOINTS],
    /// How many chunks, 1 to [`MAX_WATCHPOINTS`]; 0: the whole line.
    pub count: u8,
}

impl WatchPlan {
    /// A plan for as much of the line as can be watched.
    pub(crate) fn new(line: Line, watch: Watch, random: &mut Random) -> Option<Self> {
        watch.is_possible().then(|| match watch {
            Watch::Chunks(count) => Self::random(line, count, random),
            Watch::Line | Watch::Nothing => {
                Self { line, chunks: [Addr::default(); MAX_WATCHPOINTS], count: 0 }
            }
        })
    }

    /// `count` chunks of the line, every subset equally likely.
    fn random(line: Line, count: u8, random: &mut Random) -> Self {
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

    /// Whether all bytes of the line are watched.
    pub const fn is_whole_line(&self) -> bool {
        self.count == 0
    }

    /// The chunks to watch; none where the whole line is watched.
    pub fn watched(&self) -> &[Addr] {
        &self.chunks[..usize::from(self.count).min(MAX_WATCHPOINTS)]
    }

    /// Line size over watched bytes: the number of touches that one trap stands for (ComDetective 3.3).
    pub fn weight(&self) -> f32 {
        if self.is_whole_line() {
            return 1.0;
        }
        LINE_BYTES as f32 / (CHUNK_BYTES as f32 * f32::from(self.count))
    }
}
