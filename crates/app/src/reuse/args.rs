//! Options.

use std::path::PathBuf;

use carom_base::LARGEST_PLACE_BYTES;
use carom_base_sys::machine::Machine;
use carom_collect::{Domains, Engine, WatchChoice};
use carom_study::reuse::{Bins, ReuseOptions};
use clap::{Args, ValueEnum};

use super::domains::{self, Groups};
use crate::options::{
    AUTO, ObjectArgs, OrAuto, OutputArgs, PerPhaseArgs, PeriodArgs, ProgramArgs, REUSE_SLOTS, engine,
    percent, watch_of_reuse,
};

const EXAMPLES: &str = "Examples:
  carom reuse ./app --threads 8
  carom reuse --html report.html ./app          curves for the browser
  carom reuse --exact ./app                     every access, 20 to 140 times slower
  carom reuse --exact --sample-rate 0.01 ./app
                                                every access to one line in a hundred
  carom reuse --cache 256K ./app                what a cache of 256 KiB would miss
  carom reuse --runs 5 ./app                    five runs as one
  carom reuse --cache-domains 0-3,4-7 ./app     two shared caches of four processors
  carom reuse --per-phase ./app                 in each phase of the run

The program's output and exit status stay its own; the report goes to standard error.";

/// `carom reuse`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct ReuseArgs {
    /// Engine that observes the accesses
    #[arg(long, value_parser = engine(), default_value = AUTO)]
    pub engine: OrAuto<Engine>,
    /// Follow every access instead of samples (translate)
    #[arg(long)]
    pub exact: bool,
    /// How often to sample.
    #[command(flatten)]
    pub periods: PeriodArgs,
    /// Limit on the CPU time that following samples adds to the program, in percent, by estimate. Fewer samples are followed
    /// where all would exceed it; none: all are followed [default: 10]
    #[arg(long, value_name = "PERCENT|none", value_parser = budget)]
    pub budget: Option<Budget>,
    /// How the next access to sampled data is detected; auto: in episodes where code is translated, else by registers; in
    /// software with --period, --budget none, or a part of the run
    #[arg(long, value_parser = watch_of_reuse(), default_value = AUTO)]
    pub watch: OrAuto<WatchChoice>,
    /// Uses watched in software at a time, for each of the three kinds of watch
    #[arg(long, value_name = "N", default_value_t = REUSE_SLOTS, value_parser = clap::value_parser!(u32).range(1..=64), hide_short_help = true)]
    pub slots: u32,
    /// Which accesses meet in a cache.
    #[command(flatten)]
    pub caches: ReuseJoin,
    /// With --exact: sizes of places in bytes, powers of two; 1: exactly the bytes of an access [default: 64, a line]
    #[arg(long, value_name = "BYTES,…", value_delimiter = ',', value_parser = granularity)]
    pub granularity: Vec<u32>,
    /// With --exact: follow only this fraction of all places (SHARDS)
    #[arg(long, value_name = "RATE", value_parser = rate)]
    pub sample_rate: Option<f64>,
    /// With --exact: do not attribute reuses to pairs of instructions
    #[arg(long)]
    pub no_pairs: bool,
    /// With --exact: keep every access in the profile, for checks by simulation (docs/format.md)
    #[arg(long, hide_short_help = true)]
    pub keep_accesses: bool,
    /// Which heap objects are named.
    #[command(flatten)]
    pub objects: ObjectArgs,
    /// Whether each phase of the run is reported on.
    #[command(flatten)]
    pub phases: PerPhaseArgs,
    /// Rows to print of each table
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub top: usize,
    /// How the report is made.
    #[command(flatten)]
    pub layout: ReuseLayout,
    /// Where the report goes.
    #[command(flatten)]
    pub report: OutputArgs,
    /// What to run.
    #[command(flatten)]
    pub program: ProgramArgs,
}

/// Which accesses meet in a cache: what is chosen of reuse where other questions are asked too.
#[derive(Debug, Args)]
pub struct ReuseJoin {
    /// Groups of processors or of threads that share a cache, such as 0-1,2-3, 0+2,1+3 or threads:0,1 [default: those of the
    /// machine's last cache]
    #[arg(long, value_name = "GROUPS", value_parser = domains::parse)]
    pub cache_domains: Option<Groups>,
}

impl ReuseJoin {
    /// The groups that were asked for, or those of this machine.
    pub fn domains(&self) -> Domains {
        match &self.cache_domains {
            Some(groups) => groups.domains(),
            None => Groups::of_machine(&Machine::here().caches).domains(),
        }
    }
}

/// How the report on reuse is made.
#[derive(Debug, Default, Args)]
pub struct ReuseLayout {
    /// The cache that the verdict is about, such as 256K [default: the machine's largest private one]
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    pub cache: Option<u64>,
    /// Predict what a change would gain
    #[arg(long, value_enum)]
    pub advise: Option<Advice>,
    /// Bins of histograms: the first ends at START accesses, each further one at RATIO times the end of the one before it,
    /// such as 1100,2 [default: one for each doubling]
    #[arg(long, value_name = "START,RATIO", value_parser = bins, hide_short_help = true)]
    pub bins: Option<Bins>,
    /// Write histograms as ReuseTracker's .bin files, and footprints as Loca's .dat, into this directory
    #[arg(long, value_name = "DIR", hide_short_help = true)]
    pub peers: Option<PathBuf>,
    /// Compare with a ReuseTracker histogram (.bin) or a Loca footprint (.dat)
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub compare: Vec<PathBuf>,
}

impl ReuseLayout {
    /// As the study takes it.
    pub fn options(&self) -> ReuseOptions {
        ReuseOptions {
            cache_bytes: self.cache,
            prefetch: self.advise == Some(Advice::Prefetch),
            bins: self.bins.unwrap_or_default(),
        }
    }
}

/// Limit on the CPU time that following samples adds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Budget {
    /// At most this many percent.
    Percent(f64),
    /// No limit.
    Unlimited,
}

/// Changes whose gain can be predicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Advice {
    /// The hardware's prefetcher of adjacent lines
    Prefetch,
}

fn budget(text: &str) -> Result<Budget, String> {
    if text == "none" {
        return Ok(Budget::Unlimited);
    }
    percent(text).map(Budget::Percent).map_err(|problem| format!("{problem}, or none"))
}

fn granularity(text: &str) -> Result<u32, String> {
    let bytes: u32 = text.trim().parse().map_err(|_| "not a number".to_owned())?;
    if bytes.is_power_of_two() && bytes <= LARGEST_PLACE_BYTES {
        Ok(bytes)
    } else {
        Err(format!("must be a power of two up to {LARGEST_PLACE_BYTES}"))
    }
}

fn rate(text: &str) -> Result<f64, String> {
    let rate: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if rate > 0.0 && rate <= 1.0 { Ok(rate) } else { Err("must be above 0 and at most 1".to_owned()) }
}

fn bins(text: &str) -> Result<Bins, String> {
    let (start, ratio) = text.split_once(',').ok_or("needs two numbers with a comma between them")?;
    match (start.trim().parse::<u64>(), ratio.trim().parse::<f64>()) {
        (Ok(start), Ok(ratio)) if start >= 1 && ratio > 1.0 && ratio.is_finite() => {
            Ok(Bins::Geometric { start, ratio })
        }
        _ => Err("START must be at least 1, and RATIO above 1".to_owned()),
    }
}

/// `256K`, in powers of 1024.
pub fn bytes(text: &str) -> Result<u64, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let scale: u64 = match unit.trim_end_matches("iB").trim_end_matches('B') {
        "" => 1,
        "k" | "K" => 1 << 10,
        "m" | "M" => 1 << 20,
        "g" | "G" => 1 << 30,
        _ => return Err("needs a unit of K, M or G, or none".to_owned()),
    };
    let number: u64 = number.parse().map_err(|_| "not a number".to_owned())?;
    number
        .checked_mul(scale)
        .filter(|bytes| *bytes >= carom_base::LINE_BYTES)
        .ok_or_else(|| "must hold a line of 64 bytes at least".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_in_powers_of_1024() {
        assert_eq!(bytes("256K"), Ok(262_144));
        assert_eq!(bytes("1MiB"), Ok(1 << 20));
        assert_eq!(bytes("4096"), Ok(4096));
        for bad in ["", "K", "63", "1T", "99999999999G", "-1"] {
            assert!(bytes(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_budget_can_be_left_out() {
        assert_eq!(budget("2.5%"), Ok(Budget::Percent(2.5)));
        assert_eq!(budget("none"), Ok(Budget::Unlimited));
        assert_eq!(budget("100"), Err("must be between 0.1 and 90, or none".into()));
    }

    #[test]
    fn granularities_and_rates_have_bounds() {
        assert_eq!((granularity("1"), granularity("4096")), (Ok(1), Ok(4096)));
        for bad in ["0", "48", "4194304", "4294967296", "x"] {
            assert!(granularity(bad).is_err(), "{bad}");
        }
        assert_eq!(rate("0.01"), Ok(0.01));
        for bad in ["0", "1.1", "-1", "NaN"] {
            assert!(rate(bad).is_err(), "{bad}");
        }
    }
}
