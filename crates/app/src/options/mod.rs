//! Options that several commands have.

mod common;
mod defaults;
mod events;
mod limits;
mod named;
mod objects;
mod per_phase;
mod period;
mod values;
mod window;

pub use common::{Colour, OutputArgs, ProgramArgs};
pub use defaults::{BOARD_SLOTS, MAX_STEPS, REGISTERS, REUSE_SLOTS, SHARE_PERIOD_NS};
pub use events::{EventList, events};
pub use limits::LimitArgs;
pub use named::{AUTO, OrAuto, delivery, engine, trial, watch, watch_of_reuse};
pub use objects::ObjectArgs;
pub use per_phase::{PerPhaseArgs, one_whole_run};
pub use period::PeriodArgs;
pub use values::{LEAST_ACCESSES, Period, percent};
pub use window::WindowArgs;

/// The options of one subcommand, as `carom SUBCOMMAND OPTIONS -- app` would have them.
#[cfg(test)]
pub fn parsed<A: clap::Args>(options: &[&str]) -> A {
    let line = ["carom"].iter().chain(options).chain(&["--", "app"]);
    let matches = A::augment_args(clap::Command::new("carom")).try_get_matches_from(line).unwrap();
    A::from_arg_matches(&matches).unwrap()
}
