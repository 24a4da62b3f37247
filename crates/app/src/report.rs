//! `carom report`: prints recorded profiles again.

use carom_store::Recording;

use crate::{
    cli::ReportArgs,
    failure::{End, Failure},
    load,
    output::{self, Layout},
};

/// Prints one report over all profiles.
///
/// # Errors
/// A profile cannot be read, or a file not written.
pub fn run(args: &ReportArgs) -> Result<End, Failure> {
    output::check(&args.report)?;
    let recordings: Result<Vec<Recording>, _> =
        args.profiles.iter().map(|dir| Recording::open(dir)).collect();
    let recordings = recordings.map_err(Failure::new)?;
    let questions = args.layouts.all();
    let question = load::question(&recordings, &questions)?;
    let peers = question.peers()?;
    let report = question.report(&recordings, &questions);
    output::write(&report, &args.report)?;
    let compared = peers.serve(&report)?;
    if !args.report.quiet {
        let mut layout = Layout::default();
        questions.iter().for_each(|each| each.lay_out(&mut layout));
        print!("{}{compared}", output::text(&report, &args.report, &layout, &std::io::stdout()));
    }
    Ok(End::Success)
}
