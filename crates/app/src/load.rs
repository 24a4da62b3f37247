//! From recordings to a report.

use carom_store::{Manifest, Recording};
use carom_study::{
    count::{self, CountFindings},
    reuse::{self, Combine, Latencies, MergedReuse, RecordedReuse, ReuseInput, ReuseOptions},
    share::{self, Merged, MergedNames, Names, Offsets, RecordedInput, RecordedNames, ShareInput},
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
    let inputs: Vec<RecordedInput> = recordings.iter().map(RecordedInput::new).collect();
    let offsets = Merged::new(inputs.iter().map(|input| input as &dyn ShareInput)).offsets();
    carom_view::count::report(&run_info::of(recordings, &offsets), &counts(recordings, &offsets))
}

fn counts(recordings: &[Recording], offsets: &[Offsets]) -> CountFindings {
    count::analyse(recordings.iter().map(Recording::manifest).zip(offsets.iter().copied()))
}

fn sharing(recordings: &[Recording]) -> Report {
    let inputs: Vec<RecordedInput> = recordings.iter().map(RecordedInput::new).collect();
    let mut names: Vec<RecordedNames> = recordings.iter().map(RecordedNames::new).collect();
    let merged = Merged::new(inputs.iter().map(|input| input as &dyn ShareInput));
    let offsets = merged.offsets();
    let by_recording = names.iter_mut().map(|names| names as &mut dyn Names);
    let findings = share::analyse(&merged, &mut MergedNames::new(&merged, by_recording));
    let mut run = run_info::of(recordings, &offsets);
    run.warnings.extend(unnamed(&names));
    run.warnings.extend(damaged(inputs.iter().map(RecordedInput::unreadable).sum()));
    let mut report = carom_view::share::report(&run, &findings);
    add_counts(&mut report, recordings, &offsets);
    report
}

/// Adds what was counted, with its coverage, where anything was.
fn add_counts(report: &mut Report, recordings: &[Recording], offsets: &[Offsets]) {
    let counts = counts(recordings, offsets);
    if counts.events.iter().any(|event| event.total.is_some()) {
        carom_view::share::with_counts(report, &counts);
    }
}

fn reusing(recordings: &[Recording], options: &ReuseOptions) -> Report {
    let shares: Vec<RecordedInput> = recordings.iter().map(RecordedInput::new).collect();
    let inputs: Vec<RecordedReuse> = recordings
        .iter()
        .map(|each| RecordedReuse::new(each).with_latencies(latencies(each.manifest())))
        .collect();
    let mut names: Vec<RecordedNames> = recordings.iter().map(RecordedNames::new).collect();
    let combine = combination(recordings);
    let merged = MergedReuse::new(inputs.iter().map(|input| input as &dyn ReuseInput), combine);
    let offsets = merged.offsets();
    let shared = Merged::new(shares.iter().map(|input| input as &dyn ShareInput));
    let by_recording = names.iter_mut().map(|names| names as &mut dyn Names);
    let findings = reuse::analyse(&merged, &mut MergedNames::new(&shared, by_recording), options);
    let mut run = run_info::of(recordings, &offsets);
    if let (Combine::Runs, [first, ..], [none, ..]) = (combine, recordings, offsets.as_slice()) {
        // The threads of all runs are taken for those of the first.
        let only = run_info::of(std::slice::from_ref(first), &[*none]);
        (run.processes, run.threads) = (only.processes, only.threads);
        run.runs = recordings.len() as u32;
    }
    run.warnings.extend(unnamed(&names));
    run.warnings.extend(damaged(inputs.iter().map(RecordedReuse::unreadable).sum()));
    let mut report = carom_view::reuse::report(&run, &findings);
    // As many as the threads that are told.
    let told = if run.runs > 1 { 1 } else { recordings.len() };
    add_counts(&mut report, recordings.get(..told).unwrap_or_default(), &offsets);
    report
}

/// What moving a line costs on the machine of the recording, where that was measured.
fn latencies(manifest: &Manifest) -> Option<Latencies> {
    let costs = &manifest.engine.costs_ns;
    let (memory_ns, transfer_ns) = (costs.memory as f64, costs.transfer as f64);
    (costs.memory > 0 && costs.transfer > 0).then_some(Latencies { memory_ns, transfer_ns })
}

/// Recordings of one command line without ranks are runs of one program.
fn combination(recordings: &[Recording]) -> Combine {
    let manifests = || recordings.iter().map(Recording::manifest);
    let same = |first: &Manifest| manifests().all(|each| each.argv == first.argv && each.rank.is_none());
    if manifests().next().is_some_and(same) { Combine::Runs } else { Combine::Ranks }
}

/// Modules whose symbols could not be read, each once.
fn unnamed(names: &[RecordedNames]) -> Vec<WarningInfo> {
    let mut notes = Vec::new();
    for note in names.iter().flat_map(RecordedNames::notes) {
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    let warning = |note: Note| WarningInfo {
        code: "no-symbols".into(),
        text: format!("{}: {}", note.module.display(), note.problem),
    };
    notes.into_iter().map(warning).collect()
}

fn damaged(unreadable: u64) -> Option<WarningInfo> {
    let text = format!("{unreadable} parts of the profile are damaged; what they held is missing here.");
    (unreadable > 0).then(|| WarningInfo { code: "damaged".into(), text })
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
