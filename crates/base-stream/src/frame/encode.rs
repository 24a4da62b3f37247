use carom_base::{Domain, Nanos, ThreadId, difference, put_varint};

use super::{accesses::Accesses, codes};
use crate::{interleave::Stamp, synchronisation::Mark};

/// The parts of a batch beside its accesses. See [`Batch`](crate::Batch).
#[derive(Clone, Copy, Debug)]
pub struct BatchHead<'a> {
    /// The thread.
    pub thread: ThreadId,
    /// The shared cache that it ran on.
    pub domain: Domain,
    /// A time by which all of them had been made.
    pub at: Nanos,
    /// Whether the thread accesses nothing until it begins again.
    pub pauses: bool,
    /// In program order. At most as many as accesses, and none after the last access.
    pub stamps: &'a [Stamp],
    /// In program order, and none after the last access.
    pub marks: &'a [Mark],
}

/// Writes frames, also of many threads: no frame is needed to read the next.
#[derive(Clone, Debug, Default)]
pub struct Encoder {
    /// State of the current batch.
    accesses: Accesses,
    frame: Vec<u8>,
}

impl Encoder {
    /// Appends that a thread begins to access memory.
    pub fn begin(&mut self, thread: ThreadId, at: Nanos, out: &mut Vec<u8>) {
        self.head(thread, at, codes::BEGIN);
        self.put_frame(out);
    }

    /// Appends that a thread makes no more accesses.
    pub fn end(&mut self, thread: ThreadId, at: Nanos, out: &mut Vec<u8>) {
        self.head(thread, at, codes::END);
        self.put_frame(out);
    }

    /// The accesses of the batch that is next.
    pub const fn accesses(&mut self) -> &mut Accesses {
        &mut self.accesses
    }

    /// Appends a batch of the [accesses](Self::accesses) that were put in since the last one.
    pub fn batch(&mut self, head: &BatchHead<'_>, out: &mut Vec<u8>) {
        let what = if head.marks.is_empty() { codes::BATCH } else { codes::BATCH_WITH_MARKS };
        self.head(head.thread, head.at, what);
        put_varint(&mut self.frame, self.accesses.len() as u64);
        put_varint(&mut self.frame, head.domain.0.into());
        self.frame.push(head.pauses.into());
        self.put_stamps(head);
        self.put_marks(head);
        self.accesses.take(&mut self.frame);
        self.put_frame(out);
    }

    fn head(&mut self, thread: ThreadId, at: Nanos, what: u8) {
        self.frame.clear();
        put_varint(&mut self.frame, thread.0.into());
        put_varint(&mut self.frame, at.0);
        self.frame.push(what);
    }

    fn put_stamps(&mut self, head: &BatchHead<'_>) {
        put_varint(&mut self.frame, head.stamps.len() as u64);
        let mut before = Stamp { accesses: 0, at: head.at };
        for stamp in head.stamps {
            put_varint(&mut self.frame, stamp.accesses.saturating_sub(before.accesses) as u64);
            put_varint(&mut self.frame, difference(before.at.0, stamp.at.0));
            before = *stamp;
        }
    }

    fn put_marks(&mut self, head: &BatchHead<'_>) {
        if head.marks.is_empty() {
            return;
        }
        put_varint(&mut self.frame, head.marks.len() as u64);
        let (mut before, mut object) = (Stamp { accesses: 0, at: head.at }, 0);
        for &Mark { accesses, at, synchronisation } in head.marks {
            put_varint(&mut self.frame, accesses.saturating_sub(before.accesses) as u64);
            put_varint(&mut self.frame, difference(before.at.0, at.0));
            self.frame.push(synchronisation.what as u8);
            put_varint(&mut self.frame, difference(object, synchronisation.object.0));
            (before, object) = (Stamp { accesses, at }, synchronisation.object.0);
        }
    }

    fn put_frame(&self, out: &mut Vec<u8>) {
        put_varint(out, self.frame.len() as u64);
        out.extend_from_slice(&self.frame);
    }
}
