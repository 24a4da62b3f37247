//! Options.

use std::path::PathBuf;

use carom_study::simulate::MachineChoice;
use clap::{Args, ValueEnum};

use crate::{
    options::{ObjectArgs, OutputArgs, ProgramArgs},
    simulate::machine,
};

const EXAMPLES: &str = "Examples:
  carom trace ./app
  carom trace -o trace.carom --after 1s --for 200ms ./app
  carom trace --mode lossy --sample 4 ./app      loads that miss, and stores, one in four
  carom trace --mode targeted --stores 0.1 ./app runs it twice; see docs/simulating.md
  carom trace --limit 1G ./app                   more than the first 250 million accesses
  carom trace --simulate ./app                   keeps nothing, and reports as carom simulate does
  carom simulate trace.carom
  carom trace --check trace.carom
  carom trace --print trace.carom > accesses.txt
  carom trace --parquet trace.carom > accesses.parquet

The program's output and exit status stay its own; what was kept is told on standard error.";

/// Which accesses are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Mode {
    /// All
    Full,
    /// Loads that take long, and stores
    Lossy,
    /// Loads that take long, of instructions that a first run has found, and stores
    Targeted,
}

/// Of which accesses a lossy trace has its share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LossyModel {
    /// All
    All,
    /// About a tenth, as the Itanium 2 tracks them: one at a time
    Itanium,
}

/// `carom trace`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct TraceArgs {
    /// Check a recorded profile instead: whether all that it keeps can be read and fits together
    #[arg(long, value_name = "DIR", conflicts_with_all = ["print", "parquet", "program"])]
    pub check: Option<PathBuf>,
    /// Print the accesses that a profile keeps as text instead, in the order of time
    #[arg(long, value_name = "DIR", conflicts_with_all = ["parquet", "program"])]
    pub print: Option<PathBuf>,
    /// Write the accesses that a profile keeps to standard output as Parquet instead, a row for each
    #[arg(long, value_name = "DIR", conflicts_with = "program")]
    pub parquet: Option<PathBuf>,
    /// Which accesses are kept
    #[arg(long, value_enum, default_value_t = Mode::Full, value_name = "MODE")]
    pub mode: Mode,
    /// Loads that take longer than this are kept: cycles of the time-stamp counter [default: as measured, hits of the second
    /// level with --mode lossy, of the third with --mode targeted]
    #[arg(long, value_name = "CYCLES", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub latency: Option<u32>,
    /// With --mode lossy: keep one in this number, of long loads and stores together [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub sample: Option<u32>,
    /// With --mode lossy: what hardware would have tracked [default: all]
    #[arg(long, value_enum, value_name = "MODEL")]
    pub lossy_model: Option<LossyModel>,
    /// With --mode targeted: keep each store with this probability, from 0 to 1 [default: 1]
    #[arg(long, value_name = "P", value_parser = probability)]
    pub stores: Option<f64>,
    /// With --mode targeted: look at the instructions whose loads this profile keeps, instead of running the program twice
    #[arg(long, value_name = "DIR")]
    pub targets: Option<PathBuf>,
    /// Record only what the program does between its calls of `carom_start()` and `carom_stop()`, of `carom.h`
    #[arg(long, conflicts_with_all = ["after", "during", "every"])]
    pub marked: bool,
    /// End the recording with this number of accesses, and let the program run on: a number, also with k, M or G, or none for no
    /// limit [default: 250M; none with --simulate]
    #[arg(long, value_name = "N", value_parser = limit)]
    pub limit: Option<Limit>,
    /// Keep nothing: simulate all accesses while they are made, and report as carom simulate does. MACHINE is host, a machine file, or one
    /// of those that carom simulate includes [default: host]
    #[arg(long, value_name = "MACHINE", num_args = 0..=1, require_equals = true, default_missing_value = "host",
          value_parser = machine, conflicts_with_all = ["check", "print", "parquet", "mode", "output"])]
    pub simulate: Option<MachineChoice>,
    /// Where the report of --simulate goes; without it, -q says nothing of what was kept.
    #[command(flatten)]
    pub report: OutputArgs,
    /// Which heap objects are named.
    #[command(flatten)]
    pub objects: ObjectArgs,
    /// What to run.
    #[command(flatten)]
    pub program: ProgramArgs,
}

/// The most accesses that are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit(pub Option<u64>);

/// Without `--limit`.
const USUAL_LIMIT: u64 = 250_000_000;

impl TraceArgs {
    /// The most accesses that are kept or simulated.
    pub fn most(&self) -> Option<u64> {
        match self.limit {
            Some(Limit(most)) => most,
            None => self.simulate.is_none().then_some(USUAL_LIMIT),
        }
    }
}

/// `1000000`, `50M`, `none`.
pub fn limit(text: &str) -> Result<Limit, String> {
    if text == "none" {
        return Ok(Limit(None));
    }
    let (digits, scale) = match text.strip_suffix(['k', 'M', 'G']) {
        Some(digits) if text.ends_with('k') => (digits, 1_000),
        Some(digits) if text.ends_with('M') => (digits, 1_000_000),
        Some(digits) => (digits, 1_000_000_000),
        None => (text, 1),
    };
    let number = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(scale));
    match number {
        Some(0) => Err("must be at least 1, or none".into()),
        Some(most) => Ok(Limit(Some(most))),
        None => Err("a number such as 1000000 or 50M, or none".into()),
    }
}

fn probability(text: &str) -> Result<f64, String> {
    let value = text.parse().map_err(|_| "not a number".to_owned())?;
    if (0.0..=1.0).contains(&value) { Ok(value) } else { Err("must be from 0 to 1".to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_numbers_or_none() {
        let some = |most| Ok(Limit(Some(most)));
        assert_eq!(
            ["1", "20k", "250M", "2G"].map(limit),
            [some(1), some(20_000), some(250_000_000), some(2_000_000_000)]
        );
        assert_eq!(limit("none"), Ok(Limit(None)));
        for bad in ["0", "", "M", "1T", "-1", "99999999999G"] {
            assert!(limit(bad).is_err(), "{bad}");
        }
    }
}
