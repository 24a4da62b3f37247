//! The options that many workloads have, and when a thread's loop ends.

use std::time::{Duration, Instant};

use clap::Args;
use serde::Serialize;

use crate::padded::MAX_THREADS;
use crate::pinning::Pinning;

/// Options of the workloads that run for a time.
#[derive(Args, Clone, Debug)]
pub struct Common {
    /// How many threads run; they are named worker-0, worker-1, ...
    #[arg(long, default_value_t = 2, value_parser = threads)]
    pub threads: usize,

    /// How long to run, in seconds [default: 1].
    #[arg(long, conflicts_with = "iterations", value_parser = seconds)]
    pub seconds: Option<f64>,

    /// How many iterations each thread runs, instead of a time.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    pub iterations: Option<u64>,

    /// Which CPU each thread runs on.
    #[arg(long, value_enum, default_value_t = Pinning::None)]
    pub pinning: Pinning,

    /// Where the random numbers start.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

impl Common {
    /// Who runs.
    pub fn team(&self) -> Team {
        Team { threads: self.threads, pinning: self.pinning }
    }

    /// When each thread's loop ends.
    pub fn length(&self) -> Length {
        /// Long enough for thousands of samples at any usual rate.
        const DEFAULT: Duration = Duration::from_secs(1);
        match (self.iterations, self.seconds) {
            (Some(iterations), _) => Length::Iterations(iterations),
            (None, seconds) => Length::Time(seconds.map_or(DEFAULT, Duration::from_secs_f64)),
        }
    }
}

/// Options of the workloads whose threads end after a fixed amount of work.
#[derive(Args, Clone, Copy, Debug)]
pub struct Team {
    /// How many threads run; they are named worker-0, worker-1, ...
    #[arg(long, default_value_t = 2, value_parser = threads)]
    pub threads: usize,

    /// Which CPU each thread runs on; `--pin` alone means compact.
    #[arg(long, visible_alias = "pin", value_enum, num_args = 0..=1, default_missing_value = "compact",
        default_value_t = Pinning::None)]
    pub pinning: Pinning,
}

/// When a thread's loop ends.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Length {
    /// After so many iterations of each thread.
    Iterations(u64),
    /// After this time, by each thread's own look at the clock: a common stop flag would be shared data.
    Time(Duration),
}

impl Length {
    /// Lengths of successive stretches of iterations, until the loop ends. The clock runs from this call.
    pub fn passes(self) -> Passes {
        match self {
            Self::Iterations(left) => Passes::Iterations { left },
            Self::Time(time) => Passes::Until(Instant::now() + time),
        }
    }
}

/// See [`Length::passes`].
pub enum Passes {
    /// So many iterations are left.
    Iterations {
        /// Counts down.
        left: u64,
    },
    /// Goes on until this instant.
    Until(Instant),
}

/// Iterations between two looks at the clock: enough that the look (some 30 ns) weighs less than 1 % of a
/// loop of 1 ns per iteration.
const PASS: u64 = 4096;

impl Iterator for Passes {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        match self {
            Self::Iterations { left: 0 } => None,
            Self::Iterations { left } => {
                let pass = PASS.min(*left);
                *left -= pass;
                Some(pass)
            }
            Self::Until(end) => (Instant::now() < *end).then_some(PASS),
        }
    }
}

/// Parses a fraction in 0..=1.
///
/// # Errors
/// A sentence for the command line, where the text is no such number.
pub fn fraction(text: &str) -> Result<f64, String> {
    let value: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if (0.0..=1.0).contains(&value) { Ok(value) } else { Err("not between 0 and 1".to_owned()) }
}

/// Parses a number of bytes, with K, M or G (or KiB, MiB, GiB) for powers of 1024.
///
/// # Errors
/// A sentence for the command line, where the text is no such number.
pub fn bytes(text: &str) -> Result<u64, String> {
    const UNITS: [(&str, u32); 7] =
        [("KiB", 10), ("MiB", 20), ("GiB", 30), ("K", 10), ("M", 20), ("G", 30), ("", 0)];
    let (number, shift) =
        UNITS.iter().find_map(|&(unit, shift)| Some((text.strip_suffix(unit)?, shift))).unwrap_or((text, 0));
    let value: u64 = number.parse().map_err(|_| "not a number of bytes, such as 4096 or 32K".to_owned())?;
    value.checked_mul(1 << shift).ok_or_else(|| "more bytes than there are addresses".to_owned())
}

fn threads(text: &str) -> Result<usize, String> {
    let value: usize = text.parse().map_err(|_| "not a whole number".to_owned())?;
    if (1..=MAX_THREADS).contains(&value) {
        Ok(value)
    } else {
        Err(format!("not between 1 and {MAX_THREADS}"))
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    /// A week; longer is a slip of the keyboard, and far longer would overflow the clock.
    const MAX_SECONDS: f64 = 604_800.0;
    let value: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if value > 0.0 && value <= MAX_SECONDS { Ok(value) } else { Err("not between 0 and a week".to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_add_up_to_the_iterations() {
        // 10,000 = 2 * 4096 + 1808.
        assert_eq!(Length::Iterations(10_000).passes().collect::<Vec<_>>(), [4096, 4096, 1808]);
        assert_eq!(Length::Iterations(1).passes().sum::<u64>(), 1);
    }

    #[test]
    fn bytes_have_binary_units() {
        assert_eq!(["64", "3K", "3KiB", "2M"].map(|text| bytes(text).unwrap()), [64, 3072, 3072, 2_097_152]);
        assert!(["", "K", "1.5K", "-1", "17179869184G"].iter().all(|text| bytes(text).is_err()));
    }

    #[test]
    fn numbers_out_of_range_are_refused() {
        assert!(fraction("1.01").is_err() && fraction("NaN").is_err() && fraction("-0.1").is_err());
        assert!(threads("0").is_err() && threads("1025").is_err() && threads("1024").is_ok());
        assert!(seconds("0").is_err() && seconds("inf").is_err() && seconds("0.5").is_ok());
    }
}
