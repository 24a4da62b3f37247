use carom_base::{ReuseCell, ThreadId};
use carom_base_reuse::exact::{Config, ConfigError, Exact};

use crate::engine::{Detector, Step};

/// Measures the distance of every reuse.
#[derive(Clone, Debug)]
pub struct ExactReuse {
    exact: Exact,
    cells: Vec<ReuseCell>,
}

impl ExactReuse {
    /// Counts what `config` asks for.
    ///
    /// # Errors
    /// As [`Exact::new`].
    pub fn new(config: &Config) -> Result<Self, ConfigError> {
        Ok(Self { exact: Exact::new(config)?, cells: Vec::new() })
    }

    /// The counts of threads that have ended, and of all threads once the stream has ended. Cells with equal keys add
    /// up.
    pub fn cells(&self) -> &[ReuseCell] {
        &self.cells
    }
}

impl Detector for ExactReuse {
    fn access(&mut self, step: &Step) {
        self.exact.access(step.thread, step.domain, &step.streamed.access);
    }

    fn end(&mut self, thread: ThreadId) {
        self.cells.extend(self.exact.end(thread));
    }

    fn finish(&mut self) {
        let threads: Vec<ThreadId> = self.exact.threads().collect();
        for thread in threads {
            self.cells.extend(self.exact.drain(thread));
        }
    }
}
