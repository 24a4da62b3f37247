//! The checker: what every recording must satisfy, beyond being readable.

mod files;
mod manifest;
mod rows;
mod violation;

use std::path::Path;

use carom_base::{Cpu, Nanos, ProcessId, ThreadId};

use crate::error::StoreError;
use crate::manifest::{Manifest, ThreadInfo};
use crate::read::Recording;
pub use violation::{Rule, Violation};

/// A hostile recording could break a rule in every row. More than these tell nobody more.
const MAX_VIOLATIONS: usize = 1000;
/// `wall_s` is a rounded number, and the host reads the clock a little after the last thread did.
const CLOCK_SLACK_NS: u64 = 1_000_000;
const NANOS_PER_SECOND: f64 = 1e9;

/// Checks every invariant of the recording in `dir`, and returns what it found: nothing, where all is well.
/// At most 1000 violations are returned.
///
/// A recording that was never finished is judged by what it can know: its manifest may be older than its
/// rows, so that unknown threads and times after the end are no violations, and its files may end in part of
/// a chunk.
///
/// # Errors
/// The recording cannot be opened at all (see [`Recording::open`]).
pub fn check(dir: &Path) -> Result<Vec<Violation>, StoreError> {
    let recording = Recording::open(dir)?;
    let run = Run::new(recording.manifest());
    let mut found = Findings::default();
    manifest::check(recording.manifest(), &run, &mut found);
    files::check(&recording, &run, &mut found);
    rows::check(&recording, &run, &mut found);
    Ok(found.violations)
}

/// What rows are held against.
struct Run<'a> {
    manifest: &'a Manifest,
    /// The manifest is the last one: nothing was recorded after it.
    finished: bool,
    end: Nanos,
}

impl<'a> Run<'a> {
    fn new(manifest: &'a Manifest) -> Self {
        let finished = manifest.complete || !manifest.files.is_empty();
        // The conversion saturates: NaN and negative numbers, reported elsewhere, become 0.
        let wall_ns = (manifest.wall_s * NANOS_PER_SECOND) as u64;
        let end = manifest.started.0.saturating_add(wall_ns).saturating_add(CLOCK_SLACK_NS);
        Self { manifest, finished, end: if finished { Nanos(end) } else { Nanos(u64::MAX) } }
    }

    fn covers(&self, time: Nanos) -> bool {
        (self.manifest.started..=self.end).contains(&time)
    }

    fn thread(&self, id: ThreadId) -> Option<&'a ThreadInfo> {
        self.manifest.threads.get(usize::try_from(id.0).ok()?)
    }

    fn knows_process(&self, id: ProcessId) -> bool {
        usize::try_from(id.0).is_ok_and(|index| index < self.manifest.processes.len())
    }

    /// False only where the topology is known and does not have it.
    fn may_have_cpu(&self, cpu: Cpu) -> bool {
        let cpus = &self.manifest.machine.cpus;
        cpus.is_empty() || cpus.iter().any(|info| info.cpu == cpu)
    }
}

/// Violations so far.
#[derive(Default)]
struct Findings {
    violations: Vec<Violation>,
}

impl Findings {
    fn add(&mut self, file: &str, row: Option<u64>, rule: Rule) {
        if !self.is_full() {
            self.violations.push(Violation { file: file.to_owned(), row, rule });
        }
    }

    fn is_full(&self) -> bool {
        self.violations.len() >= MAX_VIOLATIONS
    }
}
