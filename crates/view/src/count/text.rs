//! What was counted: the totals, and tables by process and by thread.

use super::{coherence, places, prediction, regression, series};
use crate::{
    model::{CountCoverage, CountedEvent, Counts, Real, Report},
    text::{
        Options,
        page::{Page, Style},
    },
    words::{self, ThreadNames},
};

/// Columns of an event's name in the totals.
const NAME: usize = 16;
/// Columns of an exact number: 64 bits with separators.
const EXACT: usize = 26;
/// Columns of a process's or thread's name.
const WHO: usize = 18;
/// Columns of a number to three digits, with its distance.
const CELL: usize = 10;

pub fn print(page: &mut Page, report: &Report, counts: &Counts, names: &ThreadNames, options: &Options) {
    if let Some(found) = &counts.prediction {
        return prediction::print(page, found);
    }
    if let Some(found) = &counts.regression {
        return regression::print(page, found);
    }
    if let Some(found) = &counts.places {
        places::print(page, found, options.verbose);
    }
    if let Some(series) = &counts.series {
        if let Some(cores) = &counts.coherence {
            coherence::print(page, cores);
        }
        return series::print(page, series, options.verbose);
    }
    if counts.events.iter().all(|event| event.total.is_none()) {
        return;
    }
    page.heading("Counts");
    for event in &counts.events {
        let total = event.total.map_or("not counted".into(), words::thousands);
        let style = if event.total.is_some() { Style::Bold } else { Style::Dim };
        page.cell(Style::Plain, &label(event), NAME).put(style, &format!("{total:>EXACT$}")).end();
    }
    if report.processes.len() > 1 {
        let program = |argv: &[String]| argv.first().map_or("?".into(), |path| base(path).to_owned());
        let who = report.processes.iter().map(|each| format!("{} {}", each.pid, program(&each.argv)));
        table(page, "By process", &counts.events, who, |event| &event.by_process);
    }
    if options.per_thread {
        let who = report.threads.iter().map(|each| names.get(each.id).into_owned());
        table(page, "By thread", &counts.events, who, |event| &event.values);
    }
}

/// `loaded-bytes` as `loaded bytes`.
fn label(event: &CountedEvent) -> String {
    event.name.replace('-', " ")
}

fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// One row each, with as many of the events as fit.
fn table(
    page: &mut Page,
    title: &str,
    events: &[CountedEvent],
    who: impl Iterator<Item = String>,
    values: impl Fn(&CountedEvent) -> &[Option<u64>],
) {
    let counted: Vec<&CountedEvent> = events.iter().filter(|event| event.total.is_some()).collect();
    let room = page.width().saturating_sub(WHO) / CELL;
    let shown = counted.get(..room).unwrap_or(&counted);
    page.heading(title);
    page.cell(Style::Dim, "", WHO);
    for event in shown {
        page.put(Style::Dim, &format!("{:>CELL$}", short(&event.name)));
    }
    page.end();
    for (row, who) in who.enumerate() {
        page.cell(Style::Plain, &who, WHO);
        for event in shown {
            let value = values(event).get(row).copied().flatten();
            page.plain(&format!("{:>CELL$}", value.map_or("-".into(), words::measure)));
        }
        page.end();
    }
    let more = counted.len() - shown.len();
    if more > 0 {
        page.paragraph(
            Style::Dim,
            &format!("{} and exact numbers: --csv, --json", words::count(more, "more event")),
        );
    }
}

/// A name that leaves a blank in a cell.
fn short(name: &str) -> &str {
    match name {
        "instructions" => "instrs",
        "loaded-bytes" => "B loaded",
        "stored-bytes" => "B stored",
        "branches-taken" => "taken",
        "system-calls" => "syscalls",
        name => name,
    }
}

/// How much of the run is in the counts.
pub fn coverage(coverage: &CountCoverage) -> String {
    let part = |fraction: Real| format!("{} of the threads' CPU time", words::coverage(fraction.0));
    let mut text = coverage.fraction.map_or("not known".into(), part);
    let mut leaves: Vec<_> = coverage.leaves.iter().filter(|leave| leave.times > 0).collect();
    leaves.sort_by_key(|leave| std::cmp::Reverse(leave.times));
    if !leaves.is_empty() {
        let reasons: Vec<String> = leaves
            .iter()
            .map(|leave| format!("{} × {}", words::thousands(leave.times), leave.text))
            .collect();
        text.push_str(&format!("; not observed: {}", reasons.join(", ")));
    }
    if coverage.unbooked_ns > 0 {
        let found = words::seconds(coverage.unbooked_ns as f64 / 1e9);
        text.push_str(&format!("; {found} of native code found by the timer alone"));
    }
    if coverage.unwitnessed_threads > 0 {
        let threads = words::count(coverage.unwitnessed_threads as usize, "thread");
        text.push_str(&format!("; not witnessed by a timer in {threads}"));
    }
    if coverage.uncounted_threads > 0 {
        text.push_str(&format!(
            "; {} not counted",
            words::count(coverage.uncounted_threads as usize, "thread")
        ));
    }
    text
}
