//! The accesses that a profile keeps: how many, how large, and as text.

use std::{
    collections::BTreeSet,
    io::{self, BufWriter, Write},
    path::Path,
};

use carom_base::{Domain, Nanos, ThreadId};
use carom_base_stream::{Event, Record, Sink, Streamed, frame::Content, text::Writer};
use carom_store::{Recording, Row, StoreError, StreamFrame};
use carom_view::{size, thousands};

use crate::failure::Failure;

/// What a profile keeps.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Kept {
    accesses: u64,
    threads: usize,
    /// On disk.
    bytes: u64,
    cut_short: Option<String>,
}

impl Kept {
    /// Reads all of it.
    ///
    /// # Errors
    /// Some of it cannot be read.
    pub fn of(recording: &Recording) -> Result<Self, StoreError> {
        let (mut accesses, mut threads) = (0, BTreeSet::new());
        for row in recording.rows::<StreamFrame>() {
            let Ok(frame) = row?.decode() else { continue };
            if let Content::Batch { accesses: made, .. } = frame.content {
                accesses += made.len() as u64;
                threads.insert(frame.thread);
            }
        }
        let file = recording.dir().join(StreamFrame::KIND.file_name());
        let bytes = file.metadata().map_or(0, |file| file.len());
        let cut_short = recording.manifest().cut_short.clone();
        Ok(Self { accesses, threads: threads.len(), bytes, cut_short })
    }

    /// `12,000,000 accesses of 3 threads, in 4.1 MiB: 0.36 bytes each.`
    pub fn text(&self) -> String {
        let Self { accesses, threads, bytes, cut_short } = self;
        if *accesses == 0 {
            return "No access was kept.".into();
        }
        let threads = if *threads == 1 { "1 thread".into() } else { format!("{threads} threads") };
        let each = *bytes as f64 / *accesses as f64;
        let cut = cut_short
            .as_ref()
            .map_or_else(String::new, |why| format!(" It ends before the program did: {why}."));
        format!(
            "{} accesses of {threads}, in {}: {each:.2} bytes each.{cut}",
            thousands(*accesses),
            size(*bytes)
        )
    }
}

/// Prints the accesses in the form that people write.
///
/// # Errors
/// Some cannot be read, or the text cannot be written.
pub fn print(dir: &Path) -> Result<(), Failure> {
    let recording = Recording::open(dir).map_err(Failure::new)?;
    let mut lines = Lines {
        recording: &recording,
        writer: Writer::default(),
        out: BufWriter::new(io::stdout().lock()),
        last: Nanos(0),
        result: Ok(()),
    };
    let done = recording.stream(&mut lines);
    let result = lines.result.and_then(|()| lines.out.flush());
    match result {
        // A reader who has seen enough, such as `head`, is no failure.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(Failure::new(error)),
        Ok(()) => done.map_err(Failure::new),
    }
}

struct Lines<'a, W> {
    recording: &'a Recording,
    writer: Writer,
    out: W,
    last: Nanos,
    result: io::Result<()>,
}

impl<W: Write> Sink<Streamed> for Lines<'_, W> {
    fn accesses(&mut self, thread: ThreadId, _: Domain, accesses: &[Streamed], _: Nanos) {
        let info = self.recording.manifest().threads.get(thread.0 as usize);
        let process = info.map_or_else(Default::default, |thread| thread.process);
        for streamed in accesses {
            // In their order, one nanosecond apart: the exact times are those of batches only.
            let record = Record { process, thread, time: self.last, event: Event::Access(*streamed) };
            self.last = Nanos(self.last.0 + 1);
            if self.result.is_ok() {
                self.result = writeln!(self.out, "{}", self.writer.line(&record));
            }
        }
    }

    fn ended(&mut self, _: ThreadId) {}
}
