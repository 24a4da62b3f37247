use core::sync::atomic::{AtomicU64, Ordering};

use carom_base::{Nanos, ReuseOutcome};

/// What a detector has counted. All zero at first; shared like the slots.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub struct Tally {
    samples: AtomicU64,
    armed: AtomicU64,
    rejected: AtomicU64,
    contended: AtomicU64,
    unusable: AtomicU64,
    given_up: AtomicU64,
    late: AtomicU64,
    /// By the codes of [`ReuseOutcome`].
    outcomes: [AtomicU64; 4],
    windows: AtomicU64,
    window_sum: AtomicU64,
    window_max: AtomicU64,
}

/// What a detector has counted so far. Each sample is armed, rejected, contended or unusable; each that was armed is
/// reused, invalidated, replaced, ended, given up, or still watched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Uses that were offered.
    pub samples: u64,
    /// Uses that were watched.
    pub armed: u64,
    /// Uses that gave way to those watched already.
    pub rejected: u64,
    /// Uses that were dropped because other threads were using the slots at that moment.
    pub contended: u64,
    /// Uses without a positive weight, or with nothing that they could be watched for.
    pub unusable: u64,
    /// Uses whose watch could not be set.
    pub given_up: u64,
    /// Touches of watches whose use was over.
    pub late: u64,
    /// Uses that were reused.
    pub reused: u64,
    /// Uses that were invalidated.
    pub invalidated: u64,
    /// Uses whose watch was given to another use.
    pub replaced: u64,
    /// Uses that were watched up to the end.
    pub ended: u64,
    /// From sample to watch: how many times it was measured.
    pub windows: u64,
    /// The sum, in nanoseconds.
    pub window_sum: u64,
    /// The longest, in nanoseconds.
    pub window_max: u64,
}

/// What a counter counts.
#[derive(Clone, Copy, Debug)]
pub(super) enum Count {
    Armed,
    Rejected,
    Contended,
    Unusable,
    GivenUp,
    Late,
    Outcome(ReuseOutcome),
}

impl Tally {
    // ATOMICS: counters by themselves, here and below; no other data hangs on their values.

    /// Counts a sample, and numbers it.
    pub(super) fn sample(&self) -> u64 {
        self.samples.fetch_add(1, Ordering::Relaxed)
    }

    pub(super) fn count(&self, what: Count) {
        let [reused, invalidated, replaced, ended] = &self.outcomes;
        let counter = match what {
            Count::Armed => &self.armed,
            Count::Rejected => &self.rejected,
            Count::Contended => &self.contended,
            Count::Unusable => &self.unusable,
            Count::GivenUp => &self.given_up,
            Count::Late => &self.late,
            Count::Outcome(ReuseOutcome::Reused) => reused,
            Count::Outcome(ReuseOutcome::Invalidated) => invalidated,
            Count::Outcome(ReuseOutcome::Replaced) => replaced,
            Count::Outcome(ReuseOutcome::Ended) => ended,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn window(&self, sampled: Nanos, armed: Nanos) {
        let window = armed.0.saturating_sub(sampled.0);
        self.windows.fetch_add(1, Ordering::Relaxed);
        self.window_sum.fetch_add(window, Ordering::Relaxed);
        self.window_max.fetch_max(window, Ordering::Relaxed);
    }

    pub(super) fn counts(&self) -> Counts {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let [reused, invalidated, replaced, ended] = self.outcomes.each_ref().map(read);
        Counts {
            samples: read(&self.samples),
            armed: read(&self.armed),
            rejected: read(&self.rejected),
            contended: read(&self.contended),
            unusable: read(&self.unusable),
            given_up: read(&self.given_up),
            late: read(&self.late),
            reused,
            invalidated,
            replaced,
            ended,
            windows: read(&self.windows),
            window_sum: read(&self.window_sum),
            window_max: read(&self.window_max),
        }
    }

    pub(super) fn clear(&self) {
        let Self {
            samples,
            armed,
            rejected,
            contended,
            unusable,
            given_up,
            late,
            outcomes,
            windows,
            window_sum,
            window_max,
        } = self;
        [samples, armed, rejected, contended, unusable, given_up, late, windows, window_sum, window_max]
            .into_iter()
            .chain(outcomes)
            .for_each(|counter| counter.store(0, Ordering::Relaxed));
    }
}
