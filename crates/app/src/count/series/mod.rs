//! Several runs of one command, or of several that are compared.

mod kernel;
mod parameter;
mod plan;
mod progress;
mod show;
mod simulated;

use std::path::{Path, PathBuf};

use carom_collect::{CollectError, Engine, KernelEvents, Obstacle, Request, Streams};
use carom_store::{Exit, Recording, SeriesInfo, fresh_dir, run_dir, runs_of};
use carom_study::count::{Basis, Bound, EventLimit};
use carom_view::command_line;

use self::{
    kernel::KernelPlan,
    plan::{Kind, Subject},
    progress::Progress,
};
use super::CountArgs;
use crate::{
    failure::{End, Failure},
    output,
};

pub use parameter::{Parameter, parameter};
pub use show::{is_series, of_first, show};

/// Runs of each command where nothing else is asked for: so many that the rank-sum test can decide about 80 events.
const RUNS: u32 = 7;

/// Runs at each value of a parameter: what counts is how many values there are.
const RUNS_OF_VALUE: u32 = 3;

/// Whether these options ask for a series.
pub fn is_asked(args: &CountArgs) -> bool {
    args.series.is_asked() || args.layout.by.is_some() || args.program.runs.is_some_and(|runs| runs > 1)
}

/// Runs all, and reports.
///
/// # Errors
/// A command cannot be run, or fails and may not. Runs before that are kept.
pub fn run(args: &CountArgs) -> Result<End, Failure> {
    output::check(&args.report)?;
    if args.layout.per_thread {
        return Err(Failure::new(
            "--per-thread prints the threads of one run: leave it out, or print a run with carom report",
        ));
    }
    if args.layout.by.is_some() && (args.series.vs.is_some() || !args.series.param.is_empty()) {
        return Err(Failure::new("--by tells of one command: leave out --vs and --param"));
    }
    let limits = args.series.limits.all()?;
    judgeable(args, &limits)?;
    let dir = record(args)?;
    let recordings: Result<Vec<Recording>, _> =
        runs_of(&dir).iter().map(|run| Recording::open(run)).collect();
    let (text, end) =
        show(&recordings.map_err(Failure::new)?, args.layout.by, &limits, &args.report, &std::io::stderr())?;
    if !args.report.quiet {
        eprint!("{text}");
        eprintln!("Profile: {} (print again: carom report)", dir.display());
    }
    Ok(end)
}

/// Runs all. Returns where the profile is.
///
/// # Errors
/// A command cannot be run, or fails and may not. Runs before that are kept.
pub fn record(args: &CountArgs) -> Result<PathBuf, Failure> {
    // Before anything runs: whether the kernel knows them, and lets carom count them.
    let kernel = KernelPlan::of(&args.series)?;
    let subjects = subjects(args)?;
    let (kinds, notes) = kinds(args, &subjects, kernel.groups.len())?;
    for subject in &subjects {
        try_out(args, subject)?;
    }
    let dir = directory(args)?;
    let rounds = args.program.runs.unwrap_or(match () {
        () if args.series.vs.is_some() => RUNS,
        () if subjects.len() > 1 => RUNS_OF_VALUE,
        () => 1,
    });
    let runs = plan::runs(subjects.len(), &kinds, rounds);
    if !args.report.quiet {
        kernel.announce(&args.series, subjects.len(), &runs);
    }
    record_all(args, &subjects, &kernel.groups, runs, &dir)?;
    notes.iter().for_each(|note| eprintln!("carom: {note}"));
    Ok(dir)
}

/// Refuses limits that the runs cannot tell of, before they run.
fn judgeable(args: &CountArgs, limits: &[EventLimit]) -> Result<(), Failure> {
    if !limits.is_empty() && !args.series.param.is_empty() {
        return Err(Failure::new("--fail-if and --budget do not go with --param"));
    }
    let growth = |limit: &&EventLimit| matches!(limit.bound, Bound::Growth(_));
    match limits.iter().find(growth).filter(|_| args.series.vs.is_none()) {
        Some(limit) => Err(Failure::new(format!(
            "--fail-if: growth of {} needs something to compare with: --vs, or carom diff",
            limit.quantity.name()
        ))),
        None => Ok(()),
    }
}

/// The command before, where one is compared, and the command.
fn subjects(args: &CountArgs) -> Result<Vec<Subject>, Failure> {
    let own = args.program.program.clone();
    if !args.series.param.is_empty() {
        return parameter::commands(&own, &args.series.param)
            .map_err(|why| Failure::new(format!("--param: {why}")));
    }
    let Some(other) = &args.series.vs else {
        return Ok(vec![Subject { argv: own, info: SeriesInfo::default() }]);
    };
    let side = |argv, side| Subject { argv, info: SeriesInfo { side: Some(side), ..SeriesInfo::default() } };
    let before = shlex::split(other).filter(|words| !words.is_empty());
    let before = before.ok_or_else(|| Failure::new(format!("--vs {other:?}: not a command")))?;
    Ok(vec![side(before, 0), side(own, 1)])
}

/// The kinds of runs that the events need, and what to say of kinds that cannot be had.
fn kinds(args: &CountArgs, subjects: &[Subject], groups: usize) -> Result<(Vec<Kind>, Vec<String>), Failure> {
    let events = args.series.wanted();
    let named = |basis: Basis| events.iter().any(|event| event.basis() == basis);
    let simulated = args.series.simulate_caches || named(Basis::Simulated);
    let counted = args.layout.by.is_some() || named(Basis::Counted);
    let (mut kinds, mut notes) = (Vec::new(), Vec::new());
    if events.is_empty() || simulated || counted {
        match untranslatable(subjects)? {
            None => kinds.push(if simulated { Kind::Simulated } else { Kind::Counted }),
            Some(refusal) => notes.push(format!("{refusal}; nothing is counted, and runs are only measured")),
        }
    }
    if events.is_empty() || named(Basis::Native) {
        kinds.extend((0..groups).map(Kind::Native));
    }
    if args.program.window.is_asked() {
        // The kernel's figures are of the whole run.
        kinds.retain(|kind| !matches!(kind, Kind::Native(_)));
    }
    if kinds.is_empty() {
        return Err(Failure::new(notes.pop().unwrap_or_else(|| {
            "times and the like are those of a whole run: leave out --after and --for".to_owned()
        })));
    }
    Ok((kinds, notes))
}

/// Why one of the programs cannot be run from the code cache, where one cannot.
fn untranslatable(subjects: &[Subject]) -> Result<Option<CollectError>, Failure> {
    let path = std::env::var("PATH").ok();
    for subject in subjects {
        let program = subject.argv.first().map_or("", String::as_str);
        match carom_collect::examine(program, path.as_deref(), Engine::Translate) {
            Ok(_) => {}
            Err(obstacle @ Obstacle::Refused(_)) => return Ok(Some(CollectError::of(program, obstacle))),
            Err(obstacle) => return Err(CollectError::of(program, obstacle).into()),
        }
    }
    Ok(None)
}

/// One run that nobody measures: files come into the page cache, and a command that fails is noticed before the others run.
fn try_out(args: &CountArgs, subject: &Subject) -> Result<(), Failure> {
    let exit = carom_collect::run_natively(&subject.argv, Streams::Equal)?;
    accept(args, subject, exit)
}

fn accept(args: &CountArgs, subject: &Subject, exit: Exit) -> Result<(), Failure> {
    let how = match exit {
        Exit::Code(0) => return Ok(()),
        Exit::Code(_) | Exit::Unknown if args.series.ignore_failure => return Ok(()),
        Exit::Code(status) => format!("ended with status {status}"),
        Exit::Signal(signal) => format!("was ended by signal {signal}"),
        Exit::Unknown => "ended, nobody knows how".to_owned(),
    };
    let command = command_line(&subject.argv);
    let remedy = if matches!(exit, Exit::Code(_)) { "; --ignore-failure counts it all the same" } else { "" };
    Err(Failure::new(format!("`{command}` {how}{remedy}")))
}

/// Where the series goes.
fn directory(args: &CountArgs) -> Result<PathBuf, Failure> {
    let at = |dir: &Path, error: std::io::Error| Failure::new(format!("{}: {error}", dir.display()));
    let Some(dir) = &args.program.output else {
        let program = args.program.program.first().map_or("", String::as_str);
        let here = PathBuf::from(".");
        let dir = fresh_dir(&here, program).map_err(|error| at(&here, error))?;
        return Ok(dir.strip_prefix(".").map(Path::to_owned).unwrap_or(dir));
    };
    std::fs::create_dir(dir).map_err(|error| at(dir, error))?;
    Ok(dir.clone())
}

fn record_all(
    args: &CountArgs,
    subjects: &[Subject],
    groups: &[KernelEvents],
    runs: Vec<(usize, Kind)>,
    dir: &Path,
) -> Result<(), Failure> {
    let events: Vec<String> = args.series.wanted().iter().map(|event| event.name().to_owned()).collect();
    let none = KernelEvents::default();
    let progress = Progress::new(runs.len(), args.report.quiet);
    for (done, (subject, kind)) in runs.into_iter().enumerate() {
        let Some(subject) = subjects.get(subject) else { continue };
        progress.show(done, &command_line(&subject.argv));
        let request = Request {
            command: "count".into(),
            questions: Vec::new(),
            argv: subject.argv.clone(),
            dir: Some(run_dir(dir, done + 1)),
            settings: match kind {
                Kind::Simulated => simulated::settings(args),
                Kind::Counted | Kind::Native(_) => super::settings(args),
            },
            reason: match kind {
                Kind::Counted | Kind::Simulated => {
                    "the only engine in this version that counts exactly".into()
                }
                Kind::Native(_) => "how long it takes without carom in it".into(),
            },
            time_memory: false,
            memory: None,
            streams: Streams::Equal,
            targets: Vec::new(),
            series: Some(SeriesInfo { events: events.clone(), ..subject.info.clone() }),
            accesses: None,
        };
        let outcome = match kind {
            Kind::Counted | Kind::Simulated => carom_collect::record(&request)?,
            Kind::Native(group) => {
                let events = groups.get(group).map_or(&none, |group| group);
                carom_collect::record_natively(&request, events)?
            }
        };
        if let Some(trouble) = outcome.trouble {
            return Err(Failure::new(trouble));
        }
        accept(args, subject, outcome.exit)?;
        if kind == Kind::Simulated {
            simulated::simulate(&outcome.dir)?;
        }
    }
    Ok(())
}
