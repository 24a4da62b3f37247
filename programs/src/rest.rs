//! Pauses in which a profiler that keeps samples in memory can store them.

use std::time::Duration;

use clap::Args;

/// When to rest.
#[derive(Args, Clone, Copy, Debug)]
pub struct Rest {
    /// Sleep for a tenth of a second each time that so many accesses were made.
    #[arg(long, value_name = "ACCESSES", value_parser = clap::value_parser!(u64).range(1..))]
    rest_every: Option<u64>,
}

impl Rest {
    /// How many of these accesses to make before the next rest, at least one.
    pub fn stretch(self, accesses: u64) -> u64 {
        self.rest_every.map_or(accesses, |every| every.min(accesses)).max(1)
    }

    /// Rests, if that was asked for.
    pub fn rest(self) {
        /// Longer than profilers leave samples where they were written.
        const LONG: Duration = Duration::from_millis(100);
        if self.rest_every.is_some() {
            std::thread::sleep(LONG);
        }
    }
}
