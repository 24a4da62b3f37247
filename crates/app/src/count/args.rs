//! Options.

use carom_collect::Trial;
use clap::Args;

use crate::options::{LEAST_ACCESSES, OrAuto, OutputArgs, ProgramArgs, trial};

const COUNT_EXAMPLES: &str = "Examples:
  carom count ./app --threads 8
  carom count --per-thread ./app
  carom count --after 10 --for 2 ./server
  carom count --json out.json --csv tables ./app

The program's output and exit status stay its own; the report goes to standard error.";

/// `carom count`.
#[derive(Debug, Args)]
#[command(after_help = COUNT_EXAMPLES)]
pub struct CountArgs {
    /// Run a part of the engine instead of counting, to measure its cost
    #[arg(long, value_parser = trial(), default_value = "counts", hide_short_help = true)]
    pub trial: OrAuto<Trial>,
    /// With --trial samples: mean number of loads, and of stores, between samples
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(LEAST_ACCESSES..),
          hide_short_help = true)]
    pub trial_period: u64,
    /// How the report is laid out.
    #[command(flatten)]
    pub layout: CountLayout,
    /// Where the report goes.
    #[command(flatten)]
    pub report: OutputArgs,
    /// What to run.
    #[command(flatten)]
    pub program: ProgramArgs,
}

/// With other questions nothing is added: what is translated is counted.
#[derive(Debug, Args)]
pub struct CountJoin {}

/// How a report of counts is printed.
#[derive(Debug, Args)]
pub struct CountLayout {
    /// Print the counts of every thread
    #[arg(long)]
    pub per_thread: bool,
}
