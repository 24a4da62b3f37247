//! A loop of one to eight accesses by known instructions: what a sampler must find, how often and where.
//!
//! After Accuracy-Bench, which measures how precisely processors sample. Every access of the loop is executed equally
//! often, so every one must be sampled equally often, at any period.

mod code;

use clap::{Args, ValueEnum};
use serde::Serialize;
use serde_json::{Value, json};

use self::code::{MOST_ACCESSES, Place, WORDS};
use crate::error::Error;
use crate::output::Output;
use crate::padded::Padded;
use crate::rest::Rest;

/// Runs a loop of a few loads or stores, each at an address of its own: of 8 bytes, each at an instruction of its own; or
/// all by one repeated string instruction, gather or masked store.
///
/// expected.accesses lists them: ip, address, width, kind, and how often each is executed. The program accesses other
/// memory before and after, at other instructions.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  carom-workloads access-loop --accesses 3 --kind load --iterations 1000000
  carom-workloads access-loop --accesses 8 --kind mixed --iterations 125000
  carom-workloads access-loop --accesses 5 --kind gather --iterations 200000")]
pub struct Options {
    /// Accesses of a kind per iteration.
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
    /// Stores of a repeated string instruction.
    Fill,
    /// Loads and stores of a repeated string instruction, as many of each.
    Copy,
    /// Loads of 4 bytes, lanes of one gather.
    Gather,
    /// Stores of 4 bytes, lanes of one masked store.
    Masked,
}

/// Runs the loop.
///
/// # Errors
/// Where there is no such loop.
pub fn run(options: &Options) -> Result<Output, Error> {
    let accesses = usize::from(options.accesses);
    let function = code::find(options.kind, accesses).ok_or(Error::NoSuchLoop { accesses })?;
    let mut words = Padded([0_u64; WORDS]);
    let first = words.as_mut_ptr();
    let stretch =
        options.rest.stretch(options.iterations.saturating_mul(accesses as u64)).div_ceil(accesses as u64);
    let mut left = options.iterations;
    while left > 0 {
        // Before the first one, too: the code up to here has samples of its own.
        options.rest.rest();
        let iterations = stretch.min(left);
        // SAFETY: as many words as any loop accesses, and at least one iteration.
        unsafe { function(first, iterations) };
        left -= iterations;
    }

    let listed: Vec<Value> = code::places(options.kind, u64::from(options.accesses))
        .into_iter()
        .map(|Place { instruction, offset, width, stores }| {
            json!({
                "ip": format!("{:#x}", function as usize as u64 + instruction),
                "address": format!("{:#x}", first as u64 + offset),
                "width": width,
                "kind": if stores { "store" } else { "load" },
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
    fn loops_have_loads_and_stores() {
        let stores = |kind| code::places(kind, 3).iter().map(|place| place.stores).collect::<Vec<_>>();
        assert_eq!(stores(Kind::Mixed), [false, true, false]);
        assert_eq!(stores(Kind::Store), [true; 3]);
        assert_eq!(stores(Kind::Copy), [false, false, false, true, true, true]);
    }

    #[test]
    fn there_are_loops_of_one_to_eight() {
        assert!(code::find(Kind::Load, 0).is_none() && code::find(Kind::Mixed, 9).is_none());
        assert!((1..=8).all(|accesses| code::find(Kind::Mixed, accesses).is_some()));
    }
}
