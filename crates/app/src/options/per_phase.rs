//! Whether a question is asked of each phase of the run.

use std::time::Duration;

use clap::Args;

use super::ProgramArgs;
use crate::failure::Failure;

/// The time between two readings of the memory, as `carom phases` has it by default.
const INTERVAL: Duration = Duration::from_millis(1);

/// Whether a question is asked of each phase of the run.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct PerPhaseArgs {
    /// Record how much memory the program has over time as well, find the phases of the run by how that grows (as carom phases
    /// does), and answer for each of them
    #[arg(long)]
    pub per_phase: bool,
}

impl PerPhaseArgs {
    /// The time between two readings of the memory, where phases are wanted.
    ///
    /// # Errors
    /// Other options leave no whole run to divide.
    pub fn interval(self, program: &ProgramArgs) -> Result<Option<Duration>, Failure> {
        if self.per_phase {
            one_whole_run(program)?;
        }
        Ok(self.per_phase.then_some(INTERVAL))
    }
}

/// Refuses what leaves no run, or several, to divide.
///
/// # Errors
/// Several runs are wanted, or a part of one.
pub fn one_whole_run(program: &ProgramArgs) -> Result<(), Failure> {
    if program.runs.is_some() || program.window.is_asked() {
        return Err(Failure::new("phases are those of one whole run: leave out --runs, --after and --for"));
    }
    Ok(())
}
