//! What detectors keep of each thread. Used by the thread itself.

use super::{reuse::people::Place, share::thread_detectors::ThreadDetectors};

/// What each detector keeps of a thread.
#[derive(Default)]
pub struct PerThread {
    /// Its detectors of sharing, where that is looked for.
    pub share: Option<ThreadDetectors>,
    /// Where it is among those that are watched for reuse.
    pub reuse: Option<Place>,
}
