//! `carom phases`: the phases of a program by how its memory grows, and what the kernel counts in each.

mod args;

use carom_collect::{Engine, Request, Settings, Streams};
use carom_store::Recording;
use carom_study::recording::Recordings;
use carom_view::model::Report;

pub use args::{PhasesArgs, PhasesLayout};

use crate::{
    failure::{End, Failure},
    load,
    options::one_whole_run,
    output::{self, Layout},
    question::{Question, Recorder},
};

impl Recorder for PhasesArgs {
    fn run(&self) -> Result<End, Failure> {
        output::check(&self.report)?;
        one_whole_run(&self.program)?;
        let outcome = carom_collect::record_footprint(&self.request(), self.interval, &self.events)?;
        if let Some(trouble) = &outcome.trouble {
            eprintln!("carom: the profile is incomplete: {trouble}");
        }
        let shown = Recording::open(&outcome.dir).map_err(Failure::new).and_then(|recording| {
            let report = self.layout.report(&mut Recordings::new(std::slice::from_ref(&recording)));
            output::write(&report, &self.report)?;
            if !self.report.quiet {
                eprint!("{}", output::text(&report, &self.report, &Layout::default(), &std::io::stderr()));
                eprintln!("Profile: {} (print again: carom report)", outcome.dir.display());
            }
            Ok(())
        });
        if let Err(failure) = shown {
            // The program has run: carom ends as it did.
            eprintln!("carom: {failure}; the profile is in {}", outcome.dir.display());
        }
        Ok(End::Program(outcome.exit))
    }
}

impl PhasesArgs {
    fn request(&self) -> Request {
        Request {
            command: "phases".into(),
            questions: Vec::new(),
            argv: self.program.program.clone(),
            dir: self.program.output.clone(),
            settings: Settings::of(Engine::Burst),
            reason: "reads /proc, and does not touch the program".into(),
            time_memory: false,
            memory: None,
            streams: Streams::Own,
            targets: Vec::new(),
            series: None,
            accesses: None,
        }
    }
}

impl Question for PhasesLayout {
    fn command(&self) -> &'static str {
        "phases"
    }

    fn report(&self, recordings: &mut Recordings<'_>) -> Report {
        load::report(recordings, &self.study(), carom_view::phases::report)
    }
}
