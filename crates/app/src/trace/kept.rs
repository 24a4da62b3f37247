//! The accesses that a profile keeps: how many, how large, and as text.

use std::{
    io::{self, BufWriter, Write},
    path::Path,
};

use carom_base::{Domain, Nanos, ThreadId};
use carom_base_stream::{Event, Record, Sink, Streamed, Synchronisation, text::Writer};
use carom_store::{FrameTotals, Recording, Row, StoreError, StreamFrame};
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
    /// Why recording ended before the program did, where that was wanted.
    ended: Option<Ended>,
}

/// How long recording went on, in seconds, and what ended it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Ended {
    after_s: f64,
    by: End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Limit,
    Room,
}

impl Kept {
    /// Counts all of it.
    ///
    /// # Errors
    /// Some of it cannot be read.
    pub fn of(recording: &Recording) -> Result<Self, StoreError> {
        let mut totals = FrameTotals::default();
        for row in recording.rows::<StreamFrame>() {
            totals.add(&row?);
        }
        Ok(Self::with(recording, &totals))
    }

    /// The same where all that was recorded is known, and need not be read again.
    ///
    /// # Errors
    /// Some of it cannot be read, where less was kept than recorded.
    pub fn recorded(recording: &Recording, totals: &FrameTotals) -> Result<Self, StoreError> {
        if recording.manifest().complete { Ok(Self::with(recording, totals)) } else { Self::of(recording) }
    }

    fn with(recording: &Recording, totals: &FrameTotals) -> Self {
        let file = recording.dir().join(StreamFrame::KIND.file_name());
        let bytes = file.metadata().map_or(0, |file| file.len());
        let manifest = recording.manifest();
        let warned = |code: &str| manifest.warnings.iter().any(|warning| warning.code == code);
        let by = [("limit", End::Limit), ("low-disk", End::Room)].into_iter().find(|(code, _)| warned(code));
        let after_s = totals.last.0.saturating_sub(manifest.started.0) as f64 / 1e9;
        Self {
            accesses: totals.accesses,
            threads: totals.threads.len(),
            bytes,
            cut_short: manifest.cut_short.clone(),
            ended: by.map(|(_, by)| Ended { after_s, by }),
        }
    }

    /// How many accesses.
    pub const fn accesses(&self) -> u64 {
        self.accesses
    }

    /// `12,000,000 accesses of 3 threads, in 4.1 MiB: 0.36 bytes each.`
    pub fn text(&self) -> String {
        let Self { accesses, threads, bytes, cut_short, ended } = self;
        if *accesses == 0 {
            return "No access was kept.".into();
        }
        let threads = if *threads == 1 { "1 thread".into() } else { format!("{threads} threads") };
        let each = *bytes as f64 / *accesses as f64;
        let cut = cut_short
            .as_ref()
            .map_or_else(String::new, |why| format!(" It ends before the program did: {why}."));
        let ended = ended.map_or_else(String::new, |Ended { after_s, by }| match by {
            End::Limit => format!(
                " These are the first ones: recording ended after {after_s:.2} s with its limit. `--limit 1G` keeps more, \
                 `--limit none` all; `--after` begins later."
            ),
            End::Room => format!(
                " These are the first ones: recording ended after {after_s:.2} s, since little room is left on the disk. \
                 `-o DIR` puts it elsewhere."
            ),
        });
        format!(
            "{} accesses of {threads}, in {}: {each:.2} bytes each.{cut}{ended}",
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

impl<W: Write> Lines<'_, W> {
    fn put(&mut self, thread: ThreadId, event: Event) {
        let info = self.recording.manifest().threads.get(thread.0 as usize);
        let process = info.map_or_else(Default::default, |thread| thread.process);
        // In their order, one nanosecond apart: the exact times are those of batches only.
        let record = Record { process, thread, time: self.last, event };
        self.last = Nanos(self.last.0 + 1);
        if self.result.is_ok() {
            self.result = writeln!(self.out, "{}", self.writer.line(&record));
        }
    }
}

impl<W: Write> Sink<Streamed> for Lines<'_, W> {
    fn accesses(&mut self, thread: ThreadId, _: Domain, accesses: &[Streamed], _: Nanos) {
        accesses.iter().for_each(|streamed| self.put(thread, Event::Access(*streamed)));
    }

    fn synchronises(&mut self, thread: ThreadId, synchronisation: Synchronisation, _: Nanos) {
        self.put(thread, Event::Synchronisation(synchronisation));
    }

    fn ended(&mut self, _: ThreadId) {}
}
