//! What every recording command does: run the program under the agents, then report.

use carom_collect::{ControlSettings, Request};
use carom_store::Recording;

use crate::{
    cli::{OutputArgs, ProgramArgs},
    failure::{End, Failure},
    load,
    output::{self, Layout},
};

/// What to record, and how to show it.
pub struct Job<'a> {
    /// The subcommand, for the manifest.
    pub command: &'static str,
    /// The program, and where its profile goes.
    pub program: &'a ProgramArgs,
    /// What the agents are to do.
    pub settings: ControlSettings,
    /// Why this engine.
    pub reason: String,
    /// Where the report goes.
    pub output: &'a OutputArgs,
    /// How the report is laid out.
    pub layout: Layout,
}

/// Records the program and reports.
///
/// # Errors
/// The program cannot be profiled; it has not run then.
pub fn run(job: Job<'_>) -> Result<End, Failure> {
    let outcome = carom_collect::record(&Request {
        command: job.command.into(),
        argv: job.program.program.clone(),
        dir: job.program.output.clone(),
        settings: job.settings,
        reason: job.reason,
    })?;
    if let Some(trouble) = &outcome.trouble {
        eprintln!("carom: the profile is incomplete: {trouble}");
    }
    // The program has run: from here on its end is ours, whatever becomes of the report.
    if let Err(failure) = report(job.output, &job.layout, &outcome.dir) {
        eprintln!("carom: {failure}; the profile is in {}", outcome.dir.display());
    }
    Ok(End::Program(outcome.exit))
}

fn report(args: &OutputArgs, layout: &Layout, dir: &std::path::Path) -> Result<(), Failure> {
    if !output::wanted(args) {
        return Ok(());
    }
    let recording = Recording::open(dir).map_err(Failure::new)?;
    let report = load::report(&[recording])?;
    output::write(&report, args)?;
    if !args.quiet {
        eprint!("{}", output::text(&report, args, layout, &std::io::stderr()));
        eprintln!("Profile: {} (print again: carom report)", dir.display());
    }
    Ok(())
}
