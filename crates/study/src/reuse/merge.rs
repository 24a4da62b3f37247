use carom_base::{ProcessId, ReuseCell, ReuseEvent, ThreadId};

use super::{Cache, Latencies, Losses, ReuseInput, Unit};
use crate::share::{Offsets, ThreadEntry};

/// How several recordings become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Combine {
    /// The ranks of one program.
    Ranks,
    /// Runs of the same program: threads of equal numbers are taken to do the same, so that their rows add up. A report
    /// on them has the threads of the first.
    Runs,
}

/// Several recordings as one.
///
/// Processes and threads are numbered through, as in [`crate::share::Merged`], whose names go with it: addresses differ
/// from run to run, and each has to be looked up where it comes from.
pub struct MergedReuse<'a> {
    inputs: Vec<(&'a dyn ReuseInput, Offsets)>,
    threads: Vec<ThreadEntry>,
    combine: Combine,
}

impl<'a> MergedReuse<'a> {
    /// Puts recordings together in this order.
    pub fn new(inputs: impl IntoIterator<Item = &'a dyn ReuseInput>, combine: Combine) -> Self {
        let mut merged = Self { inputs: Vec::new(), threads: Vec::new(), combine };
        let mut next = Offsets::default();
        for input in inputs {
            let entry = |t: &ThreadEntry| ThreadEntry {
                id: ThreadId(t.id.0.saturating_add(next.thread)),
                process: ProcessId(t.process.0.saturating_add(next.process)),
                recording: ProcessId(t.recording.0.saturating_add(next.process)),
            };
            merged.threads.extend(input.threads().iter().map(entry));
            merged.inputs.push((input, next));
            next.process = next.process.saturating_add(input.processes());
            next.thread = next.thread.saturating_add(input.threads().len() as u32);
        }
        merged
    }

    /// What was added to the numbers of each recording. Whoever lists the processes and threads of all of them
    /// adds the same.
    pub fn offsets(&self) -> Vec<Offsets> {
        self.inputs.iter().map(|(_, offsets)| *offsets).collect()
    }

    /// Asks the recording that a thread belongs to, by the thread's number there.
    fn ask<R>(&self, thread: ThreadId, question: impl Fn(&dyn ReuseInput, ThreadId) -> R) -> Option<R> {
        let after = self.inputs.partition_point(|(_, offsets)| offsets.thread <= thread.0);
        let (input, offsets) = self.inputs.get(after.checked_sub(1)?)?;
        Some(question(*input, ThreadId(thread.0 - offsets.thread)))
    }
}

fn moved(id: ThreadId, by: Offsets) -> ThreadId {
    ThreadId(id.0.saturating_add(by.thread))
}

impl ReuseInput for MergedReuse<'_> {
    fn threads(&self) -> &[ThreadEntry] {
        &self.threads
    }

    fn processes(&self) -> u32 {
        let each =
            self.inputs.iter().map(|(input, offsets)| offsets.process.saturating_add(input.processes()));
        each.max().unwrap_or(0)
    }

    fn in_first_run(&self, thread: ThreadId) -> ThreadId {
        match self.combine {
            Combine::Ranks => thread,
            Combine::Runs => self.ask(thread, |_, id| id).unwrap_or(thread),
        }
    }

    /// Ranks run at the same time, so the longest counts; runs follow each other.
    fn seconds(&self) -> f64 {
        let seconds = self.inputs.iter().map(|(input, _)| input.seconds());
        match self.combine {
            Combine::Ranks => seconds.fold(0.0, f64::max),
            Combine::Runs => seconds.sum(),
        }
    }

    /// Those of the first: ranks run on equal machines.
    fn caches(&self) -> Vec<Cache> {
        self.inputs.first().map(|(input, _)| input.caches()).unwrap_or_default()
    }

    fn unit(&self) -> Unit {
        self.inputs.first().map(|(input, _)| input.unit()).unwrap_or_default()
    }

    fn accesses(&self, thread: ThreadId) -> Option<u64> {
        self.ask(thread, |input, id| input.accesses(id)).flatten()
    }

    fn domain(&self, thread: ThreadId) -> u32 {
        self.ask(thread, |input, id| input.domain(id)).unwrap_or(0)
    }

    fn period(&self) -> f64 {
        self.inputs.first().map_or(1.0, |(input, _)| input.period())
    }

    fn place_rate(&self) -> f64 {
        self.inputs.iter().map(|(input, _)| input.place_rate()).fold(1.0, f64::min)
    }

    fn latencies(&self) -> Option<Latencies> {
        self.inputs.iter().find_map(|(input, _)| input.latencies())
    }

    fn losses(&self) -> Losses {
        self.inputs.iter().map(|(input, _)| input.losses()).fold(Losses::default(), Losses::plus)
    }

    fn events(&self) -> Box<dyn Iterator<Item = ReuseEvent> + '_> {
        Box::new(self.inputs.iter().flat_map(|(input, offsets)| {
            input.events().map(|mut event| {
                event.earlier.thread = moved(event.earlier.thread, *offsets);
                if let Some(later) = &mut event.later {
                    later.thread = moved(later.thread, *offsets);
                }
                event
            })
        }))
    }

    fn cells(&self) -> Box<dyn Iterator<Item = ReuseCell> + '_> {
        Box::new(self.inputs.iter().flat_map(|(input, offsets)| {
            input.cells().map(|cell| ReuseCell { thread: moved(cell.thread, *offsets), ..cell })
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reuse::testing::{Synthetic, reads};

    fn merged(inputs: &[Synthetic], combine: Combine) -> MergedReuse<'_> {
        MergedReuse::new(inputs.iter().map(|input| input as &dyn ReuseInput), combine)
    }

    #[test]
    fn ranks_keep_apart_and_runs_add_up() {
        let runs = [Synthetic::new(2).cells([reads(1, 5, 7)]), Synthetic::new(2).cells([reads(1, 5, 8)])];
        let threads = |combine| {
            let merged = merged(&runs, combine);
            let of = |cell: ReuseCell| (merged.in_first_run(cell.thread).0, cell.count);
            merged.cells().map(of).collect::<Vec<_>>()
        };
        assert_eq!(threads(Combine::Ranks), [(1, 7), (3, 8)]);
        assert_eq!(threads(Combine::Runs), [(1, 7), (1, 8)]);
    }

    #[test]
    fn processes_are_numbered_through_and_times_are_not_all_alike() {
        let runs = [Synthetic::new(2), Synthetic::new(1)];
        let ranks = merged(&runs, Combine::Ranks);
        let processes: Vec<u32> = ranks.threads().iter().map(|thread| thread.process.0).collect();
        assert_eq!((processes, ranks.processes(), ranks.seconds()), (vec![0, 0, 1], 2, 2.0));
        assert_eq!(merged(&runs, Combine::Runs).seconds(), 4.0);
    }
}
