//! `carom trace --simulate`: accesses go from the program to the simulator, and none is kept.

use std::{
    panic, slice,
    sync::mpsc::{Receiver, sync_channel},
    thread,
};

use carom_collect::{HandedOn, Request};
use carom_store::Recording;
use carom_study::{
    recording::Recordings,
    simulate::{MachineChoice, Online, SimulateStudy},
};

use super::{TraceArgs, request};
use crate::{
    failure::{End, Failure},
    load,
    output::{self, Layout},
};

/// Frames that wait for the simulator, of a batch of a thread each. When there are so many, the program waits, too.
const WAITING: usize = 64;

/// Rows of each table.
const ROWS: usize = 10;

/// Records, simulates meanwhile, and reports.
pub(super) fn run(args: &TraceArgs, machine: &MachineChoice) -> Result<End, Failure> {
    output::check(&args.report)?;
    let dir = tempfile::tempdir().map_err(Failure::new)?;
    let (sender, frames) = sync_channel(WAITING);
    let study = SimulateStudy {
        machine: machine.clone(),
        threads: thread::available_parallelism().ok(),
        ..SimulateStudy::default()
    };
    let simulator = thread::spawn(move || simulate(study, &frames));
    let outcome = carom_collect::record(&Request {
        dir: Some(dir.path().join("names.carom")),
        accesses: Some(sender),
        ..request(args, None)?
    })?;
    if let Some(trouble) = &outcome.trouble {
        eprintln!("carom: what is known of the run is incomplete: {trouble}");
    }
    // The sender is gone with the request: the simulator comes to its end.
    let simulated = simulator.join().unwrap_or_else(|panicked| panic::resume_unwind(panicked));
    let reported = simulated.and_then(|online| {
        let recording = Recording::open(&outcome.dir).map_err(Failure::new)?;
        report(args, &online, &recording)
    });
    // The program has run: carom ends as it did.
    reported.unwrap_or_else(|failure| eprintln!("carom: {failure}"));
    Ok(End::Program(outcome.exit))
}

fn simulate(study: SimulateStudy, frames: &Receiver<HandedOn>) -> Result<Online, Failure> {
    let frames = frames.iter().map(|HandedOn { process, frame }| (process, frame));
    Online::new(study, &carom_collect::machine_here(), frames).map_err(Failure::new)
}

fn report(args: &TraceArgs, online: &Online, recording: &Recording) -> Result<(), Failure> {
    if !output::wanted(&args.report) {
        return Ok(());
    }
    let mut recordings = Recordings::new(slice::from_ref(recording));
    let report = load::report(&mut recordings, online, carom_view::simulate::report);
    output::write(&report, &args.report)?;
    if !args.report.quiet {
        let layout = Layout { lines: ROWS, ..Layout::default() };
        eprint!("{}", output::text(&report, &args.report, &layout, &std::io::stderr()));
    }
    Ok(())
}
