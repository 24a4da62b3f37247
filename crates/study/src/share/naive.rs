//! The matrix of older tools, for comparison only.

use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BinaryHeap};

use carom_base::{Access, Nanos, Population, ProcessId, Sample, SampleOutcome, SharingClass, ThreadId};

use super::Matrix;
use super::extent::lines;
use super::matrix::Cells;
use super::tally::LineKey;

/// Step samples held back so as to put them in order of time: the rings of different threads are emptied one
/// after the other. At 1,000 samples per second and 64 threads this is a second; it takes 5 MB.
const REORDER: usize = 1 << 16;

/// Lines remembered at most, in 64 MB or so; later ones are not entered.
const MAX_REMEMBERED: usize = 1 << 20;

/// Counts, for every sampled access, the last thread before it that was sampled writing to the line, however
/// long ago: no expiry, no "since my previous sample", no watchpoints. So work tools that replay accesses per
/// memory block without their times; ComDetective 4.1 compares itself with one (M. Diener et al.,
/// "Characterizing communication and page usage of parallel applications for thread and data mapping",
/// Performance Evaluation 88-89 (2015) 18-36). Data written once and read for ever counts at every read.
#[derive(Default)]
pub(super) struct LastWriter {
    waiting: BinaryHeap<Reverse<Waiting>>,
    arrived: u64,
    writers: BTreeMap<LineKey, (ThreadId, Access)>,
    cells: Cells<ThreadId>,
}

/// Ordered by time, then by arrival.
struct Waiting {
    order: (Nanos, u64),
    thread: ThreadId,
    process: ProcessId,
    access: Access,
}

impl PartialEq for Waiting {
    fn eq(&self, other: &Self) -> bool {
        self.order == other.order
    }
}

impl Eq for Waiting {}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Waiting {
    fn cmp(&self, other: &Self) -> Ordering {
        self.order.cmp(&other.order)
    }
}

impl LastWriter {
    /// Only step samples enter: a timer's other samples favour slow accesses.
    pub fn add(&mut self, sample: &Sample, process: ProcessId) {
        let (Population::Step, SampleOutcome::Access(access)) = (sample.population, sample.outcome) else {
            return;
        };
        let order = (sample.time, self.arrived);
        self.arrived += 1;
        self.waiting.push(Reverse(Waiting { order, thread: sample.thread, process, access }));
        if self.waiting.len() > REORDER {
            self.take_earliest();
        }
    }

    pub fn finish(mut self, always: impl Iterator<Item = ThreadId>) -> Matrix<ThreadId> {
        while self.take_earliest() {}
        self.cells.finish(always)
    }

    fn take_earliest(&mut self) -> bool {
        let Some(Reverse(Waiting { thread, process, access, .. })) = self.waiting.pop() else { return false };
        // Of an access that touches two lines only the first is looked at, as older tools do.
        let key = (process, lines(access).0);
        if let Some((writer, write)) = self.writers.get(&key)
            && *writer != thread
        {
            let class = if write.overlaps(access) { SharingClass::True } else { SharingClass::False };
            self.cells.add(*writer, thread, class, 1.0);
        }
        if access.kind.writes() && (self.writers.len() < MAX_REMEMBERED || self.writers.contains_key(&key)) {
            self.writers.insert(key, (thread, access));
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use AccessKind::{Load, Store};
    use carom_base::AccessKind;

    use super::*;
    use crate::share::testing::TestSample;

    fn matrix(samples: impl IntoIterator<Item = TestSample>) -> Matrix<ThreadId> {
        let mut naive = LastWriter::default();
        samples.into_iter().for_each(|s| naive.add(&s.build(), ProcessId(0)));
        naive.finish((0..2).map(ThreadId))
    }

    #[test]
    fn data_written_once_counts_at_every_read() {
        // The same schedule gives the sharing detector one event at most.
        let reads = (1..=10).map(|ms| TestSample::new(1, Load, 0, 8).step().at_ms(1000 * ms));
        let m = matrix(std::iter::once(TestSample::new(0, Store, 0, 8).step()).chain(reads));
        assert_eq!(m.true_sharing, [[0., 10.], [0., 0.]]);
    }

    #[test]
    fn the_last_writer_takes_over() {
        // time  thread 0   thread 1
        //  1    store
        //  2               store 8   false, 0 -> 1
        //  3    load 8               true,  1 -> 0
        //  4               load      own line: nothing
        let m = matrix([
            TestSample::new(0, Store, 0, 8).step().at_ms(1),
            TestSample::new(1, Store, 8, 8).step().at_ms(2),
            TestSample::new(0, Load, 8, 8).step().at_ms(3),
            TestSample::new(1, Load, 8, 8).step().at_ms(4),
        ]);
        assert_eq!(m.false_sharing, [[0., 1.], [0., 0.]]);
        assert_eq!(m.true_sharing, [[0., 0.], [1., 0.]]);
    }

    #[test]
    fn rings_emptied_one_after_the_other_are_put_in_order() {
        // All of thread 0, then all of thread 1; they alternate in time, so every load sees thread 0.
        let stores = (0..100).map(|i| TestSample::new(0, Store, 0, 8).step().at_ms(2 * i));
        let loads = (0..100).map(|i| TestSample::new(1, Store, 0, 8).step().at_ms(2 * i + 1));
        let m = matrix(stores.chain(loads));
        assert_eq!(m.all, [[0., 100.], [99., 0.]]);
    }

    #[test]
    fn time_weighted_samples_are_not_asked() {
        let m = matrix([TestSample::new(0, Store, 0, 8), TestSample::new(1, Load, 0, 8).at_ms(1)]);
        assert_eq!(m.volume(), 0.0);
    }
}
