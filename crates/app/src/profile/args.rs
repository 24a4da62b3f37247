//! Options of `carom profile`.

use clap::{Args, ValueEnum};

use crate::{
    count::CountLayout,
    options::{LEAST_ACCESSES, OutputArgs, ProgramArgs, percent},
    reuse::{Groups, ReuseLayout, parse_domains},
    share::ShareLayout,
};

const EXAMPLES: &str = "Examples:
  carom profile -- ./app --threads 8
  carom profile --html report.html -- ./app     one page on all questions
  carom profile --only share,reuse -- ./app
  carom profile --skip count --after 10 --for 5 -- ./server

The program's output and exit status stay its own; the report goes to standard error.";

/// The questions that `carom profile` answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Asked {
    /// Which threads bounce which cache lines
    Share,
    /// How far apart accesses to the same data are, and what caches would miss
    Reuse,
    /// How much each thread executes
    Count,
}

impl Asked {
    /// All of them.
    const ALL: [Self; 3] = [Self::Share, Self::Reuse, Self::Count];
}

/// `carom profile`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct ProfileArgs {
    /// Answer only these questions
    #[arg(long, value_enum, value_name = "QUESTION,…", value_delimiter = ',', conflicts_with = "skip")]
    pub only: Vec<Asked>,
    /// Answer all questions but these
    #[arg(long, value_enum, value_name = "QUESTION,…", value_delimiter = ',')]
    pub skip: Vec<Asked>,
    /// Mean number of loads between sampled loads, and of stores between sampled stores
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(LEAST_ACCESSES..))]
    pub period: u64,
    /// Limit on the CPU time that watching sampled data adds to the program, in percent; the cost of translation is not
    /// included
    #[arg(long, value_name = "PERCENT", default_value_t = 10.0, value_parser = percent)]
    pub budget: f64,
    /// Follow heap allocations, so that objects are named by their allocation site
    #[arg(long)]
    pub objects: bool,
    /// Groups of processors or of threads that share a cache, such as 0-1,2-3 or threads:0,1 [default: those of the machine's
    /// last cache]
    #[arg(long, value_name = "GROUPS", value_parser = parse_domains)]
    pub cache_domains: Option<Groups>,
    /// How the report on sharing is laid out.
    #[command(flatten)]
    pub share: ShareLayout,
    /// How the counts are laid out.
    #[command(flatten)]
    pub count: CountLayout,
    /// How the report on reuse is made.
    #[command(flatten)]
    pub reuse: ReuseLayout,
    /// Where the report goes.
    #[command(flatten)]
    pub report: OutputArgs,
    /// What to run.
    #[command(flatten)]
    pub program: ProgramArgs,
}

/// No options of its own: each question has its own.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct ProfileLayout {}

impl ProfileArgs {
    /// The questions to answer.
    pub fn questions(&self) -> Vec<Asked> {
        let only = if self.only.is_empty() { &Asked::ALL[..] } else { &self.only };
        Asked::ALL.into_iter().filter(|each| only.contains(each) && !self.skip.contains(each)).collect()
    }
}
