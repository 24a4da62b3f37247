//! The positions of threads and domains, as the detectors ask for them.

use std::cell::Cell;

use carom_base::{Nanos, ThreadId};
use carom_base_reuse::{
    Domain,
    sampled::{Clocks, Positions},
};
use carom_collect_translate as engine;
use carom_collect_translate::Watches;

use super::thread_table::{GRAIN, ThreadTable, WatchedThread};

/// The source of threads' positions.
#[derive(Clone, Copy)]
pub enum Progress<'a> {
    /// The engine's counts of their accesses.
    Engine,
    /// The time: where nothing is counted, it is the position of every thread.
    Clock(Nanos),
    /// The total of each thread, by the engine's name for it.
    Totals(&'a [(u64, u64)]),
}

/// The current positions of all threads, as the calling thread sees them.
pub struct CurrentPositions<'a> {
    threads: &'a ThreadTable,
    progress: Progress<'a>,
    /// The calling thread and its domain.
    own: (ThreadId, Domain),
    /// Its position, which is looked up once.
    position: Cell<Option<u64>>,
    /// That of a domain, which is the sum over its threads.
    of_domain: Cell<Option<(Domain, u64)>>,
}

impl<'a> CurrentPositions<'a> {
    /// Seen from the thread `own`, which is in `domain`.
    pub fn new(threads: &'a ThreadTable, progress: Progress<'a>, own: ThreadId, domain: Domain) -> Self {
        Self { threads, progress, own: (own, domain), position: Cell::new(None), of_domain: Cell::new(None) }
    }

    /// The same, with the calling thread's position where that is known.
    pub fn at(self, position: Option<u64>) -> Self {
        Self { position: Cell::new(position), ..self }
    }

    fn of_watched(&self, thread: &WatchedThread) -> u64 {
        match self.progress {
            Progress::Clock(now) => now.0,
            Progress::Totals(totals) => {
                totals.iter().find(|(name, _)| *name == thread.name).map_or(0, |(_, accesses)| *accesses)
            }
            Progress::Engine if thread.thread == self.own.0 => self.own_position(),
            Progress::Engine => engine::accesses_of(thread.name).unwrap_or(0),
        }
    }

    fn own_position(&self) -> u64 {
        let known = self.position.get();
        let position = known.unwrap_or_else(|| engine::accesses().unwrap_or(0));
        self.position.set(Some(position));
        position
    }
}

impl Positions for CurrentPositions<'_> {
    fn domain(&self, thread: ThreadId) -> Domain {
        if thread == self.own.0 {
            return self.own.1;
        }
        self.threads.find(thread).map_or(Domain(0), |thread| thread.domain)
    }

    fn of_thread(&self, thread: ThreadId) -> u64 {
        match self.progress {
            Progress::Clock(now) => now.0,
            Progress::Engine if thread == self.own.0 => self.own_position(),
            _ => self.threads.find(thread).map_or(0, |thread| self.of_watched(&thread)),
        }
    }

    fn of_domain(&self, domain: Domain) -> u64 {
        if let Progress::Clock(now) = self.progress {
            return now.0;
        }
        if let Some((known, position)) = self.of_domain.get()
            && known == domain
        {
            return position;
        }
        let ended = self.threads.ended(domain);
        let there = self.threads.all().filter(|(_, thread)| thread.domain == domain);
        let position = there.fold(ended, |sum, (_, thread)| sum.saturating_add(self.of_watched(&thread)));
        self.of_domain.set(Some((domain, position)));
        position
    }

    fn ran_since(&self, at: u64) -> Option<u64> {
        engine::watches()?.ran_since(at)
    }

    fn clocks(&self, thread: ThreadId, domain: Domain) -> Option<Clocks> {
        if !matches!(self.progress, Progress::Engine) {
            return None;
        }
        let asking = engine::watches()?.held();
        let asked = engine::ticks();
        let stopped = asking.since.unwrap_or(asked);
        let mut clocks = Clocks { stopped, asked, grain: GRAIN, ..Clocks::default() };
        for (index, watched) in self.threads.all() {
            let Some(held) = watched.watches.map(Watches::held) else { continue };
            if watched.thread == thread {
                clocks.ran = held.ran(stopped);
                clocks.ran_when_asked = held.ran(asked);
                clocks.pace = self.threads.pace(index);
            } else if watched.domain == domain {
                clocks.others += 1;
                clocks.held = clocks.held.saturating_add(held.held(asked));
            }
        }
        Some(clocks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::detect::reuse::thread_table::tests::watched;

    #[test]
    fn the_position_of_a_domain_is_the_sum_over_its_threads() {
        let threads = ThreadTable::new();
        let first = threads.join(watched(0, 0)).unwrap();
        threads.join(watched(1, 0)).unwrap();
        threads.join(watched(2, 1)).unwrap();
        let totals = [(100, 10), (101, 5), (102, 1000)];
        let positions = || CurrentPositions::new(&threads, Progress::Totals(&totals), ThreadId(9), Domain(0));
        assert_eq!((positions().of_domain(Domain(0)), positions().of_domain(Domain(1))), (15, 1000));
        assert_eq!((positions().of_thread(ThreadId(1)), positions().domain(ThreadId(2))), (5, Domain(1)));
        // The first thread ends at 12; the one that takes its entry begins at 0.
        threads.leave(first, 12);
        assert_eq!(threads.join(watched(3, 0)), Some(first));
        assert_eq!(positions().of_domain(Domain(0)), 12 + 5);
    }

    #[test]
    fn without_counts_the_position_of_all_is_the_time() {
        let threads = ThreadTable::new();
        let positions = CurrentPositions::new(&threads, Progress::Clock(Nanos(77)), ThreadId(0), Domain(0));
        assert_eq!((positions.of_thread(ThreadId(5)), positions.of_domain(Domain(3))), (77, 77));
    }
}
