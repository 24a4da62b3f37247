use super::{Content, Frame};
use crate::interleave::{Batch, Interleaver, Sink};

impl<A> Interleaver<A> {
    /// Takes a frame in as the batch, beginning or end from which it was made. Given all frames of a process in
    /// order, this interleaver produces the same output as the one to which the process's threads handed their
    /// batches.
    pub fn take_frame(&mut self, frame: Frame<A>, sink: &mut impl Sink<A>) {
        let Frame { thread, at, content } = frame;
        match content {
            Content::Begin => self.begin(thread, at),
            Content::Batch { domain, pauses, stamps, marks, mut accesses } => {
                let (stamps, marks, accesses) = (&stamps, &marks, &mut accesses);
                self.take(Batch { thread, domain, at, pauses, stamps, marks, accesses }, sink);
            }
            Content::End => self.end(thread, sink),
        }
    }
}
