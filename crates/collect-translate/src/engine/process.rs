//! Whether the engine runs, and in which process.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::*};

/// It has been started.
static STARTED: AtomicBool = AtomicBool::new(false);
/// The process that the engine runs in.
static PROCESS: AtomicU32 = AtomicU32::new(0);

/// Allows threads to be attached from now on.
pub fn begin() {
    STARTED.store(true, Release);
}

/// Whether the engine was started.
pub fn is_started() -> bool {
    STARTED.load(Acquire)
}

/// The engine runs in the calling process from now on, not in its parent.
pub fn is_this_process() {
    PROCESS.store(std::process::id(), Relaxed);
}

/// Whether the engine runs in the calling process.
pub fn is_in_this_process() -> bool {
    PROCESS.load(Relaxed) == std::process::id()
}

/// Ends the engine's work in this process.
pub fn stop() {
    STARTED.store(false, Release);
}
