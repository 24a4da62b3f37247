//! `carom report`: what was recorded, once more.

use carom_store::Recording;

use crate::{
    cli::ReportArgs,
    failure::{End, Failure},
    load::{self, Choices},
    output::{self, Layout},
    reuse::Peers,
};

/// Prints one report over all profiles.
///
/// # Errors
/// A profile cannot be read, or a file not written.
pub fn run(args: &ReportArgs) -> Result<End, Failure> {
    output::check(&args.report)?;
    let recordings: Result<Vec<Recording>, _> =
        args.profiles.iter().map(|dir| Recording::open(dir)).collect();
    let choices = Choices { reuse: args.reuse.options(), peers: Peers::of(&args.reuse)? };
    let report = load::report(&recordings.map_err(Failure::new)?, &choices)?;
    output::write(&report, &args.report)?;
    let compared = choices.peers.serve(&report)?;
    if !args.report.quiet {
        let layout = Layout {
            lines: args.share.top,
            directed: args.share.directed,
            per_thread: args.count.per_thread,
        };
        print!("{}{compared}", output::text(&report, &args.report, &layout, &std::io::stdout()));
    }
    Ok(End::Success)
}
