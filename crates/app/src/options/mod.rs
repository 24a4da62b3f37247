//! Options that several commands have.

mod common;
mod values;
mod window;

pub use common::{Colour, OutputArgs, ProgramArgs};
pub use values::{EngineArg, LEAST_ACCESSES, Period, WatchArg, percent, period};

/// The options of one subcommand, as `carom SUBCOMMAND OPTIONS -- app` would have them.
#[cfg(test)]
pub fn parsed<A: clap::Args>(options: &[&str]) -> A {
    let line = ["carom"].iter().chain(options).chain(&["--", "app"]);
    let matches = A::augment_args(clap::Command::new("carom")).try_get_matches_from(line).unwrap();
    A::from_arg_matches(&matches).unwrap()
}
