//! How often a thread writes what it has done so far.

/// The timer signals at which name, CPU time and counts of a thread are written, in case it is killed.
#[derive(Debug, Default)]
pub struct Progress {
    /// The next one.
    due: u64,
}

impl Progress {
    /// Signals from one to the next. Fewer at first, so that something is known of a short-lived thread.
    const EVERY: u64 = 10;
    /// The part of the thread's time that it takes is one of so many, at most: all counters of the process are read, and a large
    /// program has some hundred thousand of them.
    const PART: u64 = 200;

    /// Whether it is due at the signal of this number.
    pub const fn is_due(&self, signal: u64) -> bool {
        signal >= self.due
    }

    /// At the signal of this number it has taken so long. Signals come every `timer_ns`.
    pub fn done(&mut self, signal: u64, took_ns: u64, timer_ns: u64) {
        let seldom_enough = took_ns.saturating_mul(Self::PART) / timer_ns;
        self.due = signal + signal.min(Self::EVERY).max(seldom_enough);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The signals at which progress is written, each time in so many nanoseconds.
    fn written(took_ns: u64, signals: u64) -> Vec<u64> {
        let mut progress = Progress::default();
        let mut written = Vec::new();
        for signal in 1..=signals {
            if progress.is_due(signal) {
                progress.done(signal, took_ns, 10_000_000);
                written.push(signal);
            }
        }
        written
    }

    #[test]
    fn progress_is_written_often_where_it_takes_no_time() {
        assert_eq!(written(1_000, 40), [1, 2, 4, 8, 16, 26, 36]);
    }

    #[test]
    fn progress_takes_a_small_part_of_the_time() {
        // Three milliseconds each, as of a compiler: at 200 times of that.
        assert_eq!(written(3_000_000, 200), [1, 61, 121, 181]);
    }
}
