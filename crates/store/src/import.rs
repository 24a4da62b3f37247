//! Recordings of accesses that were not recorded here: written by hand, or printed by other tools.

use std::collections::HashMap;
use std::path::Path;

use carom_base::{Domain, Nanos, ProcessId, ThreadId};
use carom_base_stream::{
    Event, Mark, Record, Stamp, Streamed,
    frame::{BatchHead, Encoder, split},
};

use crate::error::StoreError;
use crate::manifest::{Exit, Manifest, ProcessInfo, ThreadInfo};
use crate::rows::StreamFrame;
use crate::write::Writer;

/// Accesses after which all threads hand theirs over.
const BATCH: usize = 8 << 10;

/// Makes a recording that keeps accesses.
///
/// Records come in the order of time. Threads and processes are numbered in the order of their first records, and so are they
/// named. `manifest` says what is known besides.
#[derive(Debug)]
pub struct Importer {
    writer: Writer,
    manifest: Manifest,
    encoder: Encoder,
    /// By the thread's number in the records.
    numbers: HashMap<ThreadId, usize>,
    processes: HashMap<ProcessId, ProcessId>,
    /// By the thread's number in the recording.
    lanes: Vec<Lane>,
    /// Accesses that are not handed over yet.
    waiting: usize,
    last: Nanos,
}

#[derive(Debug, Default)]
struct Lane {
    accesses: Vec<Streamed>,
    stamps: Vec<Stamp>,
    marks: Vec<Mark>,
    ended: bool,
}

impl Importer {
    /// Begins a recording in `dir`.
    ///
    /// # Errors
    /// As [`Writer::create`].
    pub fn create(dir: &Path, manifest: Manifest) -> Result<Self, StoreError> {
        Ok(Self {
            writer: Writer::create(dir, manifest.clone())?,
            manifest: Manifest { started: Nanos(0), ..manifest },
            encoder: Encoder::default(),
            numbers: HashMap::new(),
            processes: HashMap::new(),
            lanes: Vec::new(),
            waiting: 0,
            last: Nanos(0),
        })
    }

    /// Takes the next record in. A time before that of the last one counts as the same.
    pub fn record(&mut self, record: &Record) {
        self.last = self.last.max(record.time);
        let number = self.number(record);
        let Some(lane) = self.lanes.get_mut(number) else { return };
        match record.event {
            Event::Begin => lane.ended = false,
            Event::End => lane.ended = true,
            Event::Access(streamed) => {
                lane.accesses.push(streamed);
                lane.stamps.push(Stamp { accesses: lane.accesses.len(), at: self.last });
                self.waiting += 1;
            }
            Event::Synchronisation(synchronisation) => {
                lane.marks.push(Mark { accesses: lane.accesses.len(), at: self.last, synchronisation });
                self.waiting += 1;
            }
        }
        if self.waiting >= BATCH {
            self.hand_over();
        }
    }

    /// Ends the recording. Whether it has any access.
    ///
    /// # Errors
    /// The manifest cannot be written.
    pub fn finish(mut self) -> Result<bool, StoreError> {
        self.hand_over();
        let has_accesses = !self.lanes.is_empty();
        // A little later than the last one: seconds are rounded.
        self.manifest.wall_s = (self.last.0 + 1000) as f64 / 1e9;
        self.manifest.complete = true;
        self.manifest.exit = Exit::Unknown;
        self.writer.finish(self.manifest)?;
        Ok(has_accesses)
    }

    /// The thread's number in the recording.
    fn number(&mut self, record: &Record) -> usize {
        if let Some(number) = self.numbers.get(&record.thread) {
            return *number;
        }
        let number = self.lanes.len();
        let next = ProcessId(self.processes.len() as u32);
        let process = *self.processes.entry(record.process).or_insert(next);
        if process == next {
            let info =
                ProcessInfo { id: process, argv: self.manifest.argv.clone(), ..ProcessInfo::default() };
            self.manifest.processes.push(info);
        }
        let id = ThreadId(number as u32);
        self.manifest.threads.push(ThreadInfo {
            id,
            process,
            tid: record.thread.0,
            serial: id.0,
            name: format!("T{}", record.thread.0),
            main: number == 0,
            started: self.last,
            ..ThreadInfo::default()
        });
        self.numbers.insert(record.thread, number);
        self.lanes.push(Lane::default());
        let mut frame = Vec::new();
        self.encoder.begin(id, self.last, &mut frame);
        push(&mut self.writer, &frame);
        number
    }

    /// All threads hand over what they have, so that none is waited for.
    fn hand_over(&mut self) {
        let mut frames = Vec::new();
        for (number, lane) in (0..).zip(&mut self.lanes) {
            let head = BatchHead {
                thread: ThreadId(number),
                domain: Domain(0),
                at: self.last,
                pauses: false,
                stamps: &lane.stamps,
                marks: &lane.marks,
            };
            lane.accesses.drain(..).for_each(|access| self.encoder.accesses().push(&access));
            self.encoder.batch(&head, &mut frames);
            lane.stamps.clear();
            lane.marks.clear();
            if lane.ended {
                self.encoder.end(ThreadId(number), self.last, &mut frames);
            }
        }
        self.waiting = 0;
        push(&mut self.writer, &frames);
    }
}

/// Stores the frames of which these are the bytes.
fn push(writer: &mut Writer, mut frames: &[u8]) {
    while let Ok(Some((frame, rest))) = split(frames) {
        writer.push(&[StreamFrame::new(frame.to_vec())]);
        frames = rest;
    }
}

#[cfg(test)]
mod tests {
    use carom_base_stream::{Sink, Synchronisation, text};

    use super::*;
    use crate::Recording;

    /// Threads and addresses in the order in which they come.
    #[derive(Default)]
    struct Seen(Vec<(u32, u64)>);

    impl Sink<Streamed> for Seen {
        fn accesses(&mut self, thread: ThreadId, _: Domain, accesses: &[Streamed], _: Nanos) {
            self.0.extend(accesses.iter().map(|streamed| (thread.0, streamed.access.addr.0)));
        }

        fn ended(&mut self, _: ThreadId) {}
    }

    fn imported(records: &[Record]) -> (Vec<(u32, u64)>, Manifest) {
        let dir = tempfile::tempdir().unwrap();
        let mut importer = Importer::create(dir.path(), Manifest::default()).unwrap();
        records.iter().for_each(|record| importer.record(record));
        importer.finish().unwrap();
        assert_eq!(crate::check(dir.path()).unwrap(), []);
        let recording = Recording::open(dir.path()).unwrap();
        let mut seen = Seen::default();
        recording.stream(&mut seen).unwrap();
        (seen.0, recording.manifest().clone())
    }

    #[test]
    fn accesses_come_back_in_their_order() {
        let text =
            "7 store 8 @1\n3 load 8 @2\n7 load 4 @3\n7 end\n3 rmw 4 @4\n9000: 3 load 1 @5\n1.5 load 1 @6";
        let (seen, manifest) = imported(&text::parse(text).unwrap());
        assert_eq!(seen, [(0, 1), (1, 2), (0, 3), (1, 4), (1, 5), (2, 6)]);
        let threads: Vec<_> =
            manifest.threads.iter().map(|thread| (thread.tid, thread.process.0, &*thread.name)).collect();
        assert_eq!(threads, [(7, 0, "T7"), (3, 0, "T3"), (5, 1, "T5")]);
    }

    /// Marks come back in their places among the accesses of all threads.
    #[test]
    fn marks_come_back_in_their_places() {
        let text =
            "1 lock @0x40\n1 store 8 @0x1\n2 arrive @0x80\n1 unlock @0x40\n2 lock @0x40\n2 load 8 @0x2\n";
        let dir = tempfile::tempdir().unwrap();
        let mut importer = Importer::create(dir.path(), Manifest::default()).unwrap();
        text::parse(text).unwrap().iter().for_each(|record| importer.record(record));
        importer.finish().unwrap();
        assert_eq!(crate::check(dir.path()).unwrap(), []);
        let mut lines = Lines::default();
        Recording::open(dir.path()).unwrap().stream(&mut lines).unwrap();
        // Threads are numbered in the order of their first records.
        assert_eq!(lines.0, text.replace("1 ", "0 ").replace("2 ", "1 "));
    }

    #[derive(Default)]
    struct Lines(String);

    impl Lines {
        fn put(&mut self, thread: ThreadId, event: Event) {
            let record = Record { process: ProcessId(0), thread, time: Nanos(0), event };
            self.0 += &text::write(&[record]);
        }
    }

    impl Sink<Streamed> for Lines {
        fn accesses(&mut self, thread: ThreadId, _: Domain, accesses: &[Streamed], _: Nanos) {
            accesses.iter().for_each(|streamed| self.put(thread, Event::Access(*streamed)));
        }

        fn synchronises(&mut self, thread: ThreadId, it: Synchronisation, _: Nanos) {
            self.put(thread, Event::Synchronisation(it));
        }

        fn ended(&mut self, _: ThreadId) {}
    }

    /// A thread that rests while another one makes many accesses holds nothing up, and keeps its place.
    #[test]
    fn a_long_silence_changes_no_order() {
        let line = |number: u64| match number {
            0 | 50_000 | 99_999 => format!("1 load 8 @{number}\n"),
            _ => format!("0 store 8 @{number}\n"),
        };
        let text: String = (0..100_000).map(line).collect();
        let (seen, _) = imported(&text::parse(&text).unwrap());
        assert!(seen.iter().map(|(_, addr)| *addr).eq(0..100_000));
    }
}
