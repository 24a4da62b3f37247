//! What is kept of each thread that allocates.

use super::{path::Paths, reported::Reported};

/// What a thread needs for all this.
pub struct ThreadHeap {
    pub(super) paths: Paths,
    pub(super) reported: Reported,
}

impl ThreadHeap {
    /// Allocates the caches. Not for handlers.
    pub fn new() -> Self {
        Self { paths: Paths::new(), reported: Reported::new() }
    }
}
