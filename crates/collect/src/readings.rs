//! How much memory a program and its descendants have, read again and again while it runs.

use std::time::{Duration, Instant};

use carom_base_sys::{
    child::ExitWatch,
    clock,
    memory::{Footprint, MemoryWatch},
};
use carom_store::FootprintRow;

/// New descendants are looked for this often: a look costs more than reading all of them.
const CHILDREN: Duration = Duration::from_millis(20);

/// Readings of the memory of a program and its descendants.
pub struct MemoryReadings {
    watch: MemoryWatch,
    interval: Duration,
    children_due: Instant,
}

impl MemoryReadings {
    /// Of `process`, which must not have been waited for. `interval`: between two readings.
    pub fn new(process: u32, interval: Duration) -> Self {
        Self { watch: MemoryWatch::new(process), interval, children_due: Instant::now() }
    }

    /// The memory now; `None` where no process has any left.
    pub fn now(&mut self) -> Option<FootprintRow> {
        let now = Instant::now();
        if now >= self.children_due {
            self.watch.look_for_children();
            self.children_due = now + CHILDREN;
        }
        let Footprint { resident, reserved, .. } = self.watch.now()?;
        Some(FootprintRow { time: clock::now(), resident, reserved })
    }

    /// Reads until `longest` is over or the program, which `end` watches, has ended.
    pub fn pause(&mut self, end: &ExitWatch, longest: Duration, mut seen: impl FnMut(FootprintRow)) {
        let until = Instant::now() + longest;
        loop {
            self.now().into_iter().for_each(&mut seen);
            if end.pause(self.interval) || Instant::now() >= until {
                return;
            }
        }
    }
}
