//! Which threads bounce which cache lines.

mod findings;

pub use findings::*;

/// Fewer events than this support no fraction and no matrix.
pub const ENOUGH_EVENTS: usize = 30;
