//! Options.

use carom_collect::Trial;
use carom_study::count::{CacheEvent, Event, Grain, Quantity};
use clap::{Args, Subcommand, ValueEnum};

use super::{
    predict::PredictArgs,
    series::{Parameter, parameter},
};
use crate::options::{EventList, LEAST_ACCESSES, LimitArgs, OrAuto, OutputArgs, ProgramArgs, events, trial};

const COUNT_EXAMPLES: &str = "Examples:
  carom count ./app --threads 8
  carom count --per-thread ./app
  carom count -r 7 ./app                        seven runs: how much they differ, and how long they take
  carom count --vs './app-old --fast' -- ./app --fast
  carom count --simulate-caches --vs ./app-old -- ./app       cache misses too, by simulated caches
  carom count --all -r 5 ./app                  everything that this machine can count of it
  carom count -e cpu/cache-misses/,power/energy-pkg/ ./app    events of PMUs
  carom count --preset coherence ./app          whether threads take cache lines from each other often enough to matter
  carom count --param threads=1,2,4,8 -- ./app --threads {threads}
  carom count predict --param n=1000..128000*2 --at n=1024000 -- ./sort {n}
  carom count --by function -e instructions,calls ./app       which functions execute them
  carom count --after 10 --for 2 ./server
  carom count --json out.json --csv tables ./app

The program's output and exit status stay its own; the report goes to standard error. Where a program runs several times, its
output is dropped, and its input is empty or a file that every run reads from the beginning.";

/// `carom count`.
#[derive(Debug, Args)]
#[command(after_help = COUNT_EXAMPLES, args_conflicts_with_subcommands = true, subcommand_negates_reqs = true,
          mut_arg("program", |program| program.required(false).required_unless_present("list")))]
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
    /// Count only these, such as time,instructions,peak-memory, tracepoints of the kernel, such as sched:sched_switch,
    /// or events of PMUs by sysfs or libpfm, such as cpu/event=0xc0,umask=1/u, power/energy-pkg/ or
    /// skl::INST_RETIRED:ANY_P
    #[arg(short, long, value_name = "EVENTS", value_parser = events, conflicts_with_all = ["trial", "per_thread"])]
    pub events: Vec<EventList>,
    /// Count every event that this machine can count of the program, also those of its PMUs: in groups that fit the
    /// counters, one run for each. Tracepoints, of which there are thousands, and simulated caches are left out
    #[arg(long, conflicts_with_all = ["trial", "per_thread", "events", "preset"])]
    pub all: bool,
    /// Count the events of PMUs in one run, in which they take turns where there are more of them than counters: their
    /// values are estimates then, and the report has the part of the time for which each was counted
    #[arg(long, conflicts_with_all = ["trial", "per_thread"])]
    pub multiplex: bool,
    /// Simulate this machine's caches and TLB with every access of the counted runs, and count misses and invalidations: modelled
    /// values, for several times the time of a counted run
    #[arg(long, conflicts_with_all = ["trial", "per_thread"])]
    pub simulate_caches: bool,
    /// Answer one question with the events that it needs. coherence: whether cores wait for lines that others have written, by
    /// simulated caches
    #[arg(long, value_enum, value_name = "NAME", conflicts_with_all = ["trial", "per_thread"])]
    pub preset: Option<Preset>,
    /// List the events with what they are: all, or those with PATTERN in their name or description
    #[arg(long, value_name = "PATTERN", num_args = 0..=1, default_missing_value = "", conflicts_with = "program")]
    pub list: Option<String>,
    /// With --list: the events of this model of a processor, with their encodings, such as skl, amd64_fam17h_zen2 or arm_n1
    #[arg(long, value_name = "NAME", requires = "list")]
    pub pmu: Option<String>,
    /// What fails.
    #[command(flatten)]
    pub limits: LimitArgs,
    /// Go on where a run ends with a status that is not 0
    #[arg(long)]
    pub ignore_failure: bool,
}

/// A question that a few events answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Preset {
    /// Whether cores wait for lines that others have written, by simulated caches
    Coherence,
}

impl Preset {
    fn events(self) -> impl Iterator<Item = Quantity> {
        let counted = [Event::Instructions, Event::Loads, Event::Stores, Event::Atomics];
        let simulated = match self {
            Self::Coherence => CacheEvent::COHERENCE,
        };
        counted.map(Quantity::Counted).into_iter().chain(simulated.map(Quantity::Simulated))
    }
}

impl SeriesArgs {
    /// Whether one of these options asks for a series.
    pub fn is_asked(&self) -> bool {
        self.all
            || self.multiplex
            || self.vs.is_some()
            || !self.param.is_empty()
            || !self.wanted().is_empty()
            || self.simulate_caches
            || !self.limits.fail_if.is_empty()
            || self.limits.budget.is_some()
    }

    /// The events that the report is to have; all where it is empty.
    pub fn wanted(&self) -> Vec<Quantity> {
        let mut events: Vec<Quantity> = self.events.iter().flat_map(|list| &list.0).copied().collect();
        events.extend(self.preset.into_iter().flat_map(Preset::events));
        if self.simulate_caches && !events.is_empty() {
            events.extend(CacheEvent::ALL.map(Quantity::Simulated));
        }
        events
    }
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
    /// Count by line of source or by function, exactly, what -e asks for (all, where it asks for nothing), and with
    /// --simulate-caches the misses, too
    #[arg(long, value_enum, value_name = "PLACE")]
    pub by: Option<By>,
}

/// What one place of the source is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum By {
    /// A line
    Line,
    /// A function
    Function,
}

impl By {
    /// As the study has it.
    pub const fn grain(self) -> Grain {
        match self {
            Self::Line => Grain::Line,
            Self::Function => Grain::Function,
        }
    }
}
