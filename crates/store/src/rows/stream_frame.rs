use std::collections::BTreeSet;

use carom_base::{Nanos, StackId, ThreadId};
use carom_base_stream::frame::{Form, Frame, FrameError, Head};

use super::{Row, collect};
use crate::chunk::{ColumnReader, ColumnWriter, Kind};
use crate::error::Damage;
use crate::rules::{Report, RowContext, Rule};

/// What a thread has handed over of its accesses, as the bytes of a [frame](carom_base_stream::frame) without their length.
///
/// Frames of one process are in the order in which they were handed over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StreamFrame {
    bytes: Vec<u8>,
}

impl StreamFrame {
    /// A frame whose thread has its number in the manifest.
    pub const fn new(bytes: Vec<u8>) -> Self {
        Self { bytes }
    }

    /// What it says.
    ///
    /// # Errors
    /// It is no frame.
    pub fn decode(&self) -> Result<Frame, FrameError> {
        Frame::decode(&self.bytes)
    }

    /// The same, with accesses in another form.
    ///
    /// # Errors
    /// It is no frame.
    pub fn decode_as<F: Form>(&self, form: &mut F) -> Result<Frame<F::Access>, FrameError> {
        Frame::decode_as(&self.bytes, form)
    }

    /// What it begins with.
    ///
    /// # Errors
    /// It is no frame.
    pub fn head(&self) -> Result<Head, FrameError> {
        Head::decode(&self.bytes)
    }
}

/// What frames have in all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FrameTotals {
    /// Accesses.
    pub accesses: u64,
    /// The threads that made them.
    pub threads: BTreeSet<ThreadId>,
    /// When the last of them had been made.
    pub last: Nanos,
}

impl FrameTotals {
    /// Adds a frame, of which only the beginning is read. One that is none adds nothing.
    pub fn add(&mut self, frame: &StreamFrame) {
        let Ok(Head { thread, at, accesses: Some(accesses) }) = frame.head() else { return };
        self.accesses += accesses as u64;
        self.threads.insert(thread);
        self.last = self.last.max(at);
    }
}

impl Row for StreamFrame {
    const KIND: Kind = Kind::new(7, "accesses.chunks");
    const HAS_STACKS: bool = false;

    fn bytes(&self) -> usize {
        size_of::<Self>() + self.bytes.len()
    }

    fn encode(rows: &[Self], columns: &mut ColumnWriter) {
        columns.integers(rows.iter().map(|row| row.bytes.len() as u64));
        columns.byte_pieces(rows.iter().map(|row| row.bytes.as_slice()));
    }

    fn decode(rows: u32, columns: &mut ColumnReader<'_>) -> Result<Vec<Self>, Damage> {
        let mut length = columns.integers()?;
        let mut bytes = columns.bytes()?;
        collect(rows, |_| {
            let length = usize::try_from(length.read()?).map_err(|_| Damage::Column)?;
            Ok(Self { bytes: bytes.read_slice(length)?.to_vec() })
        })
    }

    // Times are those of the processors' counters, which may go a little faster than the clock.
    fn check(&self, context: &mut RowContext<'_>, report: Report<'_>) {
        match self.decode() {
            Ok(frame) => context.thread(frame.thread, StackId::NONE, report),
            Err(error) => report(Rule::BadFrame(error)),
        }
    }
}
