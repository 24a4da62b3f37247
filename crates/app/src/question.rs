//! What every question is to the command line: how it is recorded, how it is reported on, and how it joins others.

use carom_collect::Settings;
use carom_study::recording::Recordings;
use carom_view::model::Report;

use crate::{
    failure::{End, Failure},
    output::Layout,
    peers::Peers,
};

/// The options of a subcommand that records.
pub trait Recorder {
    /// Records the program and reports.
    ///
    /// # Errors
    /// Before the program runs: it cannot be profiled, options contradict each other, or a report cannot be written where
    /// it should go.
    fn run(&self) -> Result<End, Failure>;
}

/// How a question is reported on: the options that `carom report` shares with the subcommand that records.
pub trait Question {
    /// The subcommand's name, as manifests have it.
    fn command(&self) -> &'static str;

    /// Whether profiles of this subcommand are reported on so.
    fn answers(&self, command: &str) -> bool {
        self.command() == command
    }

    /// Studies recordings as one.
    fn report(&self, recordings: &mut Recordings<'_>) -> Report;

    /// How the text is laid out.
    fn lay_out(&self, _: &mut Layout) {}

    /// Whether the report needs to know how long a load from memory takes, which is measured after the program.
    fn times_memory(&self) -> bool {
        false
    }

    /// Files of other tools, to be read before anything runs.
    ///
    /// # Errors
    /// One cannot be read.
    fn peers(&self) -> Result<Peers, Failure> {
        Ok(Peers::default())
    }
}

/// How a question joins `carom profile`, which records several in one run: the options that it brings along.
pub trait Join {
    /// Adds what the question needs to the settings of the run, in which code is translated. Executed instructions and
    /// accesses are counted anyway.
    fn join(&self, settings: &mut Settings, means: Means);
}

/// What all questions of one run share.
#[derive(Clone, Copy, Debug)]
pub struct Means {
    /// Mean number of loads, and of stores, between sampled ones.
    pub period: u64,
    /// Debug registers of each thread.
    pub registers: u32,
}
