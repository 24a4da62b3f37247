//! Options.

use carom_base_sys::probe::DeliveryKind;
use carom_collect::{Engine, WatchChoice};
use clap::Args;

use crate::{
    options::{
        AUTO, BOARD_SLOTS, MAX_STEPS, ObjectArgs, OrAuto, OutputArgs, PerPhaseArgs, PeriodArgs, ProgramArgs,
        REGISTERS, delivery, engine, percent, watch,
    },
    trace::{Limit, limit},
};

const SHARE_EXAMPLES: &str = "Examples:
  carom share ./app --threads 8
  carom share --html report.html ./app          a report for the browser
  carom share --budget 1 ./server               on a production machine
  carom share --json out.json make -j8          children are followed
  carom share --engine burst ./app              by time, at a few percent of overhead
  carom share --period 100000 ./app             sample every 100,000th load and store
  carom share --check-remedy ./app              simulate what the remedies would do
  carom share --per-phase ./app                 in each phase of the run

The program's output and exit status stay its own; the report goes to standard error.";

/// `carom share`.
#[derive(Debug, Args)]
#[command(after_help = SHARE_EXAMPLES)]
pub struct ShareArgs {
    /// Engine that observes the accesses; auto: translate, or burst where code cannot be translated or is mostly made while the
    /// program runs (Java, node), and with a period in time, --rate, --budget or --delivery
    #[arg(long, value_parser = engine(), default_value = AUTO)]
    pub engine: OrAuto<Engine>,
    /// Limit on the CPU time that sampling and watching add to the program, in percent; the cost of translation is not
    /// included, nor that of samples whose --period is a number of accesses [default: 5]
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub budget: Option<f64>,
    /// How often to sample.
    #[command(flatten)]
    pub periods: PeriodArgs,
    /// Samples per second of thread CPU time (burst)
    #[arg(long, value_name = "HZ", value_parser = clap::value_parser!(u32).range(1..=10_000), conflicts_with = "period")]
    pub rate: Option<u32>,
    /// Which heap objects are named.
    #[command(flatten)]
    pub objects: ObjectArgs,
    /// How accesses to lines that other threads have written are detected; auto: by registers where available, else in
    /// software
    #[arg(long, value_parser = watch(), default_value = AUTO)]
    pub watch: OrAuto<WatchChoice>,
    /// Debug registers per thread, for sensitivity studies
    #[arg(long, value_name = "N", default_value_t = REGISTERS, value_parser = clap::value_parser!(u32).range(1..=i64::from(REGISTERS)))]
    pub watchpoints: u32,
    /// Slots of the bulletin board, for sensitivity studies
    #[arg(long, value_name = "N", default_value_t = BOARD_SLOTS, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub board: u32,
    /// Most instructions from an interrupt to its step sample
    #[arg(long, value_name = "N", default_value_t = MAX_STEPS, value_parser = clap::value_parser!(u32).range(1..=4096), hide_short_help = true)]
    pub max_steps: u32,
    /// How signals reach the program's threads; for tests
    #[arg(long, value_parser = delivery(), default_value = AUTO, hide_short_help = true)]
    pub delivery: OrAuto<DeliveryKind>,
    /// Run the program a second time, without output, and simulate its first accesses with the data laid out as the remedies of
    /// the worst findings ask for: what does not help is withdrawn. N accesses: a number, also with k, M or G [default: 50M]
    #[arg(long, value_name = "N", value_parser = limit, num_args = 0..=1, require_equals = true,
          default_missing_value = "50M", conflicts_with = "runs")]
    pub check_remedy: Option<Limit>,
    /// Whether each phase of the run is reported on.
    #[command(flatten)]
    pub phases: PerPhaseArgs,
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

/// Nothing of sharing's own is chosen where other questions are asked too.
#[derive(Debug, Args)]
pub struct ShareJoin {}

/// How a report of sharing is printed.
#[derive(Debug, Args)]
pub struct ShareLayout {
    /// Contended lines to print
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub top: usize,
    /// Print the matrix by direction, from writer to later accessor, instead of both directions together
    #[arg(long)]
    pub directed: bool,
}
