//! `carom report`: prints recorded profiles again.

use std::path::PathBuf;

use carom_store::Recording;
use carom_study::recording::Recordings;

use crate::{
    cli::ReportArgs,
    count::series,
    failure::{End, Failure},
    load,
    output::{self, Layout},
    profile::Together,
    question::Question,
};

/// Prints one report over all profiles.
///
/// # Errors
/// A profile cannot be read, or a file not written.
pub fn run(args: &ReportArgs) -> Result<End, Failure> {
    output::check(&args.report)?;
    let dirs: Vec<PathBuf> = args.profiles.iter().flat_map(|dir| load::expanded(dir)).collect();
    let recordings: Result<Vec<Recording>, _> = dirs.iter().map(|dir| Recording::open(dir)).collect();
    let recordings = recordings.map_err(Failure::new)?;
    if series::is_series(&recordings) {
        let (text, end) =
            series::show(&recordings, args.layouts.count.by, &[], &args.report, &std::io::stdout())?;
        if !args.report.quiet {
            output::print(&text)?;
        }
        return Ok(end);
    }
    if !args.different_programs {
        load::one_program(&recordings)?;
    }
    let questions = args.layouts.all();
    let together = Together(&questions);
    let mut known = questions.clone();
    known.push(&together);
    let question = load::question(&recordings, &known)?;
    let peers = question.peers()?;
    let report = question.report(&mut Recordings::new(&recordings));
    output::write(&report, &args.report)?;
    let compared = peers.serve(&report)?;
    if !args.report.quiet {
        let mut layout = Layout::default();
        together.lay_out(&mut layout);
        let text = output::text(&report, &args.report, &layout, &std::io::stdout());
        output::print(&format!("{text}{compared}"))?;
    }
    Ok(End::Success)
}
