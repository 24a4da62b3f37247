//! `carom trace`: keeps every load and store of a program, or those that matter for coherence; checks and exports them. Or simulates
//! them at once.

mod args;
mod kept;
mod online;
mod parquet;
mod reduced;

use std::{path::Path, slice, thread};

use carom_base::{Keep, Reduction};
use carom_collect::{CodeAddress, Outcome, Request, ReuseMethod, Streams};
use carom_store::{Exit, MAX_VIOLATIONS, Recording, Spread};
use carom_study::{Study, recording::Recordings, simulate::SimulateStudy};
use carom_view::thousands;

pub use args::{Limit, TraceArgs, limit};

use self::kept::Kept;
use crate::{
    failure::{End, Failure},
    options::{ObjectArgs, ProgramArgs},
    output, progress,
    simulate::{REASON, settings},
};

/// Accesses that are simulated for the sake of names: one or two seconds.
const SIMULATED: u64 = 32_000_000;

/// Records, checks or prints.
///
/// # Errors
/// The program cannot be recorded; the profile cannot be read, or is damaged.
pub fn run(args: &TraceArgs) -> Result<End, Failure> {
    if let Some(dir) = &args.check {
        return check(dir);
    }
    if let Some(dir) = &args.print {
        return kept::print(dir).map(|()| End::Success);
    }
    if let Some(dir) = &args.parquet {
        return parquet::print(dir).map(|()| End::Success);
    }
    if args.program.runs.is_some() {
        return Err(Failure::new("a trace is of one run: leave out --runs"));
    }
    args.check_mode()?;
    if let Some(machine) = &args.simulate {
        return online::run(args, machine);
    }
    let reduction = args.reduction();
    let targets = match (reduction, &args.targets) {
        (Some(Reduction { keep: Keep::Targeted { .. }, .. }), Some(dir)) => reduced::targets(dir)?,
        (Some(Reduction { latency, keep: Keep::Targeted { .. } }), None) => match find(args, latency)? {
            Found::Targets(targets) => targets,
            Found::Killed(exit) => return Ok(End::Program(exit)),
        },
        _ => Vec::new(),
    };
    let outcome = carom_collect::record(&Request {
        dir: args.program.output.clone(),
        targets,
        ..request(args, reduction)?
    })?;
    if let Some(trouble) = &outcome.trouble {
        eprintln!("carom: the profile is incomplete: {trouble}");
    }
    if let Err(failure) = told(args, &outcome) {
        eprintln!("carom: {failure}; the profile is in {}", outcome.dir.display());
    }
    Ok(End::Program(outcome.exit))
}

/// Records the first accesses of a run without output in `dir`; the program runs on.
///
/// # Errors
/// The program cannot be recorded.
pub fn first(
    program: &ProgramArgs,
    objects: &ObjectArgs,
    most: Limit,
    dir: &Path,
) -> Result<Outcome, Failure> {
    let mut request = full(program, objects)?;
    request.settings.most_kept = most.0;
    let request = Request { dir: Some(dir.to_owned()), streams: Streams::Equal, ..request };
    carom_collect::record(&request).map_err(Failure::from)
}

/// What to record: of all accesses, or of those that remain of a `reduction`.
fn request(args: &TraceArgs, reduction: Option<Reduction>) -> Result<Request, Failure> {
    let mut request = full(&args.program, &args.objects)?;
    request.settings.window.marked = args.marked;
    request.settings.most_kept = args.most();
    if let (Some(reduction), Some(reuse)) = (reduction, &mut request.settings.reuse) {
        reuse.method = ReuseMethod::Reduced(reduction);
    }
    Ok(request)
}

/// All accesses of a run.
fn full(program: &ProgramArgs, objects: &ObjectArgs) -> Result<Request, Failure> {
    Ok(Request {
        command: "trace".into(),
        questions: Vec::new(),
        argv: program.program.clone(),
        dir: None,
        settings: settings(program, objects).map_err(Failure::new)?,
        reason: REASON.into(),
        time_memory: false,
        memory: None,
        streams: Streams::Own,
        targets: Vec::new(),
        series: None,
        accesses: None,
    })
}

/// The result of the first run for a targeted trace.
enum Found {
    Targets(Vec<CodeAddress>),
    /// It was ended by a signal: there is no second one.
    Killed(Exit),
}

/// Runs the program without output, and finds the instructions whose loads take longer than `latency`.
fn find(args: &TraceArgs, latency: u32) -> Result<Found, Failure> {
    let dir = tempfile::tempdir().map_err(Failure::new)?;
    let profile = dir.path().join("first.carom");
    let outcome = carom_collect::record(&Request {
        dir: Some(profile.clone()),
        streams: Streams::Equal,
        ..request(args, Some(Reduction { latency, keep: Keep::Loads }))?
    })?;
    if matches!(outcome.exit, Exit::Signal(_)) {
        return Ok(Found::Killed(outcome.exit));
    }
    if let Some(trouble) = outcome.trouble {
        return Err(Failure::new(format!("the first run was not recorded: {trouble}")));
    }
    let targets = reduced::targets(&profile)?;
    if !args.report.quiet {
        let plural = if targets.len() == 1 { "" } else { "s" };
        eprintln!(
            "carom: in a first run, without output, loads of {} instruction{plural} took longer than {latency} cycles; \
             now the run that is recorded{}",
            targets.len(),
            args.most().map_or_else(String::new, |most| format!(", up to {} accesses", thousands(most))),
        );
    }
    Ok(Found::Targets(targets))
}

/// Tells what was kept, and stores the names of the code with it.
fn told(args: &TraceArgs, Outcome { dir, kept, .. }: &Outcome) -> Result<(), Failure> {
    let recording = Recording::open(dir).map_err(Failure::new)?;
    let kept = Kept::recorded(&recording, kept);
    if !args.program.no_symbols {
        // The simulation asks for the names of what it ranks first. It ranks much the same first in a part of a long trace.
        let all = slice::from_ref(&recording);
        let mut recordings = Recordings::new(all);
        let study = SimulateStudy {
            spread: kept.as_ref().map_or(Spread::ALL, |kept| Spread::about(SIMULATED, kept.accesses())),
            threads: thread::available_parallelism().ok(),
            progress: (!args.report.quiet).then_some(progress::simulated),
            ..SimulateStudy::default()
        };
        let _ = study.study(&mut recordings);
        progress::clear();
        recordings.store_names().map_err(Failure::new)?;
    }
    if !args.report.quiet {
        eprintln!("{}", kept.map_err(Failure::new)?.text());
        eprintln!("Profile: {0} (next: carom simulate {0})", dir.display());
    }
    Ok(())
}

/// Problems of a profile that are printed: more of them mostly have the same cause.
const MOST_PRINTED: usize = 20;

fn check(dir: &Path) -> Result<End, Failure> {
    let violations = carom_store::check(dir).map_err(Failure::new)?;
    for violation in violations.iter().take(MOST_PRINTED) {
        output::print(&format!("{violation}\n"))?;
    }
    let at_least = if violations.len() == MAX_VIOLATIONS { "at least " } else { "" };
    if let Some(more) = violations.len().checked_sub(MOST_PRINTED).filter(|more| *more > 0) {
        output::print(&format!("and {at_least}{more} more\n"))?;
    }
    match violations.len() {
        0 => {}
        1 => return Err(Failure::new(format!("{}: 1 problem", dir.display()))),
        all => return Err(Failure::new(format!("{}: {at_least}{all} problems", dir.display()))),
    }
    let kept = Kept::of(&Recording::open(dir).map_err(Failure::new)?).map_err(Failure::new)?;
    output::print(&format!("{}: all of it can be read. {}\n", dir.display(), kept.text()))?;
    Ok(End::Success)
}
