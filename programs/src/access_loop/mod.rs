//! A loop of one to eight accesses whose instructions are known: what a sampler must meet, how often and where.
//!
//! After Accuracy-Bench, which measures how precisely processors sample: every access of the loop is executed equally
//! often, so every one must be sampled equally often, at any period.

mod code;

use clap::{Args, ValueEnum};
use serde::Serialize;
use serde_json::{Value, json};

use self::code::{MOST_ACCESSES, STEP_BYTES, WORD_BYTES};
use crate::error::Error;
use crate::output::Output;
use crate::padded::Padded;
use crate::rest::Rest;

/// Runs a loop of a few loads or stores of 8 bytes, each at an instruction and an address of its own.
///
/// expected.accesses lists them: ip, address, width, kind, and how often each is executed. The program accesses other
/// memory before and after, at other instructions.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  carom-workloads access-loop --accesses 3 --kind load --iterations 1000000
  carom-workloads access-loop --accesses 8 --kind mixed --iterations 125000")]
pub struct Options {
    /// Accesses per iteration.
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u8).range(1..=MOST_ACCESSES as i64))]
    accesses: u8,

    /// What they are.
    #[arg(long, value_enum, default_value_t = Kind::Load)]
    kind: Kind,

    /// Iterations.
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..))]
    iterations: u64,

    #[command(flatten)]
    rest: Rest,
}

/// What the accesses of a loop are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Loads.
    Load,
    /// Stores.
    Store,
    /// A load, a store, a load, ...
    Mixed,
}

impl Kind {
    /// What the access number `n` is.
    fn of(self, n: u64) -> Self {
        match self {
            Self::Mixed if n.is_multiple_of(2) => Self::Load,
            Self::Mixed => Self::Store,
            same => same,
        }
    }
}

/// Runs the loop.
///
/// # Errors
/// Where there is no such loop.
pub fn run(options: &Options) -> Result<Output, Error> {
    let accesses = usize::from(options.accesses);
    let function = code::find(options.kind, accesses).ok_or(Error::NoSuchLoop { accesses })?;
    let mut words = Padded([0_u64; MOST_ACCESSES]);
    let first = words.as_mut_ptr();
    let stretch =
        options.rest.stretch(options.iterations.saturating_mul(accesses as u64)).div_ceil(accesses as u64);
    let mut left = options.iterations;
    while left > 0 {
        // Before the first one, too: the way here had samples of its own.
        options.rest.rest();
        let iterations = stretch.min(left);
        // SAFETY: as many words as the longest loop accesses, and at least one iteration.
        unsafe { function(first, iterations) };
        left -= iterations;
    }

    let listed: Vec<Value> = (0..u64::from(options.accesses))
        .map(|n| {
            json!({
                "ip": format!("{:#x}", function as usize as u64 + n * STEP_BYTES),
                "address": format!("{:#x}", first as u64 + n * WORD_BYTES),
                "width": WORD_BYTES,
                "kind": options.kind.of(n),
                "count": options.iterations,
            })
        })
        .collect();
    Ok(Output {
        workload: "access-loop",
        parameters: json!({
            "accesses": options.accesses, "kind": options.kind, "iterations": options.iterations,
        }),
        expected: json!({ "accesses": listed }),
        measured: json!({}),
        notes: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mixed_begins_with_a_load() {
        assert_eq!([0, 1, 2].map(|n| Kind::Mixed.of(n)), [Kind::Load, Kind::Store, Kind::Load]);
        assert_eq!(Kind::Store.of(0), Kind::Store);
    }

    #[test]
    fn there_are_loops_of_one_to_eight() {
        assert!(code::find(Kind::Load, 0).is_none() && code::find(Kind::Mixed, 9).is_none());
        assert!((1..=8).all(|accesses| code::find(Kind::Mixed, accesses).is_some()));
    }
}
