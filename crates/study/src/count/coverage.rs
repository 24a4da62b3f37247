pub use carom_base::Leave;
use carom_store::{Leaves, ProcessInfo, ThreadInfo};

/// How much of the threads' CPU time the counts cover.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// CPU time during which everything was counted, in nanoseconds.
    pub translated_ns: u64,
    /// CPU time during which nothing was, in nanoseconds: native code, threads that were not counted at all, children that
    /// could not be profiled, and processes from when they stepped aside.
    pub native_ns: u64,
    /// Of `translated_ns`, the CPU time for which a timer found threads in native code all the same.
    pub unbooked_ns: u64,
    /// How often that timer has looked.
    pub ticks: u64,
    /// Counted threads that had no such timer, or not to their end.
    pub unwitnessed_threads: u64,
    /// Threads in which nothing was counted.
    pub uncounted_threads: u64,
    /// How often threads left the counted code, by reason, in the order of [`Leave::ALL`].
    pub leaves: Vec<(Leave, u64)>,
}

/// How often a thread left for this reason.
const fn count_of(leave: Leave, leaves: &Leaves) -> u64 {
    match leave {
        Leave::ForeignCode => leaves.foreign_code,
        Leave::Instruction => leaves.instruction,
        Leave::NativeCall => leaves.native_call,
        Leave::ThreadStart => leaves.thread_start,
        Leave::SignalFrame => leaves.signal_frame,
        Leave::NoMemory => leaves.no_memory,
        Leave::Ended => leaves.ended,
        Leave::ProgramGs => leaves.program_gs,
        Leave::SteppedAside => leaves.stepped_aside,
        Leave::Other => leaves.other,
    }
}

impl Coverage {
    pub(super) fn of<'a>(
        threads: impl Iterator<Item = &'a ThreadInfo>,
        processes: impl Iterator<Item = &'a ProcessInfo>,
    ) -> Self {
        let mut coverage = Self { leaves: Leave::ALL.map(|leave| (leave, 0)).into(), ..Self::default() };
        for thread in threads {
            let Some(counts) = &thread.counts else {
                coverage.uncounted_threads += 1;
                coverage.native_ns = coverage.native_ns.saturating_add(thread.cpu_ns);
                continue;
            };
            coverage.translated_ns = coverage.translated_ns.saturating_add(counts.translated_ns);
            coverage.native_ns = coverage.native_ns.saturating_add(counts.native_ns);
            coverage.unbooked_ns = coverage.unbooked_ns.saturating_add(counts.unbooked_ns);
            coverage.ticks = coverage.ticks.saturating_add(counts.ticks);
            coverage.unwitnessed_threads += u64::from(thread.counters.unwitnessed > 0);
            for (leave, times) in &mut coverage.leaves {
                *times = times.saturating_add(count_of(*leave, &counts.leaves));
            }
        }
        for process in processes {
            let aside = process.aside.as_ref().map_or(0, |aside| aside.unseen_ns);
            coverage.native_ns =
                coverage.native_ns.saturating_add(aside).saturating_add(process.unprofiled_ns);
        }
        coverage
    }

    /// The part of all CPU time that is counted, 0 to 1, by the books or by their witness, whichever is less; `None` where no
    /// time was measured.
    pub fn fraction(&self) -> Option<f64> {
        let books = self.books()?;
        Some(self.witness().map_or(books, |witness| witness.min(books)))
    }

    /// That part by the engine's own books.
    pub fn books(&self) -> Option<f64> {
        self.part(self.translated_ns)
    }

    /// That part where time counts as native for which a timer found threads outside of counted code. `None` where it never
    /// looked.
    pub fn witness(&self) -> Option<f64> {
        (self.ticks > 0).then(|| self.part(self.translated_ns.saturating_sub(self.unbooked_ns))).flatten()
    }

    fn part(&self, counted_ns: u64) -> Option<f64> {
        let all = self.translated_ns as f64 + self.native_ns as f64;
        (all > 0.0).then(|| counted_ns as f64 / all)
    }
}
