use super::{Content, Frame};
use crate::{
    interleave::{Batch, Interleaver, Sink},
    record::Streamed,
};

impl Interleaver<Streamed> {
    /// Takes a frame in as what it was kept of. Told all frames of a process in their order, this interleaver gives on what
    /// the one did that the process's threads handed their batches to.
    pub fn take_frame(&mut self, frame: Frame, sink: &mut impl Sink<Streamed>) {
        let Frame { thread, at, content } = frame;
        match content {
            Content::Begin => self.begin(thread, at),
            Content::Batch { domain, pauses, stamps, mut accesses } => {
                self.take(
                    Batch { thread, domain, at, pauses, stamps: &stamps, accesses: &mut accesses },
                    sink,
                );
            }
            Content::End => self.end(thread, sink),
        }
    }
}
