//! From streams to detectors.

use carom_base::{Domain, Nanos, ThreadId};
use carom_base_stream::{Event, Record, Sink, Streamed, sort_by_time};

/// An access, as a detector gets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The thread.
    pub thread: ThreadId,
    /// The shared cache that the thread uses.
    pub domain: Domain,
    /// When. Each access is later than all accesses before it.
    pub time: Nanos,
    /// The access.
    pub streamed: Streamed,
}

/// A detector that takes the accesses of all threads.
pub trait Detector {
    /// The next access in the order of time.
    fn access(&mut self, step: &Step);

    /// A thread makes no more accesses.
    fn end(&mut self, _thread: ThreadId) {}

    /// There are no more accesses.
    fn finish(&mut self) {}
}

/// Feeds a detector with the output of an [`Interleaver`](carom_base_stream::Interleaver).
#[derive(Debug)]
pub struct Engine<'a, D> {
    detector: &'a mut D,
    /// The time of the last access.
    last: Nanos,
}

impl<'a, D: Detector> Engine<'a, D> {
    /// A new engine, before the first access.
    pub const fn new(detector: &'a mut D) -> Self {
        Self { detector, last: Nanos(0) }
    }

    /// The stream has ended.
    pub fn finish(self) {
        self.detector.finish();
    }

    fn access(&mut self, thread: ThreadId, domain: Domain, streamed: Streamed, at: Nanos) {
        // Detectors order accesses by time, so no two accesses have the same time.
        let time = at.max(Nanos(self.last.0.saturating_add(1)));
        self.last = time;
        self.detector.access(&Step { thread, domain, time, streamed });
    }
}

impl<D: Detector> Sink<Streamed> for Engine<'_, D> {
    fn accesses(&mut self, thread: ThreadId, domain: Domain, accesses: &[Streamed], until: Nanos) {
        for (behind, streamed) in (0..accesses.len() as u64).rev().zip(accesses) {
            // One per nanosecond, up to the last.
            self.access(thread, domain, *streamed, Nanos(until.0.saturating_sub(behind)));
        }
    }

    fn ended(&mut self, thread: ThreadId) {
        self.detector.end(thread);
    }
}

/// Feeds a stream to a detector, in the order of time. All threads share one cache.
pub fn replay(stream: &[Record], detector: &mut impl Detector) {
    replay_in_domains(stream, |_| Domain(0), detector);
}

/// As [`replay`]; `domain` returns the cache that a thread shares with others.
pub fn replay_in_domains(
    stream: &[Record],
    domain: impl Fn(ThreadId) -> Domain,
    detector: &mut impl Detector,
) {
    let mut ordered = stream.to_vec();
    sort_by_time(&mut ordered);
    let mut engine = Engine::new(detector);
    for Record { thread, time, event, .. } in ordered {
        match event {
            Event::Begin | Event::Synchronisation(_) => {}
            Event::Access(streamed) => engine.access(thread, domain(thread), streamed, time),
            Event::End => engine.ended(thread),
        }
    }
    engine.finish();
}
