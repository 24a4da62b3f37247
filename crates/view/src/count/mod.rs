//! From the findings of `carom count` to its report.

use carom_study::{
    count::{CountFindings, Coverage, EventCounts},
    recording::Losses,
};

use crate::{
    RunInfo,
    model::{Command, CountCoverage, CountedEvent, Counts, Leave, Real, Report},
    recording, verdict,
};

/// The report of one recording.
pub fn report(run: &RunInfo, findings: &CountFindings) -> Report {
    let losses = Losses { unprofiled_threads: findings.unprofiled_threads, ..Losses::default() };
    let mut report = recording::report(Command::Count, run, recording::quality(run, &losses));
    let counts = counts(findings);
    report.verdict = verdict::count(&report, &counts);
    report.count = Some(counts);
    report
}

/// The counts by themselves, for a report that answers another question.
pub fn counts(findings: &CountFindings) -> Counts {
    Counts { events: findings.events.iter().map(event).collect(), coverage: coverage(&findings.coverage) }
}

fn event(counts: &EventCounts) -> CountedEvent {
    CountedEvent {
        name: counts.event.name().into(),
        unit: counts.event.unit().into(),
        total: counts.total,
        values: counts.threads.clone(),
        by_process: counts.processes.clone(),
    }
}

fn coverage(coverage: &Coverage) -> CountCoverage {
    CountCoverage {
        fraction: coverage.fraction().map(Real),
        books: coverage.books().map(Real),
        witness: coverage.witness().map(Real),
        translated_ns: coverage.translated_ns,
        native_ns: coverage.native_ns,
        unbooked_ns: coverage.unbooked_ns,
        ticks: coverage.ticks,
        unwitnessed_threads: coverage.unwitnessed_threads,
        uncounted_threads: coverage.uncounted_threads,
        leaves: coverage
            .leaves
            .iter()
            .map(|&(leave, times)| Leave {
                reason: leave.name().into(),
                text: leave.describe().into(),
                times,
            })
            .collect(),
    }
}
