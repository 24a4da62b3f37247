//! The detectors of one thread.

use carom_base::{Population, ThreadId};
use carom_base_detect::{Config, ThreadDetector, Watch};

/// One for each population of samples.
pub struct ThreadDetectors {
    by_time: ThreadDetector,
    /// Only step samples may watch.
    by_step: ThreadDetector,
}

impl ThreadDetectors {
    /// For the thread with this number; `watching`: how it watches.
    pub fn new(id: ThreadId, watching: Config, seed: u64) -> Self {
        let unwatched = Config { watch: Watch::Nothing, ..watching };
        Self {
            by_time: ThreadDetector::new(id, unwatched, seed),
            by_step: ThreadDetector::new(id, watching, seed.rotate_left(32)),
        }
    }

    /// The detector of these samples.
    pub fn of(&mut self, population: Population) -> &mut ThreadDetector {
        match population {
            Population::LastInstruction => &mut self.by_time,
            Population::Step => &mut self.by_step,
        }
    }

    /// The detector that watches.
    pub fn watching(&mut self) -> &mut ThreadDetector {
        &mut self.by_step
    }

    /// Gives the thread this number among all processes. `None`: it had one already.
    pub fn number_among_processes(&mut self, number: impl FnOnce() -> u32) -> Option<u32> {
        if self.by_time.is_numbered() && self.by_step.is_numbered() {
            return None;
        }
        let number = number();
        self.by_time.number_among_processes(number);
        self.by_step.number_among_processes(number);
        Some(number)
    }
}
