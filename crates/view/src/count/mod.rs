//! From the findings of `carom count` to its report.

mod coherence;
mod csv;
pub(crate) mod model;
mod places;
pub(crate) mod prediction;
mod regression;
mod series;
mod text;
mod verdict;

use carom_study::{
    count::{
        Coherence, CountFindings, Coverage, EventCounts, EventLimit, Forecast, InRuns, Places, Regression,
    },
    recording::Losses,
};

use crate::{
    RunInfo,
    model::{Command, CountCoverage, CountedEvent, Counts, Leave, Real, Report, Warning},
    recording,
    section::{Row, Section},
    text::{Options, page::Page},
    words::{self, ThreadNames},
};

/// The report of one recording.
pub fn report(run: &RunInfo, findings: &CountFindings) -> Report {
    let losses = Losses { unprofiled_threads: findings.unprofiled_threads, ..Losses::default() };
    let mut report = Report::new(Command::Count, run, recording::quality(run, &losses));
    let counts = counts(findings);
    report.verdict = verdict::verdict(&report, &counts);
    report.count = Some(counts);
    report
}

/// The report of several runs of one command: the counts of the first, every quantity in each, and what cores asked of each
/// other, where caches were simulated.
pub fn series_report(
    run: &RunInfo,
    first: &CountFindings,
    runs: &[InRuns],
    cores: Option<&Coherence>,
    limits: &[EventLimit],
) -> Report {
    let mut report = report(run, first);
    let series = series::series(runs, limits);
    let coherence = cores.map(coherence::coherence);
    let told = coherence.as_ref().map(coherence::verdict);
    report.verdict = told.into_iter().chain([series::verdict(&series)]).collect::<Vec<_>>().join(" ");
    if let Some(counts) = &mut report.count {
        counts.series = Some(series);
        counts.coherence = coherence;
    }
    report
}

/// The report of runs with different parameters: the counts of the first, and how quantities follow the parameters.
pub fn regression_report(run: &RunInfo, first: &CountFindings, found: &Regression) -> Report {
    let mut report = report(run, first);
    let regression = regression::regression(found);
    report.verdict = regression::verdict(&regression);
    if let Some(counts) = &mut report.count {
        counts.regression = Some(regression);
    }
    report
}

/// The report of runs of several sizes: the counts of the first, and what a size that did not run will take.
pub fn prediction_report(run: &RunInfo, first: &CountFindings, found: &Forecast) -> Report {
    let mut report = report(run, first);
    let prediction = prediction::prediction(found);
    report.verdict = prediction::verdict(&prediction);
    if let Some(counts) = &mut report.count {
        counts.prediction = Some(prediction);
    }
    report
}

/// The limits of a report of several runs that are broken, and those that could not be judged, in a sentence each.
pub fn judged(report: &Report) -> [Vec<String>; 2] {
    report.count.as_ref().and_then(|counts| counts.series.as_ref()).map(series::judged).unwrap_or_default()
}

/// What of the runs is in no count, where it is more than a little.
pub fn missing(findings: &CountFindings) -> Option<String> {
    verdict::missing(&coverage(&findings.coverage))
}

/// The counts alone, for a report that answers another question.
pub fn counts(findings: &CountFindings) -> Counts {
    Counts {
        events: findings.events.iter().map(event).collect(),
        coverage: coverage(&findings.coverage),
        series: None,
        regression: None,
        prediction: None,
        coherence: None,
        places: None,
    }
}

/// Adds counts by place to a report of counts.
pub fn add_places(report: &mut Report, found: &Places) {
    if let Some(counts) = &mut report.count {
        counts.places = Some(places::places(found));
    }
}

/// Adds the counts of the same run. Where they do not cover nearly all of it, a warning says so: code that ran natively was
/// not sampled either. Where much is missing, the verdict begins with that.
pub fn add(report: &mut Report, findings: &CountFindings) {
    let counts = counts(findings);
    if let Some(text) = verdict::missing(&counts.coverage) {
        report.quality.warnings.push(Warning { code: "coverage".into(), text });
    }
    report.count = Some(counts);
    begin_with_what_is_missing(report);
}

/// Where much of the run is in no count, and so in no sample, the verdict begins with that.
pub fn begin_with_what_is_missing(report: &mut Report) {
    if let Some(missing) = what_is_missing(report) {
        report.verdict = format!("{missing}{}", report.verdict);
    }
}

/// The verdict without that beginning, for a report that has it once for several questions.
pub fn end_of_verdict(report: &Report) -> &str {
    let missing = what_is_missing(report).unwrap_or_default();
    report.verdict.strip_prefix(&missing).unwrap_or(&report.verdict)
}

fn what_is_missing(report: &Report) -> Option<String> {
    let seen = verdict::much_is_missing(report, &report.count.as_ref()?.coverage)?;
    Some(format!("{seen} In what was observed: "))
}

impl Section for Counts {
    fn print(&self, page: &mut Page, report: &Report, names: &ThreadNames, options: &Options) {
        if matches!(report.command, Command::Count | Command::Profile) {
            text::print(page, report, self, names, options);
        }
    }

    fn measured(&self, _: &Report) -> Vec<Row> {
        vec![("coverage", text::coverage(&self.coverage))]
    }

    fn in_brief(&self, _: &Report) -> Vec<String> {
        let coverage = self.coverage.fraction;
        coverage.map(|fraction| format!("coverage {}", words::coverage(fraction.0))).into_iter().collect()
    }

    fn tables(&self, report: &Report, names: &ThreadNames) -> Vec<Row> {
        csv::tables(report, self, names)
    }

    fn scripts(&self) -> &'static [&'static str] {
        &[include_str!("page/regression.js"), include_str!("page/prediction.js"), include_str!("page.js")]
    }
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
