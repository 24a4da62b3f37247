//! From recordings to a report.

use carom_store::{Manifest, Recording};
use carom_study::{
    Study,
    count::{self, CountStudy},
    recording::{Combine, Offsets, Recordings},
    reuse::ReuseOptions,
    share::ShareStudy,
    symbols::Note,
};
use carom_view::{WarningInfo, model::Report};

use crate::{failure::Failure, reuse::Peers, run_info};

/// What reports are to answer, beyond what was recorded.
#[derive(Debug, Default)]
pub struct Choices {
    /// Of reuse.
    pub reuse: ReuseOptions,
    /// Files of other tools, beside a report of reuse.
    pub peers: Peers,
}

/// Studies `recordings` as one, by the command that made them.
///
/// # Errors
/// They were made by different commands, or by one that this carom does not know.
pub fn report(recordings: &[Recording], choices: &Choices) -> Result<Report, Failure> {
    let mut commands: Vec<&str> = recordings.iter().map(|each| each.manifest().command.as_str()).collect();
    commands.dedup();
    match commands.as_slice() {
        ["count"] => Ok(counting(recordings)),
        ["reuse"] => Ok(reusing(recordings, &choices.reuse)),
        ["share"] | [] => Ok(sharing(recordings)),
        [command] => Err(Failure::new(format!("no report on profiles of `carom {command}` in this version"))),
        several => Err(Failure::new(format!(
            "profiles of different commands ({}) have no common report",
            several.join(", ")
        ))),
    }
}

fn counting(recordings: &[Recording]) -> Report {
    let mut recordings = Recordings::new(recordings);
    let findings = CountStudy.study(&mut recordings);
    carom_view::count::report(&run_info::of(&recordings.manifests()), &findings)
}

fn sharing(recordings: &[Recording]) -> Report {
    let mut recordings = Recordings::new(recordings);
    let findings = ShareStudy.study(&mut recordings);
    let manifests = recordings.manifests();
    let mut run = run_info::of(&manifests);
    run.warnings.extend(warnings(&recordings));
    let mut report = carom_view::share::report(&run, &findings);
    add_counts(&mut report, manifests);
    report
}

/// Adds what was counted, with its coverage, where anything was.
fn add_counts(report: &mut Report, manifests: Vec<(&Manifest, Offsets)>) {
    let counts = count::analyse(manifests);
    if counts.events.iter().any(|event| event.total.is_some()) {
        carom_view::count::add(report, &counts);
    }
}

fn reusing(recordings: &[Recording], options: &ReuseOptions) -> Report {
    let mut recordings = Recordings::new(recordings);
    let findings = options.study(&mut recordings);
    let mut manifests = recordings.manifests();
    let mut run = run_info::of(&manifests);
    if recordings.combine() == Combine::Runs {
        // The threads of all runs are taken for those of the first.
        run.runs = manifests.len() as u32;
        manifests.truncate(1);
        let only = run_info::of(&manifests);
        (run.processes, run.threads) = (only.processes, only.threads);
    }
    run.warnings.extend(warnings(&recordings));
    let mut report = carom_view::reuse::report(&run, &findings);
    add_counts(&mut report, manifests);
    report
}

/// What a study had to do without.
fn warnings(recordings: &Recordings<'_>) -> Vec<WarningInfo> {
    let unnamed = |note: Note| WarningInfo {
        code: "no-symbols".into(),
        text: format!("{}: {}", note.module.display(), note.problem),
    };
    let mut warnings: Vec<WarningInfo> = recordings.notes().into_iter().map(unnamed).collect();
    let unreadable = recordings.unreadable();
    if unreadable > 0 {
        let text = format!("{unreadable} parts of the profile are damaged; what they held is missing here.");
        warnings.push(WarningInfo { code: "damaged".into(), text });
    }
    warnings
}

#[cfg(test)]
mod tests {
    use carom_base::{ProcessId, ThreadId};
    use carom_store::{Manifest, ProcessInfo, ThreadCounts, ThreadInfo, Writer};

    use super::*;

    /// A profile of one process and one thread with so many instructions, or none counted.
    fn recorded(command: &str, instructions: Option<u64>) -> (tempfile::TempDir, Recording) {
        let counts = instructions.map(|_| ThreadCounts { instructions, ..ThreadCounts::default() });
        let thread = ThreadInfo { id: ThreadId(0), process: ProcessId(0), counts, ..ThreadInfo::default() };
        let manifest = Manifest {
            command: command.into(),
            argv: vec!["app".into()],
            processes: vec![ProcessInfo { pid: 7, ..ProcessInfo::default() }],
            threads: vec![thread],
            ..Manifest::default()
        };
        let dir = tempfile::tempdir().unwrap();
        Writer::create(dir.path(), manifest.clone()).unwrap().finish(manifest).unwrap();
        let recording = Recording::open(dir.path()).unwrap();
        (dir, recording)
    }

    #[test]
    fn profiles_of_counts_are_added_up() {
        let (_one, first) = recorded("count", Some(1_000));
        let (_other, second) = recorded("count", Some(30));
        let report = report(&[first, second], &Choices::default()).unwrap();
        let instructions = &report.count.as_ref().unwrap().events[0];
        assert_eq!((instructions.total, &*instructions.values), (Some(1_030), &[Some(1_000), Some(30)][..]));
        assert_eq!(instructions.by_process, [Some(1_000), Some(30)]);
        assert_eq!((report.processes.len(), report.threads[1].process), (2, 1));
        assert!(report.share.is_none());
    }

    #[test]
    fn sharing_comes_with_counts_where_they_were_made() {
        let (_one, counted) = recorded("share", Some(5));
        let both = report(&[counted], &Choices::default()).unwrap();
        assert!(both.share.is_some() && both.count.is_some());
        let (_two, sampled) = recorded("share", None);
        assert!(report(&[sampled], &Choices::default()).unwrap().count.is_none());
    }

    #[test]
    fn questions_do_not_mix() {
        let (_one, share) = recorded("share", None);
        let (_other, count) = recorded("count", Some(1));
        let refused = report(&[share, count], &Choices::default()).unwrap_err().to_string();
        assert!(refused.contains("share, count"), "{refused}");
        let (_new, unknown) = recorded("latency", None);
        let refused = report(&[unknown], &Choices::default()).unwrap_err().to_string();
        assert!(refused.contains("carom latency"), "{refused}");
    }
}
