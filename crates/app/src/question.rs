//! What every question is to the command line: how it is recorded, and how it is reported on.

use carom_store::Recording;
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

    /// Studies recordings as one. `parts`: how other questions are reported on, for one that asks them, too.
    fn report(&self, recordings: &[Recording], parts: &[&dyn Question]) -> Report;

    /// How the text is laid out.
    fn lay_out(&self, layout: &mut Layout);

    /// Files of other tools, to be read before anything runs.
    ///
    /// # Errors
    /// One cannot be read.
    fn peers(&self) -> Result<Peers, Failure> {
        Ok(Peers::default())
    }
}
