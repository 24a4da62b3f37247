//! What detectors keep of each thread. Used by the thread itself.

use super::{reuse::thread_table::ThreadIndex, share::thread_detectors::ThreadDetectors};

/// What each detector keeps of a thread.
#[derive(Default)]
pub struct PerThread {
    /// Its detectors of sharing, where that is looked for.
    pub share: Option<ThreadDetectors>,
    /// Its index in the table of the reuse detector.
    pub reuse: Option<ThreadIndex>,
    /// The parallel region that it does a part of; 0: none.
    pub region: u64,
    /// The critical section of the LLVM runtime that it has entered last, unless it has left one since; 0: none.
    pub section: u64,
}
