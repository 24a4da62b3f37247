//! The rules that a recording keeps, and what it is held against.

mod context;
mod violation;

use carom_base::{Cpu, Nanos, ProcessId, ThreadId};

use crate::manifest::{Manifest, ThreadInfo};
pub use context::{Report, RowContext};
pub use violation::{Rule, Violation};

/// The most violations that are told: a hostile recording could break a rule in every row, and more than these tell nobody more.
pub const MAX_VIOLATIONS: usize = 1000;
/// `wall_s` is a rounded number, and the host reads the clock a little after the last thread did.
const CLOCK_SLACK_NS: u64 = 1_000_000;
const NANOS_PER_SECOND: f64 = 1e9;

/// What manifest and rows are held against.
pub struct Run<'a> {
    manifest: &'a Manifest,
    /// The manifest is the last one: nothing was recorded after it.
    pub finished: bool,
    end: Nanos,
}

impl<'a> Run<'a> {
    pub fn new(manifest: &'a Manifest) -> Self {
        let finished = manifest.complete || !manifest.files.is_empty();
        // The conversion saturates: NaN and negative numbers, reported elsewhere, become 0.
        let wall_ns = (manifest.wall_s * NANOS_PER_SECOND) as u64;
        let end = manifest.started.0.saturating_add(wall_ns).saturating_add(CLOCK_SLACK_NS);
        Self { manifest, finished, end: if finished { Nanos(end) } else { Nanos(u64::MAX) } }
    }

    pub fn covers(&self, time: Nanos) -> bool {
        (self.manifest.started..=self.end).contains(&time)
    }

    pub fn thread(&self, id: ThreadId) -> Option<&'a ThreadInfo> {
        self.manifest.threads.get(usize::try_from(id.0).ok()?)
    }

    pub fn knows_process(&self, id: ProcessId) -> bool {
        usize::try_from(id.0).is_ok_and(|index| index < self.manifest.processes.len())
    }

    /// Whether the manifest has a name for the counter.
    pub fn knows_counter(&self, counter: u32) -> bool {
        usize::try_from(counter).is_ok_and(|index| index < self.manifest.counters.len())
    }

    /// False only where the topology is known and does not have it.
    pub fn may_have_cpu(&self, cpu: Cpu) -> bool {
        let cpus = &self.manifest.machine.cpus;
        cpus.is_empty() || cpus.iter().any(|info| info.cpu == cpu)
    }
}

/// The violations that were found.
#[derive(Default)]
pub struct Findings {
    violations: Vec<Violation>,
}

impl Findings {
    /// All of them.
    pub fn into_violations(self) -> Vec<Violation> {
        self.violations
    }

    pub fn add(&mut self, file: &str, row: Option<u64>, rule: Rule) {
        if !self.is_full() {
            self.violations.push(Violation { file: file.to_owned(), row, rule });
        }
    }

    pub fn is_full(&self) -> bool {
        self.violations.len() >= MAX_VIOLATIONS
    }
}
