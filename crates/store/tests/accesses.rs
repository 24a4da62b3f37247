//! Accesses that were kept.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod common;

use std::fs::OpenOptions;

use carom_base::{Access, AccessKind, Addr, Domain, Ip, Nanos, ProcessId, ThreadId};
use carom_base_stream::{Sink, Stamp, Streamed, frame::AsRecorded};
use carom_store::{
    Manifest, ProcessInfo, Recording, Row, Spread, StoreError, StreamFrame, ThreadInfo, Writer,
};
use common::{batch, frame};
use proptest::{collection::vec, prelude::*};
use tempfile::TempDir;

/// Thread, address, and up to when.
type Found = Vec<(u32, u64, u64)>;

#[derive(Default)]
struct Recorder(Found);

impl Sink<Streamed> for Recorder {
    fn accesses(&mut self, thread: ThreadId, _: Domain, accesses: &[Streamed], until: Nanos) {
        self.0.extend(accesses.iter().map(|streamed| (thread.0, streamed.access.addr.0, until.0)));
    }

    fn ended(&mut self, _: ThreadId) {}
}

fn store(addr: u64) -> Streamed {
    let access = Access { ip: Ip(7), addr: Addr(addr), width: 8, kind: AccessKind::Store };
    Streamed { access, atomic: false }
}

/// A batch with a stamp at each access.
fn stamped(thread: u32, accesses: &[(u64, u64)]) -> StreamFrame {
    let stamps: Vec<_> =
        (1..).zip(accesses).map(|(accesses, (at, _))| Stamp { accesses, at: Nanos(*at) }).collect();
    let last = accesses.last().unwrap().0;
    batch(thread, last, &stamps, accesses.iter().map(|(_, addr)| store(*addr)))
}

/// Threads 0 and 1 of one process, and thread 2 of another one.
fn recorded(frames: &[StreamFrame]) -> (TempDir, Recording) {
    let dir = tempfile::tempdir().unwrap();
    let thread = |id: u32| ThreadInfo {
        id: ThreadId(id),
        process: ProcessId(id / 2),
        serial: id % 2,
        ..ThreadInfo::default()
    };
    let process = |id| ProcessInfo { id: ProcessId(id), ..ProcessInfo::default() };
    let manifest = Manifest {
        threads: (0..3).map(thread).collect(),
        processes: (0..2).map(process).collect(),
        complete: true,
        ..Manifest::default()
    };
    let mut writer = Writer::create(dir.path(), manifest.clone()).unwrap();
    for frame in frames {
        writer.push(std::slice::from_ref(frame));
        writer.flush();
    }
    writer.finish(manifest).unwrap();
    let recording = Recording::open(dir.path()).unwrap();
    (dir, recording)
}

fn streamed(recording: &Recording) -> (Found, Result<(), StoreError>) {
    let mut recorder = Recorder::default();
    let result = recording.stream(&mut recorder);
    (recorder.0, result)
}

/// Thread 1 hands over later what it did between the accesses of thread 0. Nothing orders thread 2, which is of another
/// process: it has nobody to wait for.
#[test]
fn accesses_come_in_the_order_of_time() {
    let (_dir, recording) = recorded(&[
        frame(0, 0, false),
        frame(1, 0, false),
        stamped(0, &[(10, 0xa0), (20, 0xa1), (40, 0xa2)]),
        frame(2, 0, false),
        stamped(2, &[(30, 0xc0)]),
        stamped(1, &[(15, 0xb0), (30, 0xb1)]),
        frame(0, 50, true),
        frame(1, 50, true),
    ]);
    let (found, result) = streamed(&recording);
    result.unwrap();
    let (other, own): (Vec<_>, Vec<_>) = found.into_iter().partition(|(thread, ..)| *thread == 2);
    assert_eq!(own, [(0, 0xa0, 10), (1, 0xb0, 15), (0, 0xa1, 20), (1, 0xb1, 30), (0, 0xa2, 40)]);
    assert_eq!(other, [(2, 0xc0, 30)]);
}

/// 2,048 batches of an access each, of which 512 are wanted: two rows of 256, each at the beginning of a half. As many as there are
/// are all.
#[test]
fn a_part_is_spread_over_all() {
    let batch = |number: u64| stamped(0, &[(number, number)]);
    let (_dir, recording) = recorded(&(0..2048).map(batch).collect::<Vec<_>>());
    let of = |most| {
        let mut recorder = Recorder::default();
        recording.stream_as(Spread::about(most, 2048), &mut AsRecorded, &mut recorder).unwrap();
        recorder.0.into_iter().map(|(_, addr, _)| addr).collect::<Vec<u64>>()
    };
    assert_eq!(of(2048), (0..2048).collect::<Vec<u64>>());
    assert_eq!(of(512), (0..256).chain(1024..1280).collect::<Vec<u64>>());
    assert_eq!(of(0).len(), 256);
}

/// Each frame is in a chunk of its own here: a cut in the second leaves the first.
#[test]
fn what_is_left_of_a_recording_is_given() {
    let frames = [stamped(0, &[(10, 0xa0), (20, 0xa1)]), stamped(0, &[(30, 0xa2)])];
    let (dir, recording) = recorded(&frames);
    assert_eq!(streamed(&recording).0.len(), 3);
    let path = dir.path().join(StreamFrame::KIND.file_name());
    let file = OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(path.metadata().unwrap().len() - 1).unwrap();
    let (found, result) = streamed(&recording);
    assert_eq!(found.len(), 2);
    result.unwrap();
    // A frame that is none is told, and those around it are given.
    let (_dir, recording) =
        recorded(&[frames[0].clone(), StreamFrame::new(vec![0, 0, 9]), frames[1].clone()]);
    let (found, result) = streamed(&recording);
    assert_eq!(found.len(), 3);
    assert!(
        result.unwrap_err().to_string().contains("row 1 is not a frame of accesses: 9 is no kind of frame")
    );
}

#[test]
fn a_recording_without_accesses_has_none() {
    let (dir, recording) = recorded(&[]);
    assert!(!dir.path().join(StreamFrame::KIND.file_name()).exists());
    let (found, result) = streamed(&recording);
    assert_eq!(found, []);
    result.unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn rows_return(rows in vec(vec(any::<u8>(), 0..50).prop_map(StreamFrame::new), 0..100)) {
        let (_dir, recording) = recorded(&rows);
        prop_assert_eq!(recording.rows::<StreamFrame>().collect::<Result<Vec<_>, _>>().unwrap(), rows);
    }
}
