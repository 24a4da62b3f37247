//! State of each thread that allocates.

use super::{path::Paths, reported::Reported};

/// The unwinder and the call path of a thread's allocations.
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
