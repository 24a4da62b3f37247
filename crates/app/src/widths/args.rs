//! Options.

use clap::Args;

use crate::options::{LEAST_ACCESSES, OutputArgs, ProgramArgs};

/// `carom widths`.
#[derive(Debug, Args)]
pub struct WidthsArgs {
    /// Mean number of loads between sampled loads, and of stores between sampled stores
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(LEAST_ACCESSES..))]
    pub period: u64,
    /// Where the report goes.
    #[command(flatten)]
    pub report: OutputArgs,
    /// What to run.
    #[command(flatten)]
    pub program: ProgramArgs,
}

/// A report on widths has no options.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct WidthsLayout {}
