//! The command line.

mod reuse;
mod window;

use std::path::PathBuf;

pub use reuse::{Budget, ReuseArgs, ReuseLayout, WatchArg};
pub use window::WindowArgs;

use carom_collect::Trial;
use clap::{Args, Parser, Subcommand, ValueEnum};

/// See how a multithreaded program moves its data between threads, caches and memory.
#[derive(Debug, Parser)]
#[command(
    name = "carom",
    version,
    max_term_width = 100,
    subcommand_required = true,
    arg_required_else_help = true
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Which threads bounce which cache lines: true and false sharing, by line, variable and source line
    Share(ShareArgs),
    /// How many instructions, loads, stores, bytes, jumps, calls and system calls each thread executes, exactly
    Count(CountArgs),
    /// How far apart accesses to the same data are, and what caches of each size would miss
    Reuse(Box<ReuseArgs>),
    /// Print recorded profiles again, or several as one
    Report(ReportArgs),
    /// What this machine and this user can do, and what to do about the rest
    Doctor(crate::doctor::Args),
    /// Print the flags that link the agent into a static program
    #[command(after_help = LINK_EXAMPLES)]
    LinkFlags,
    /// Print a shell's completions
    #[command(hide = true)]
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Write the manual pages
    #[command(hide = true)]
    Man {
        /// Where to.
        dir: PathBuf,
    },
}

/// Accesses between two samples at least, on average: more than a block of translated code has.
pub const LEAST_ACCESSES: u64 = 100;

const LINK_EXAMPLES: &str = "Example:
  cc -static -pthread app.c $(carom link-flags) -o app && carom share -- ./app

Such programs are sampled by the burst engine.";

const SHARE_EXAMPLES: &str = "Examples:
  carom share -- ./app --threads 8
  carom share --html report.html -- ./app       a report for the browser
  carom share --objects -- ./app                name heap objects by where they were allocated
  carom share --budget 1 -- ./server            on a production machine
  carom share --json out.json -- make -j8       children are followed
  carom share --engine burst -- ./app           by time, at a few percent of overhead
  carom share --period 100000 -- ./app          sample every 100,000th load and store

The program's output and exit status stay its own; the report goes to standard error.";

/// `carom share`.
#[derive(Debug, Args)]
#[command(after_help = SHARE_EXAMPLES)]
pub struct ShareArgs {
    /// What observes the accesses; auto: translate, but burst where code cannot be translated, or with a period in time,
    /// --rate, --budget or --delivery
    #[arg(long, value_enum, default_value_t = EngineArg::Auto)]
    pub engine: EngineArg,
    /// The most that sampling (burst), or watching what samples miss (translate), may add to the program's CPU time, in
    /// percent [default: 5]; what translation itself costs is not in it
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub budget: Option<f64>,
    /// From one sample to the next, on average: thread CPU time with its unit, such as 1ms or 500us (burst), or a
    /// number of loads and of stores (translate)
    #[arg(long, value_name = "TIME|N", value_parser = period, conflicts_with = "rate")]
    pub period: Option<Period>,
    /// Loads from one sampled load to the next, on average; 0: none (translate) [default: --period]
    #[arg(long, value_name = "N")]
    pub load_period: Option<u64>,
    /// Stores from one sampled store to the next, on average; 0: none (translate) [default: --period]
    #[arg(long, value_name = "N")]
    pub store_period: Option<u64>,
    /// Samples a second of thread CPU time (burst)
    #[arg(long, value_name = "HZ", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub rate: Option<u32>,
    /// Follow heap allocations, so that objects are named by where they were allocated
    #[arg(long)]
    pub objects: bool,
    /// With --objects: leave out allocations smaller than this
    #[arg(long, value_name = "BYTES", default_value_t = 0, requires = "objects")]
    pub objects_from: u64,
    /// What watches the lines that other threads have written; auto: registers where they can be had, else software
    #[arg(long, value_enum, default_value_t = WatchArg::Auto)]
    pub watch: WatchArg,
    /// Debug registers per thread, for sensitivity studies
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=4))]
    pub watchpoints: u32,
    /// Slots of the bulletin board, for sensitivity studies
    #[arg(long, value_name = "N", default_value_t = 127, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub board: u32,
    /// Step samples go up to this many instructions on
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=4096), hide_short_help = true)]
    pub max_steps: u32,
    /// How samples reach the program's threads; for tests
    #[arg(long, value_enum, default_value_t = DeliveryArg::Auto, hide_short_help = true)]
    pub delivery: DeliveryArg,
    /// When the program is observed.
    #[command(flatten)]
    pub window: WindowArgs,
    /// How the report is laid out.
    #[command(flatten)]
    pub layout: ShareLayout,
    /// Where the report goes.
    #[command(flatten)]
    pub report: OutputArgs,
    /// What to run.
    #[command(flatten)]
    pub program: ProgramArgs,
}

const COUNT_EXAMPLES: &str = "Examples:
  carom count -- ./app --threads 8
  carom count --per-thread -- ./app
  carom count --after 10 --for 2 -- ./server
  carom count --json out.json --csv tables -- ./app

The program's output and exit status stay its own; the report goes to standard error.";

/// `carom count`.
#[derive(Debug, Args)]
#[command(after_help = COUNT_EXAMPLES)]
pub struct CountArgs {
    /// What is done instead of counting, to measure what a part of the engine costs by itself
    #[arg(long, value_enum, default_value_t = TrialArg::Counts, hide_short_help = true)]
    pub trial: TrialArg,
    /// The trial of samples takes one load and one store in so many
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(LEAST_ACCESSES..),
          hide_short_help = true)]
    pub trial_period: u64,
    /// When the program is observed.
    #[command(flatten)]
    pub window: WindowArgs,
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

/// Options of every command that records.
#[derive(Debug, Args)]
pub struct ProgramArgs {
    /// Where the profile goes [default: PROGRAM.N.carom]
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "PROGRAM ARGS")]
    pub program: Vec<String>,
}

const REPORT_EXAMPLES: &str = "Examples:
  carom report app.1.carom
  carom report --html all.html rank0.1.carom rank1.1.carom";

/// `carom report`.
#[derive(Debug, Args)]
#[command(after_help = REPORT_EXAMPLES)]
pub struct ReportArgs {
    /// Profiles; several are merged into one report
    #[arg(required = true, value_name = "DIR")]
    pub profiles: Vec<PathBuf>,
    /// How a report of sharing is laid out.
    #[command(flatten)]
    pub share: ShareLayout,
    /// How a report of counts is laid out.
    #[command(flatten)]
    pub count: CountLayout,
    /// How a report of reuse is made.
    #[command(flatten)]
    pub reuse: ReuseLayout,
    /// Where the report goes.
    #[command(flatten)]
    pub report: OutputArgs,
}

/// Options of every command that reports.
#[derive(Debug, Args)]
pub struct OutputArgs {
    /// Write the report as JSON (schema: docs/schema/report.schema.json)
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write the report as one self-contained page
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Write the report's tables as CSV files into this directory
    #[arg(long, value_name = "DIR")]
    pub csv: Option<PathBuf>,
    /// Colours
    #[arg(long, value_enum, default_value_t = Colour::Auto, value_name = "WHEN")]
    pub color: Colour,
    /// Print no report
    #[arg(short, long)]
    pub quiet: bool,
}

/// How a report of sharing is printed.
#[derive(Debug, Args)]
pub struct ShareLayout {
    /// Contended lines to print
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub top: usize,
    /// Print the matrix from writer to later accessor, not both directions together
    #[arg(long)]
    pub directed: bool,
}

/// How a report of counts is printed.
#[derive(Debug, Args)]
pub struct CountLayout {
    /// Print the counts of every thread
    #[arg(long)]
    pub per_thread: bool,
}

/// Engines by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EngineArg {
    /// The best that works here
    Auto,
    /// A timer and a few instructions around each interrupt; needs no PMU
    Burst,
    /// Translated code that counts and samples its own accesses; needs no PMU and no perf events
    Translate,
}

/// From one sample to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Period {
    /// Thread CPU time, in nanoseconds.
    Time(u64),
    /// Loads, and stores.
    Accesses(u64),
}

/// Deliveries by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DeliveryArg {
    /// The best that works here
    Auto,
    /// perf events with sigtrap (Linux 5.18)
    Sigtrap,
    /// perf events with F_SETSIG
    Setsig,
    /// POSIX timers, no watchpoints
    PosixTimer,
}

/// Parts of the translate engine, for measuring what they cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TrialArg {
    /// No trial: count
    Counts,
    /// Translate only; all counts are 0
    Translation,
    /// Count, and write every access into the thread's buffer, over and over
    Stream,
    /// As stream, and each thread adds up the addresses that it has written
    Checksums,
    /// Count, and take samples that nobody keeps (see --trial-period)
    Samples,
}

impl TrialArg {
    /// What the agents are to do.
    pub fn trial(self) -> Trial {
        match self {
            Self::Counts => Trial::Counts,
            Self::Translation => Trial::Translation,
            Self::Stream => Trial::Stream,
            Self::Checksums => Trial::Checksums,
            Self::Samples => Trial::Samples,
        }
    }
}

/// When to colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Colour {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

fn percent(text: &str) -> Result<f64, String> {
    let value: f64 = text.trim_end_matches('%').parse().map_err(|_| "not a number".to_owned())?;
    if (0.1..=90.0).contains(&value) { Ok(value) } else { Err("must be between 0.1 and 90".to_owned()) }
}

/// Kernel's floor for software clock events, 10 us; above a minute nothing is sampled any more.
const PERIODS_NS: std::ops::RangeInclusive<u64> = 10_000..=60_000_000_000;

/// Without a unit a period is a number of accesses.
fn period(text: &str) -> Result<Period, String> {
    match text.parse() {
        Ok(0) => Err("must be at least 1".to_owned()),
        Ok(number) => Ok(Period::Accesses(number)),
        Err(_) => duration_ns(text).map(Period::Time),
    }
}

fn duration_ns(text: &str) -> Result<u64, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let scale = match unit.trim() {
        "ns" => 1.0,
        "us" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        _ => return Err("needs a unit: ns, us, ms or s".to_owned()),
    };
    let value: f64 = number.parse().map_err(|_| "not a number".to_owned())?;
    let ns = (value * scale) as u64;
    if PERIODS_NS.contains(&ns) { Ok(ns) } else { Err("must be between 10us and 60s".to_owned()) }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn durations_need_units_and_bounds() {
        assert_eq!(duration_ns("1.5ms"), Ok(1_500_000));
        assert_eq!(duration_ns("250us"), Ok(250_000));
        for bad in ["1", "1ns", "2h", "ms", "61s", "1.2.3ms"] {
            assert!(duration_ns(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn periods_without_a_unit_are_accesses() {
        assert_eq!(period("500000"), Ok(Period::Accesses(500_000)));
        assert_eq!(period("3ms"), Ok(Period::Time(3_000_000)));
        for bad in ["0", "1.5", "-1", "3h", ""] {
            assert!(period(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn budgets_have_bounds() {
        assert_eq!(percent("5%"), Ok(5.0));
        for bad in ["0", "100", "x", "NaN", "-1"] {
            assert!(percent(bad).is_err(), "{bad}");
        }
    }
}
