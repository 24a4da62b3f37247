//! What every recording command does: run the program under the agents, then report.

use std::{
    path::{Path, PathBuf},
    slice,
    time::Duration,
};

use carom_collect::{Request, Settings, Streams};
use carom_store::{Exit, Recording};
use carom_study::recording::Recordings;
use carom_view::model::Report;

use crate::{
    failure::{End, Failure},
    options::{OutputArgs, ProgramArgs},
    output::{self, Layout},
    peers::Peers,
    question::Question,
};

/// What adds to the profile in a directory.
pub type Completion<'a> = &'a dyn Fn(&Path) -> Result<(), Failure>;

/// What to record, and how to show it.
pub struct Job<'a> {
    /// The question.
    pub question: &'a dyn Question,
    /// The names of those that it asks, where it is several.
    pub asked: Vec<String>,
    /// The program, how often and when it is observed, and where its profile goes.
    pub program: &'a ProgramArgs,
    /// The settings of the agents.
    pub settings: Settings,
    /// Why this engine.
    pub reason: String,
    /// The time between two readings of the program's memory, where they are wanted.
    pub memory: Option<Duration>,
    /// Where the report goes.
    pub output: &'a OutputArgs,
    /// How the report is laid out.
    pub layout: Layout,
    /// Files of other tools.
    pub peers: Peers,
    /// Adds to the profile before it is reported on, if the program was not ended by a signal.
    pub completion: Option<Completion<'a>>,
}

impl<'a> Job<'a> {
    /// One question by itself, laid out as it says.
    ///
    /// # Errors
    /// A file of another tool cannot be read.
    pub fn new(
        question: &'a dyn Question,
        program: &'a ProgramArgs,
        output: &'a OutputArgs,
        settings: Settings,
        reason: impl Into<String>,
    ) -> Result<Self, Failure> {
        let mut layout = Layout::default();
        question.lay_out(&mut layout);
        Ok(Self {
            question,
            asked: Vec::new(),
            program,
            settings,
            reason: reason.into(),
            memory: None,
            output,
            layout,
            peers: question.peers()?,
            completion: None,
        })
    }
}

/// Records the program as often as asked, one run after the other, and reports on all of them as one. The first run that
/// fails decides the end; after one that was ended by a signal there is no other.
///
/// # Errors
/// The program cannot be profiled, or the report cannot be written where it should go. The program has not run then.
pub fn run(job: Job<'_>) -> Result<End, Failure> {
    output::check(job.output)?;
    let runs = job.program.runs.unwrap_or(1);
    let mut profiles = Vec::new();
    let mut end = Exit::Code(0);
    for number in 1..=runs {
        let recorded = carom_collect::record(&Request {
            command: job.question.command().into(),
            questions: job.asked.clone(),
            argv: job.program.program.clone(),
            dir: job.program.output.as_deref().map(|dir| of_run(dir, number, runs)),
            settings: job.settings,
            reason: job.reason.clone(),
            time_memory: job.question.times_memory(),
            memory: job.memory,
            streams: Streams::Own,
            targets: Vec::new(),
            series: None,
            accesses: None,
        });
        let outcome = match recorded {
            Ok(outcome) => outcome,
            Err(error) if profiles.is_empty() => return Err(error.into()),
            // The program has run: carom ends as it did.
            Err(error) => {
                eprintln!("carom: run {number}: {error}");
                break;
            }
        };
        if let Some(trouble) = &outcome.trouble {
            eprintln!("carom: the profile is incomplete: {trouble}");
        }
        profiles.push(outcome.dir);
        if end == Exit::Code(0) {
            end = outcome.exit;
        }
        if matches!(outcome.exit, Exit::Signal(_)) {
            break;
        }
    }
    if let Some(complete) = job.completion.filter(|_| !matches!(end, Exit::Signal(_))) {
        for profile in &profiles {
            complete(profile).unwrap_or_else(|failure| eprintln!("carom: {failure}"));
        }
    }
    if let Err(failure) = report(&job, &profiles) {
        eprintln!("carom: {failure}; the profile is in {}", list(&profiles));
    }
    Ok(End::Program(end))
}

/// Where the profile of a run goes: `DIR`, or `DIR-1`, `DIR-2`, … where there are several.
fn of_run(dir: &Path, number: u32, runs: u32) -> PathBuf {
    if runs == 1 {
        return dir.to_owned();
    }
    let mut name = dir.as_os_str().to_owned();
    name.push(format!("-{number}"));
    name.into()
}

fn list(profiles: &[PathBuf]) -> String {
    profiles.iter().map(|dir| dir.display().to_string()).collect::<Vec<_>>().join(" ")
}

fn report(job: &Job<'_>, profiles: &[PathBuf]) -> Result<(), Failure> {
    let args = job.output;
    let wanted = output::wanted(args) || job.peers.wanted();
    if !wanted && job.program.no_symbols {
        return Ok(());
    }
    let recordings: Result<Vec<Recording>, _> = profiles.iter().map(|dir| Recording::open(dir)).collect();
    let recordings = recordings.map_err(Failure::new)?;
    if recordings.len() > 1 && !job.program.no_symbols {
        // A report on one of them ranks more of what is in it, and asks for more names.
        recordings.iter().for_each(|each| drop(study(job, slice::from_ref(each))));
    }
    let report = study(job, &recordings);
    if !wanted {
        return Ok(());
    }
    output::write(&report, args)?;
    let compared = job.peers.serve(&report)?;
    if !args.quiet {
        eprint!("{}{compared}", output::text(&report, args, &job.layout, &std::io::stderr()));
        eprintln!("Profile: {} (print again: carom report)", list(profiles));
    }
    Ok(())
}

/// The report on these recordings as one. The names in it are stored with them: the program may be built anew.
fn study(job: &Job<'_>, recordings: &[Recording]) -> Report {
    let mut recordings = Recordings::new(recordings);
    let report = job.question.report(&mut recordings);
    if !job.program.no_symbols
        && let Err(error) = recordings.store_names()
    {
        eprintln!("carom: the names are not stored with the profile: {error}");
    }
    report
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_runs_have_several_profiles() {
        assert_eq!(of_run(Path::new("a/profile"), 1, 1), Path::new("a/profile"));
        assert_eq!(of_run(Path::new("a/profile"), 2, 3), Path::new("a/profile-2"));
    }
}
