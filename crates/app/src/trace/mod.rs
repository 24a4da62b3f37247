//! `carom trace`: keeps every load and store of a program.

mod args;
mod kept;

use std::{path::Path, slice, thread};

use carom_collect::{Request, Streams};
use carom_store::Recording;
use carom_study::{Study, recording::Recordings, simulate::SimulateStudy};

pub use args::TraceArgs;

use self::kept::Kept;
use crate::{
    failure::{End, Failure},
    output,
    simulate::{REASON, settings},
};

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
    if args.program.runs.is_some() {
        return Err(Failure::new("a trace is of one run: leave out --runs"));
    }
    let outcome = carom_collect::record(&Request {
        command: "trace".into(),
        questions: Vec::new(),
        argv: args.program.program.clone(),
        dir: args.program.output.clone(),
        settings: settings(&args.program, &args.objects).map_err(Failure::new)?,
        reason: REASON.into(),
        time_memory: false,
        streams: Streams::Own,
        series: None,
    })?;
    if let Some(trouble) = &outcome.trouble {
        eprintln!("carom: the profile is incomplete: {trouble}");
    }
    if let Err(failure) = told(args, &outcome.dir) {
        eprintln!("carom: {failure}; the profile is in {}", outcome.dir.display());
    }
    Ok(End::Program(outcome.exit))
}

/// Tells what was kept, and stores the names of the code with it.
fn told(args: &TraceArgs, dir: &Path) -> Result<(), Failure> {
    let recording = Recording::open(dir).map_err(Failure::new)?;
    if !args.program.no_symbols {
        // The simulation asks for the names of what it ranks first.
        let all = slice::from_ref(&recording);
        let mut recordings = Recordings::new(all);
        let study =
            SimulateStudy { threads: thread::available_parallelism().ok(), ..SimulateStudy::default() };
        let _ = study.study(&mut recordings);
        recordings.store_names().map_err(Failure::new)?;
    }
    if !args.quiet {
        eprintln!("{}", Kept::of(&recording).map_err(Failure::new)?.text());
        eprintln!("Profile: {0} (next: carom simulate {0})", dir.display());
    }
    Ok(())
}

fn check(dir: &Path) -> Result<End, Failure> {
    let violations = carom_store::check(dir).map_err(Failure::new)?;
    for violation in &violations {
        output::print(&format!("{violation}\n"))?;
    }
    if let Some(more) = violations.len().checked_sub(1) {
        let problems = if more == 0 { "1 problem".into() } else { format!("{} problems", more + 1) };
        return Err(Failure::new(format!("{}: {problems}", dir.display())));
    }
    let kept = Kept::of(&Recording::open(dir).map_err(Failure::new)?).map_err(Failure::new)?;
    output::print(&format!("{}: all of it can be read. {}\n", dir.display(), kept.text()))?;
    Ok(End::Success)
}
