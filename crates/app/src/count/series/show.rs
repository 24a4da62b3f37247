//! The report on a series.

use std::{collections::BTreeMap, io::IsTerminal, slice};

use carom_store::{Manifest, Recording};
use carom_study::{
    count::{self, CountFindings, CountStudy, EventLimit},
    diff,
    recording::Recordings,
};
use carom_view::{
    RunInfo,
    diff::{Compared, Limits, model::DiffSide},
    model::Report,
};

use crate::{
    count::args::By,
    failure::{End, Failure},
    load,
    options::OutputArgs,
    output::{self, Layout},
};

/// Whether these are the runs of a series.
pub fn is_series(recordings: &[Recording]) -> bool {
    !recordings.is_empty() && recordings.iter().all(|recording| recording.manifest().series.is_some())
}

/// Writes the files that were asked for. Returns the text for `stream`, and how the command ends.
///
/// # Errors
/// The runs cannot be compared, or a file cannot be written.
pub fn show(
    runs: &[Recording],
    by: Option<By>,
    limits: &[EventLimit],
    args: &OutputArgs,
    stream: &impl IsTerminal,
) -> Result<(String, End), Failure> {
    let sides = [0, 1].map(|side| Side::of(runs, side));
    if sides.iter().all(|side| !side.runs.is_empty()) {
        return compare(&sides, limits, args, stream);
    }
    let mut report = one_command(runs, limits);
    if let Some(by) = by {
        add_places(&mut report, runs, by)?;
    }
    output::write(&report, args)?;
    let [failed, unknown] = carom_view::count::judged(&report);
    Ok((
        output::text(&report, args, &Layout::default(), stream),
        end(!failed.is_empty(), !unknown.is_empty()),
    ))
}

/// A limit that is broken fails; one that could not be judged must not seem to be kept.
const fn end(failed: bool, unknown: bool) -> End {
    match (failed, unknown) {
        (true, _) => End::Failed,
        (false, true) => End::NotJudged,
        (false, false) => End::Success,
    }
}

/// The runs of one of two commands.
struct Side<'a> {
    runs: Vec<&'a Recording>,
}

impl<'a> Side<'a> {
    fn of(runs: &'a [Recording], side: u32) -> Self {
        let is_there =
            |run: &&Recording| run.manifest().series.as_ref().is_some_and(|series| series.side == Some(side));
        Self { runs: runs.iter().filter(is_there).collect() }
    }

    fn manifests(&self) -> Vec<&'a Manifest> {
        self.runs.iter().map(|run| run.manifest()).collect()
    }

    fn named(&self) -> DiffSide {
        DiffSide {
            profiles: self.runs.iter().map(|run| run.dir().display().to_string()).collect(),
            argv: self.runs.first().map(|run| run.manifest().argv.clone()).unwrap_or_default(),
            runs: rounds(&self.manifests()),
        }
    }
}

/// How often a command ran in each way. Native runs that counted other events of PMUs ran in another way.
fn rounds(runs: &[&Manifest]) -> usize {
    let mut ways: BTreeMap<Option<Vec<&String>>, usize> = BTreeMap::new();
    for run in runs {
        *ways.entry(run.usage.as_ref().map(|usage| usage.pmu.keys().collect())).or_default() += 1;
    }
    ways.into_values().max().unwrap_or_default()
}

fn compare(
    sides: &[Side<'_>; 2],
    limits: &[EventLimit],
    args: &OutputArgs,
    stream: &impl IsTerminal,
) -> Result<(String, End), Failure> {
    let [before, after] = sides.each_ref().map(Side::manifests);
    let found = diff::count(&before, &after)
        .map_err(|_| Failure::new("nothing was counted or measured of one of the commands"))?;
    let sides_of = || [&before, &after].into_iter();
    let coverage = sides_of().filter_map(|side| load::coverage_warning(side));
    let warnings = coverage.chain(sides_of().filter_map(|side| load::multiplex_warning(side))).collect();
    let compared = Compared { count: Some(&found), ..Compared::default() };
    let limits = Limits { events: limits.to_vec(), ..Limits::default() };
    let diff = carom_view::diff::diff(sides.each_ref().map(Side::named), compared, &limits, warnings);
    if args.sarif.is_some() {
        return Err(Failure::new("counts have no places in the source: there is no --sarif of them"));
    }
    output::write_diff(&diff, args)?;
    let options =
        carom_view::text::Options { verbose: args.verbose, ..output::options(args.color, 10, stream) };
    let end = end(diff.gate.failed, !carom_view::diff::not_judged(&diff).is_empty());
    Ok((carom_view::diff::text(&diff, &options), end))
}

/// Counts by place, of the first run that has some: all have nearly the same.
fn add_places(report: &mut Report, runs: &[Recording], by: By) -> Result<(), Failure> {
    let of_run = |run| count::places(&mut Recordings::new(slice::from_ref(run)), by.grain());
    let found = runs.iter().find_map(of_run);
    let found = found.ok_or_else(|| {
        Failure::new("--by: no run has counts by place; record a program that can be counted with --by")
    })?;
    carom_view::count::add_places(report, &found);
    Ok(())
}

/// The counts of the first run that counted, and what is known of all.
fn one_command(runs: &[Recording], limits: &[EventLimit]) -> Report {
    let manifests: Vec<&Manifest> = runs.iter().map(Recording::manifest).collect();
    let series = count::in_runs(&manifests);
    let cores = count::coherence(&manifests);
    let with_parameters =
        manifests.iter().any(|run| run.series.as_ref().is_some_and(|series| !series.parameters.is_empty()));
    of_first(runs, |run, findings| match with_parameters {
        true => carom_view::count::regression_report(run, findings, &count::regression(&manifests)),
        false => carom_view::count::series_report(run, findings, &series, cores.as_ref(), limits),
    })
}

/// A report on all runs of one command, with the counts of the first that counted.
pub fn of_first(runs: &[Recording], view: impl Fn(&RunInfo, &CountFindings) -> Report) -> Report {
    let first = runs.iter().find(|run| run.manifest().usage.is_none()).or(runs.first());
    let first = first.map_or(&[][..], slice::from_ref);
    let manifests: Vec<&Manifest> = runs.iter().map(Recording::manifest).collect();
    let mut report = load::report(&mut Recordings::new(first), &CountStudy, view);
    report.program.runs = rounds(&manifests) as u32;
    report
}
