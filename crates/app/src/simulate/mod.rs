//! `carom simulate`: what caches do with every access of a program.

mod args;
mod compare;
mod recorded;
mod text;

use std::{os::unix::fs::PermissionsExt, path::Path};

use carom_store::Recording;
use carom_study::{recording::Recordings, simulate::SimulateStudy};
use carom_view::model::Report;

pub use args::{SimulateArgs, SimulateLayout, machine};
pub use recorded::settings;

use crate::{
    failure::{End, Failure},
    load,
    output::{self, Layout},
    progress,
    question::{Question, Recorder},
    record::{self, Job},
};

/// Why this engine.
pub const REASON: &str = "sees every access";

impl Recorder for SimulateArgs {
    fn run(&self) -> Result<End, Failure> {
        let what = self.program.program.first().map_or("", String::as_str);
        match Source::of(what) {
            Source::Program if self.compare.is_some() || self.gate.is_some() => {
                Err(Failure::new(format!("{what} is no reduced trace, but a program: record it first")))
            }
            Source::Program => self.record(),
            Source::Profile => self.one_source(what)?.show(load::expanded(Path::new(what))),
            Source::Text => self.one_source(what)?.import(what),
        }
    }
}

/// Where the accesses come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Program,
    Profile,
    Text,
}

impl Source {
    /// A directory is a profile, and a file that cannot be executed is a text.
    fn of(what: &str) -> Self {
        let path = Path::new(what);
        match path.metadata() {
            _ if what == "-" => Self::Text,
            Ok(found) if found.is_dir() => Self::Profile,
            Ok(found) if found.is_file() && found.permissions().mode() & 0o111 == 0 => Self::Text,
            _ => Self::Program,
        }
    }
}

impl SimulateArgs {
    fn record(&self) -> Result<End, Failure> {
        let settings = settings(&self.program, &self.objects).map_err(Failure::new)?;
        record::run(Job {
            layout: Layout { lines: self.top, ..Layout::default() },
            ..Job::new(&self.layout, &self.program, &self.report, settings, REASON)?
        })
    }

    /// Refuses options of programs, and what comes behind a profile or a text as arguments do behind a program.
    fn one_source(&self, what: &str) -> Result<&Self, Failure> {
        let program = &self.program;
        let behind = program.program.get(1..).unwrap_or_default();
        let wrong = match behind.first() {
            Some(word) if word.starts_with('-') => {
                let options = shlex::try_join(behind.iter().map(String::as_str)).unwrap_or_default();
                format!("options come before it: carom simulate {options} {what}")
            }
            Some(_) => "it takes no arguments, and only one profile or text is simulated at a time".into(),
            None if program.runs.is_some() || program.window.is_asked() => {
                "--runs, --after and --for are for programs only".into()
            }
            None => return Ok(self),
        };
        Err(Failure::new(format!("{what} is no program: {wrong}")))
    }

    /// Simulates with recorded accesses, and reports to standard output.
    fn show(&self, dirs: Vec<std::path::PathBuf>) -> Result<End, Failure> {
        output::check(&self.report)?;
        let recordings: Result<Vec<Recording>, _> = dirs.iter().map(|dir| Recording::open(dir)).collect();
        let recordings = recordings.map_err(Failure::new)?;
        let full = self.compare.as_deref();
        let against = full.map(|full| compare::against(full, &self.layout, self.top)).transpose()?;
        let study = SimulateStudy { against, ..self.layout.study() };
        let mut report =
            load::report(&mut Recordings::new(&recordings), &study, carom_view::simulate::report);
        progress::clear();
        let gate = self.gate.as_deref().map(compare::gate).transpose()?;
        report.quality.warnings.extend(gate.flatten());
        if report.simulate.as_ref().is_some_and(|found| found.machine.is_none()) {
            return Err(Failure::new(report.verdict.trim_end_matches('.')));
        }
        let refused = report.quality.warnings.iter().find(|warning| warning.code == "what-if");
        if let Some(refused) = refused {
            return Err(Failure::new(refused.text.trim_end_matches('.')));
        }
        output::write(&report, &self.report)?;
        if !self.report.quiet {
            let layout = Layout { lines: self.top, ..Layout::default() };
            output::print(&output::text(&report, &self.report, &layout, &std::io::stdout()))?;
        }
        Ok(End::Success)
    }

    /// Makes a profile of a text, which stays if it was asked for with `-o`.
    fn import(&self, file: &str) -> Result<End, Failure> {
        if let Some(dir) = &self.program.output {
            text::import(file, dir)?;
            return self.show(vec![dir.clone()]);
        }
        let dir = tempfile::tempdir().map_err(Failure::new)?;
        let profile = dir.path().join("imported.carom");
        text::import(file, &profile)?;
        self.show(vec![profile])
    }
}

impl Question for SimulateLayout {
    fn command(&self) -> &'static str {
        "simulate"
    }

    fn answers(&self, command: &str) -> bool {
        matches!(command, "simulate" | "trace")
    }

    fn report(&self, recordings: &mut Recordings<'_>) -> Report {
        let report = load::report(recordings, &self.study(), carom_view::simulate::report);
        progress::clear();
        report
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_tell_what_they_are() {
        let dir = tempfile::tempdir().unwrap();
        let text = dir.path().join("text");
        std::fs::write(&text, "").unwrap();
        let source = |path: &Path| Source::of(&path.to_string_lossy());
        assert_eq!((source(dir.path()), source(&text)), (Source::Profile, Source::Text));
        std::fs::set_permissions(&text, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(source(&text), Source::Program);
        assert_eq!((Source::of("-"), Source::of("a-program-in-path")), (Source::Text, Source::Program));
    }
}
