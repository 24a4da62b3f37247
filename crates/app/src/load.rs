//! From recordings to a report.

use std::path::{Path, PathBuf};

use carom_store::{Manifest, Recording};
use carom_study::{
    Study, StudyOfWindow,
    count::{self, Quantity},
    phases::PhasesStudy,
    recording::{Combine, Offsets, Recordings, Window},
    symbols::Note,
};
use carom_view::{
    RunInfo,
    model::{Report, Warning},
    per_phase,
};

use crate::{failure::Failure, question::Question};

/// The recordings at a place: all runs of a series, or the one recording.
pub fn expanded(dir: &Path) -> Vec<PathBuf> {
    let runs = carom_store::runs_of(dir);
    if runs.is_empty() { vec![dir.to_owned()] } else { runs }
}

/// Where translated code was not all that ran: what is missing in the counts of these runs of one command.
pub fn coverage_warning(runs: &[&Manifest]) -> Option<Warning> {
    let counted = runs.iter().filter(|run| run.usage.is_none());
    let counts = count::analyse(counted.map(|run| (*run, Offsets::default())));
    carom_view::count::missing(&counts).map(|text| {
        let command = runs.first().map(|run| carom_view::command_line(&run.argv)).unwrap_or_default();
        Warning { code: "coverage".into(), text: format!("`{command}`: {text}") }
    })
}

/// What of the events of PMUs was estimated, since they took turns on the counters.
pub fn multiplex_warning(runs: &[&Manifest]) -> Option<Warning> {
    /// An event that was counted for this part of the time was counted all the time.
    const WHOLE: f64 = 0.995;
    let share = |event: Quantity| Some((event.name(), event.time_share(runs.iter().copied())?));
    let all = Quantity::of_runs(runs.iter().copied()).into_iter().filter_map(share);
    let told: Vec<String> = all
        .filter(|(_, share)| *share < WHOLE)
        .map(|(name, share)| format!("{name} {:.0}%", share * 100.0))
        .collect();
    let command = runs.first().map(|run| carom_view::command_line(&run.argv)).unwrap_or_default();
    (!told.is_empty()).then(|| Warning {
        code: "multiplexed".into(),
        text: format!(
            "`{command}`: some events were counted for a part of the time, and their values are estimates for all of it: {}",
            told.join(", ")
        ),
    })
}

/// The question that these recordings answer: that of the command that made them.
///
/// # Errors
/// They were made by different commands, or by one that this carom does not know.
pub fn question<'a>(
    recordings: &[Recording],
    questions: &[&'a dyn Question],
) -> Result<&'a dyn Question, Failure> {
    let mut commands: Vec<&str> = recordings.iter().map(|each| each.manifest().command.as_str()).collect();
    commands.dedup();
    match commands.as_slice() {
        [command] => {
            let found = questions.iter().copied().find(|question| question.answers(command));
            found.ok_or_else(|| {
                Failure::new(format!("no report on profiles of `carom {command}` in this version"))
            })
        }
        several => Err(Failure::new(format!(
            "profiles of different commands ({}) have no common report",
            several.join(", ")
        ))),
    }
}

/// Refuses recordings of different programs, which as one would say nothing of either.
///
/// # Errors
/// Their programs have different names.
pub fn one_program(recordings: &[Recording]) -> Result<(), Failure> {
    let mut programs: Vec<&str> = recordings.iter().map(|each| each.manifest().program.as_str()).collect();
    programs.dedup();
    match programs.as_slice() {
        [] | [_] => Ok(()),
        several => Err(Failure::new(format!(
            "these are profiles of different programs ({}): compare them with carom diff, or merge them with \
             --different-programs",
            several.join(", ")
        ))),
    }
}

/// The report of a study of these recordings as one.
pub fn report<S: Study>(
    recordings: &mut Recordings<'_>,
    study: &S,
    view: impl Fn(&RunInfo, &S::Findings) -> Report,
) -> Report {
    let findings = study.study(recordings);
    let mut manifests = recordings.manifests();
    let mut run = RunInfo::of(&manifests);
    if study.combine(recordings) == Combine::Runs {
        // The threads of each run stand for those of the first.
        run.program.runs = manifests.len() as u32;
        manifests.truncate(1);
        let only = RunInfo::of(&manifests);
        (run.processes, run.threads) = (only.processes, only.threads);
    }
    run.warnings.extend(warnings(recordings));
    let mut report = view(&run, &findings);
    if report.count.is_none() {
        add_counts(&mut report, &manifests);
    }
    report
}

/// The same, with the answer in each phase of the run where the program's memory was recorded with it.
pub fn report_by_phase<S: StudyOfWindow>(
    recordings: &mut Recordings<'_>,
    study: &S,
    view: impl Fn(&RunInfo, &S::Findings) -> Report,
) -> Report {
    let manifests = recordings.manifests();
    let (run, several) = (RunInfo::of(&manifests), manifests.len() > 1);
    let phases = PhasesStudy::default().study(recordings);
    let windows = if several { Vec::new() } else { phases.windows() };
    let part = |window: Window| {
        let findings = study.study_window(recordings, window);
        view(&per_phase::part_of(&run, window.seconds), &findings)
    };
    let parts: Vec<Report> = windows.into_iter().map(part).collect();
    let mut report = report(recordings, study, view);
    if !parts.is_empty() {
        per_phase::add(&mut report, carom_view::phases::report(&run, &phases), parts);
    } else if several && !phases.trace.is_empty() {
        let text = "Phases are those of one run: a report on several has none.";
        report.quality.warnings.push(Warning { code: "no-phases".into(), text: text.into() });
    }
    report
}

/// Adds the counts and their coverage, where anything was counted.
fn add_counts(report: &mut Report, manifests: &[(&Manifest, Offsets)]) {
    let counts = count::analyse(manifests.iter().copied());
    if counts.events.iter().any(|event| event.total.is_some()) {
        carom_view::count::add(report, &counts);
    }
}

/// Warnings about missing names and damaged parts.
fn warnings(recordings: &mut Recordings<'_>) -> Vec<Warning> {
    let unnamed = |note: Note| Warning {
        code: "no-symbols".into(),
        text: format!("{}: {}", note.module.display(), note.problem),
    };
    let mut warnings: Vec<Warning> = recordings.notes().into_iter().map(unnamed).collect();
    let unreadable = recordings.unreadable();
    if unreadable > 0 {
        let parts = if unreadable == 1 { "1 part".into() } else { format!("{unreadable} parts") };
        let text = format!("Damaged: {parts} of the profile; what was there is missing in this report.");
        warnings.push(Warning { code: "damaged".into(), text });
    }
    if recordings.has_damaged_names() {
        let text = "Parts of the names that are stored with the profile are damaged; the program's files are read instead.";
        warnings.push(Warning { code: "damaged-names".into(), text: text.into() });
    }
    warnings
}

#[cfg(test)]
mod tests {
    use carom_base::{ProcessId, ThreadId};
    use carom_store::{Manifest, ProcessInfo, ThreadCounts, ThreadInfo, Writer};

    use clap::Parser;

    use super::*;
    use crate::cli::{Cli, Command};

    /// A profile of one process and one thread that executed this many instructions; `None`: nothing was counted.
    fn recorded(command: &str, instructions: Option<u64>) -> (tempfile::TempDir, Recording) {
        let counts = instructions.map(|_| ThreadCounts { instructions, ..ThreadCounts::default() });
        let thread = ThreadInfo { id: ThreadId(0), process: ProcessId(0), counts, ..ThreadInfo::default() };
        let manifest = Manifest {
            command: command.into(),
            argv: vec!["app".into()],
            program: "app".into(),
            processes: vec![ProcessInfo { pid: 7, ..ProcessInfo::default() }],
            threads: vec![thread],
            ..Manifest::default()
        };
        let dir = tempfile::tempdir().unwrap();
        Writer::create(dir.path(), manifest.clone()).unwrap().finish(manifest).unwrap();
        let recording = Recording::open(dir.path()).unwrap();
        (dir, recording)
    }

    /// As `carom report` makes it.
    fn report(recordings: &[Recording]) -> Result<Report, Failure> {
        let Command::Report(args) = Cli::parse_from(["carom", "report", "profile"]).command else {
            panic!("report")
        };
        let all = args.layouts.all();
        question(recordings, &all).map(|question| question.report(&mut Recordings::new(recordings)))
    }

    #[test]
    fn profiles_of_counts_are_added_up() {
        let (_one, first) = recorded("count", Some(1_000));
        let (_other, second) = recorded("count", Some(30));
        let report = report(&[first, second]).unwrap();
        let instructions = &report.count.as_ref().unwrap().events[0];
        assert_eq!((instructions.total, &*instructions.values), (Some(1_030), &[Some(1_000), Some(30)][..]));
        assert_eq!(instructions.by_process, [Some(1_000), Some(30)]);
        assert_eq!((report.processes.len(), report.threads[1].process), (2, 1));
        assert!(report.share.is_none());
    }

    #[test]
    fn sharing_comes_with_counts_where_they_were_made() {
        let (_one, counted) = recorded("share", Some(5));
        let both = report(&[counted]).unwrap();
        assert!(both.share.is_some() && both.count.is_some());
        let (_two, sampled) = recorded("share", None);
        assert!(report(&[sampled]).unwrap().count.is_none());
    }

    #[test]
    fn questions_do_not_mix() {
        let (_one, share) = recorded("share", None);
        let (_other, count) = recorded("count", Some(1));
        let refused = report(&[share, count]).unwrap_err().to_string();
        assert!(refused.contains("share, count"), "{refused}");
        let (_new, unknown) = recorded("latency", None);
        let refused = report(&[unknown]).unwrap_err().to_string();
        assert!(refused.contains("carom latency"), "{refused}");
    }

    #[test]
    fn programs_do_not_mix_unasked() {
        let (_one, app) = recorded("share", None);
        let (_two, again) = recorded("share", None);
        assert!(one_program(&[app, again]).is_ok());
        let (_three, app) = recorded("share", None);
        let dir = tempfile::tempdir().unwrap();
        let manifest = Manifest { program: "app_fixed".into(), ..app.manifest().clone() };
        Writer::create(dir.path(), manifest.clone()).unwrap().finish(manifest).unwrap();
        let refused = one_program(&[app, Recording::open(dir.path()).unwrap()]).unwrap_err().to_string();
        assert!(refused.contains("app, app_fixed"), "{refused}");
    }
}
