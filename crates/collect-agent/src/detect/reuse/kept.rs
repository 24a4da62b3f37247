//! Writes every access that the exact analysis takes in to a file for the host.

use carom_base::{Nanos, ThreadId};
use carom_base_stream::frame::{BatchHead, Encoder};

use crate::session;

/// Bytes that are written at a time.
const WRITE_BYTES: usize = 1 << 20;

/// Frames that wait to be written. Where the disk is full, no more are written: a stream must have no gaps.
#[derive(Debug, Default)]
pub struct Kept {
    encoder: Encoder,
    frames: Vec<u8>,
    failed: bool,
}

impl Kept {
    /// A thread accesses something from now on.
    pub fn begin(&mut self, thread: ThreadId, at: Nanos) {
        self.encoder.begin(thread, at, &mut self.frames);
    }

    /// A thread hands accesses over, which it has put into an encoder of its own, before other threads had to wait for it.
    pub fn batch(&mut self, head: &BatchHead<'_>, encoded: &mut Encoder) {
        if self.failed {
            return;
        }
        encoded.batch(head, &mut self.frames);
        if self.frames.len() >= WRITE_BYTES {
            self.write();
        }
    }

    /// A thread makes no more accesses.
    pub fn end(&mut self, thread: ThreadId, at: Nanos) {
        self.encoder.end(thread, at, &mut self.frames);
    }

    /// Writes the waiting frames.
    pub fn write(&mut self) {
        // The child of a fork has its parent's session until it has one of its own.
        let session = session::current().filter(|session| session.is_of_this_process());
        if !self.frames.is_empty() {
            self.failed = self.failed || !session.is_some_and(|session| session.append_kept(&self.frames));
            self.frames.clear();
        }
    }
}
