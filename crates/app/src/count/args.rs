//! Options.

use carom_collect::Trial;
use carom_study::count::Quantity;
use clap::{Args, Subcommand};

use super::{
    predict::PredictArgs,
    series::{Parameter, parameter},
};
use crate::options::{LEAST_ACCESSES, LimitArgs, OrAuto, OutputArgs, ProgramArgs, event, trial};

const COUNT_EXAMPLES: &str = "Examples:
  carom count ./app --threads 8
  carom count --per-thread ./app
  carom count -r 7 ./app                        seven runs: how much they differ, and how long they take
  carom count --vs './app-old --fast' -- ./app --fast
  carom count --param threads=1,2,4,8 -- ./app --threads {threads}
  carom count predict --param n=1000..128000*2 --at n=1024000 -- ./sort {n}
  carom count --after 10 --for 2 ./server
  carom count --json out.json --csv tables ./app

The program's output and exit status stay its own; the report goes to standard error. Where a program runs several times, its
output is dropped, and its input is empty or a file that every run reads from the beginning.";

/// `carom count`.
#[derive(Debug, Args)]
#[command(after_help = COUNT_EXAMPLES, args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct CountArgs {
    /// What else to do with counts.
    #[command(subcommand)]
    pub action: Option<CountAction>,
    /// Run a part of the engine instead of counting, to measure its cost
    #[arg(long, value_parser = trial(), default_value = "counts", hide_short_help = true)]
    pub trial: OrAuto<Trial>,
    /// With --trial samples: mean number of loads, and of stores, between samples
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(LEAST_ACCESSES..),
          hide_short_help = true)]
    pub trial_period: u64,
    /// Several runs.
    #[command(flatten)]
    pub series: SeriesArgs,
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

/// What else is done with counts.
#[derive(Debug, Subcommand)]
pub enum CountAction {
    /// Predict what a larger size will take: how counts grow with it, and what one of each costs
    Predict(Box<PredictArgs>),
}

/// Options of several runs.
#[derive(Debug, Args)]
pub struct SeriesArgs {
    /// Compare with this command, which is the one before: both run several times in random order, 7 times each unless -r says
    /// otherwise
    #[arg(long, value_name = "COMMAND", conflicts_with_all = ["trial", "per_thread"])]
    pub vs: Option<String>,
    /// Run the program with each value of a parameter, which stands as {NAME} in its arguments, and tell how events follow it:
    /// NAME=1,2,4,8 or 1..8 or 0..100:20 (in steps) or 1..1024*2 (doubling); 3 times each unless -r says otherwise
    #[arg(long, value_name = "NAME=VALUES", value_parser = parameter, conflicts_with_all = ["trial", "per_thread", "vs"])]
    pub param: Vec<Parameter>,
    /// Count only these, such as time,instructions,peak-memory
    #[arg(short, long, value_name = "EVENTS", value_delimiter = ',', value_parser = event, conflicts_with_all = ["trial", "per_thread"])]
    pub events: Vec<Quantity>,
    /// List the events with what they are: all, or those with PATTERN in their name or description
    #[arg(long, exclusive = true, value_name = "PATTERN", num_args = 0..=1, default_missing_value = "")]
    pub list: Option<String>,
    /// What fails.
    #[command(flatten)]
    pub limits: LimitArgs,
    /// Go on where a run ends with a status that is not 0
    #[arg(long)]
    pub ignore_failure: bool,
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
