//! Streams that were kept as frames.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

use std::collections::BTreeMap;

use carom_base::{Access, AccessKind, Addr, Domain, Ip, Nanos, ProcessId, ThreadId};
use carom_base_replay::{Detector, Engine, Step, replay};
use carom_base_stream::{
    Event, Interleaver, Limits, Record, Stamp, Streamed,
    frame::{BatchHead, Encoder, Frame, split},
};
use proptest::prelude::*;

#[derive(Default)]
struct Recorder {
    steps: Vec<Step>,
    ended: Vec<ThreadId>,
}

impl Detector for Recorder {
    fn access(&mut self, step: &Step) {
        self.steps.push(*step);
    }

    fn end(&mut self, thread: ThreadId) {
        self.ended.push(thread);
    }
}

/// Accesses of three threads, each at a time of its own: the thread and the address.
fn stream(accesses: &[(u32, u64)]) -> Vec<Record> {
    let record = |(n, (thread, addr)): (u64, &(u32, u64))| {
        let access = Access { ip: Ip(n % 5), addr: Addr(*addr), width: 8, kind: AccessKind::Load };
        let event = Event::Access(Streamed { access, atomic: false });
        Record { process: ProcessId(0), thread: ThreadId(*thread), time: Nanos(10 * (n + 1)), event }
    };
    (0..).zip(accesses).map(record).collect()
}

/// Frames as threads would hand them over: all threads begin, hand over a batch for every `every` accesses of a
/// thread with a stamp after each, and end.
fn frames(stream: &[Record], every: usize) -> Vec<u8> {
    let (mut encoder, mut out) = (Encoder::default(), Vec::new());
    let threads = (0..3).map(ThreadId);
    threads.clone().for_each(|thread| encoder.begin(thread, Nanos(0), &mut out));
    let mut pending: BTreeMap<ThreadId, Vec<(Nanos, Streamed)>> = BTreeMap::new();
    let mut hand_over = |thread, accesses: &mut Vec<(Nanos, Streamed)>, out: &mut Vec<u8>| {
        let stamps: Vec<_> =
            (1..).zip(&*accesses).map(|(n, (at, _))| Stamp { accesses: n, at: *at }).collect();
        let Some(at) = stamps.last().map(|stamp| stamp.at) else { return };
        let head = BatchHead { thread, domain: Domain(0), at, pauses: false, stamps: &stamps, marks: &[] };
        accesses.drain(..).for_each(|(_, streamed)| encoder.accesses().push(&streamed));
        encoder.batch(&head, out);
    };
    for record in stream {
        let Event::Access(streamed) = record.event else { continue };
        let accesses = pending.entry(record.thread).or_default();
        accesses.push((record.time, streamed));
        if accesses.len() >= every {
            hand_over(record.thread, accesses, &mut out);
        }
    }
    pending.iter_mut().for_each(|(thread, accesses)| hand_over(*thread, accesses, &mut out));
    threads.for_each(|thread| encoder.end(thread, Nanos(u64::MAX), &mut out));
    out
}

proptest! {
    /// Times are in nanoseconds, and no two accesses have the same, so order and times are those of the stream.
    #[test]
    fn frames_are_replayed_as_their_stream(
        accesses in prop::collection::vec((0..3u32, 0..1000u64), 0..200),
        every in 1..20usize,
    ) {
        let stream = stream(&accesses);
        let (mut expected, mut found) = (Recorder::default(), Recorder::default());
        replay(&stream, &mut expected);
        let bytes = frames(&stream, every);
        let mut interleaver = Interleaver::new(Nanos(0), Limits::default());
        let mut engine = Engine::new(&mut found);
        let mut rest = &bytes[..];
        while let Some((frame, behind)) = split(rest).unwrap().filter(|_| !rest.is_empty()) {
            interleaver.take_frame(Frame::decode(frame).unwrap(), &mut engine);
            rest = behind;
        }
        engine.finish();
        let order = |recorder: &Recorder| -> Vec<_> {
            recorder.steps.iter().map(|step| (step.thread, step.streamed.access)).collect()
        };
        prop_assert_eq!(order(&found), order(&expected));
        prop_assert!(found.steps.is_sorted_by(|one, other| one.time < other.time));
        prop_assert_eq!(found.ended.len(), 3);
    }
}
