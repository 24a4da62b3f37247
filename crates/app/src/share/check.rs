//! `--check-remedy`: a second run, whose accesses are simulated with the layouts that remedies ask for.

use std::{path::Path, slice, thread};

use carom_store::{Recording, RemedyCheck, RemedyChecks, store_checks};
use carom_study::{
    recording::Recordings,
    share::ShareStudy,
    simulate::{Change, Order, Outcome, SimulateStudy, Tried},
};
use carom_view::thousands;

use super::ShareArgs;
use crate::{
    failure::Failure,
    progress,
    trace::{self, Limit},
};

/// Checks the remedies of the run in `profile` on the first accesses of another one, and stores the outcome there.
///
/// # Errors
/// The profile cannot be read or written.
pub fn check(args: &ShareArgs, most: Limit, profile: &Path) -> Result<(), Failure> {
    let run = Recording::open(profile).map_err(Failure::new)?;
    let layouts = ShareStudy.layouts(&mut Recordings::new(slice::from_ref(&run)));
    let checks = match try_each(args, most, &layouts) {
        Ok(tried) => stored(&layouts, tried),
        Err(failure) => {
            let outcomes = layouts.iter().map(|_| Err(failure.to_string())).collect();
            stored(&layouts, Tried { outcomes, ..Tried::default() })
        }
    };
    store_checks(profile, checks).map_err(Failure::new)
}

/// Records and simulates, if there is anything to simulate.
fn try_each(args: &ShareArgs, most: Limit, layouts: &[Vec<Change>]) -> Result<Tried, Failure> {
    if layouts.is_empty() {
        return Ok(Tried::default());
    }
    if !args.report.quiet {
        let program = args.program.program.first().map_or("", String::as_str);
        let most = most.0.map_or("all its".to_owned(), |most| format!("its first {}", thousands(most)));
        eprintln!("carom: running {program} again, without output, to check remedies on {most} accesses");
    }
    let dir = tempfile::tempdir().map_err(Failure::new)?;
    let traced = trace::first(&args.program, &args.objects, most, &dir.path().join("window.carom"))?;
    if let Some(trouble) = traced.trouble {
        return Err(Failure::new(format!("the second run was not recorded: {trouble}")));
    }
    let window = Recording::open(&traced.dir).map_err(Failure::new)?;
    let study = SimulateStudy {
        // What a window has of turns on too few processors, or at different speeds, says nothing of the layout.
        order: Order::Even,
        threads: thread::available_parallelism().ok(),
        progress: (!args.report.quiet).then_some(progress::simulated),
        ..SimulateStudy::default()
    };
    let tried = study.try_each(&mut Recordings::new(slice::from_ref(&window)), layouts);
    progress::clear();
    tried.map_err(|error| Failure::new(format!("this machine's caches cannot be simulated: {error}")))
}

fn stored(layouts: &[Vec<Change>], tried: Tried) -> RemedyChecks {
    let check = |(layout, outcome): (&Vec<Change>, Result<_, String>)| {
        let changes = layout.iter().map(Change::to_string).collect();
        match outcome {
            Ok(Outcome { before, after }) => RemedyCheck { changes, before, after, problem: None },
            Err(problem) => RemedyCheck { changes, problem: Some(problem), ..RemedyCheck::default() },
        }
    };
    let Tried { machine, accesses, loads_and_stores, outcomes } = tried;
    let checks = layouts.iter().zip(outcomes).map(check).collect();
    RemedyChecks { machine, accesses, loads_and_stores, checks }
}
