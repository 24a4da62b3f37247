//! The matrix of older tools, for comparison only.

use std::collections::BTreeMap;

use carom_base::{Access, SharingClass, ThreadId};

use super::Matrix;
use super::matrix::Cells;
use super::order::Step;
use super::tally::LineKey;

/// Lines remembered at most, in 64 MB or so; later ones are not entered.
const MAX_REMEMBERED: usize = 1 << 20;

/// Counts, for every sampled access, the last thread before it that was sampled writing to the line, however
/// long ago: no expiry, no "since my previous sample", no watchpoints. So work tools that replay accesses per
/// memory block without their times; ComDetective 4.1 compares itself with one (M. Diener et al.,
/// "Characterizing communication and page usage of parallel applications for thread and data mapping",
/// Performance Evaluation 88-89 (2015) 18-36). Data written once and read for ever counts at every read.
#[derive(Default)]
pub(super) struct LastWriter {
    writers: BTreeMap<LineKey, (ThreadId, Access)>,
    cells: Cells<ThreadId>,
}

impl LastWriter {
    /// The next one in order of time. Only step samples enter: a timer's other samples favour slow accesses.
    pub fn add(&mut self, step: &Step) {
        let &Step { thread, access, accesses, .. } = step;
        let key = step.line();
        if let Some((writer, write)) = self.writers.get(&key)
            && *writer != thread
        {
            let class = if write.overlaps(access) { SharingClass::True } else { SharingClass::False };
            self.cells.add(*writer, thread, class, accesses);
        }
        if access.kind.writes() && (self.writers.len() < MAX_REMEMBERED || self.writers.contains_key(&key)) {
            self.writers.insert(key, (thread, access));
        }
    }

    pub fn finish(self, always: impl Iterator<Item = ThreadId>) -> Matrix<ThreadId> {
        self.cells.finish(always)
    }
}

#[cfg(test)]
mod tests {
    use AccessKind::{Load, Store};
    use carom_base::AccessKind;

    use super::*;
    use crate::recording::NoNames;
    use crate::share::analyse;
    use crate::share::testing::{Synthetic, TestSample};

    fn matrix(samples: impl IntoIterator<Item = TestSample>) -> Matrix<ThreadId> {
        analyse(&Synthetic::new(2).samples(samples), &mut NoNames).last_writer
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
