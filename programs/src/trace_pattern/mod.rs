//! Accesses in three patterns whose miss-ratio curves are known.

mod expected;
mod kernels;

use std::hint::black_box;

use clap::{Args, ValueEnum};
use serde::Serialize;
use serde_json::{Value, json};

use self::kernels::Line;
use crate::error::Error;
use crate::options::{Team, bytes};
use crate::output::Output;
use crate::padded::LINE_BYTES;
use crate::random::Random;
use crate::runner;

/// Loads lines of memory in a pattern whose miss ratios are known. Each thread has a footprint of its own.
///
/// expected.miss_ratio has those of a fully associative cache that replaces the least recently used line, begins empty
/// and serves the accesses of one thread: for a stream and a chase all or nothing, for random accesses the part that
/// does not fit.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  carom-workloads trace-pattern --pattern stream --bytes 1M --threads 1
  carom-workloads trace-pattern --pattern random --bytes 256K --caches 32K,128K,512K
  carom-workloads trace-pattern --pattern chase --bytes 64M --accesses 20000000")]
pub struct Options {
    #[command(flatten)]
    team: Team,

    /// Which line comes next.
    #[arg(long, value_enum, default_value_t = Pattern::Stream)]
    pattern: Pattern,

    /// The footprint of each thread, with K, M or G for powers of 1024; rounded up to whole lines.
    #[arg(long, default_value = "1M", value_parser = footprint)]
    bytes: u64,

    /// Accesses of each thread.
    #[arg(long, default_value_t = 4_000_000, value_parser = clap::value_parser!(u64).range(1..))]
    accesses: u64,

    /// The sizes of caches to tell the miss ratio of [default: some below and above the footprint].
    #[arg(long, value_delimiter = ',', value_parser = bytes)]
    caches: Vec<u64>,

    /// Where the random numbers start.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// Which line comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// The next one in memory, and the first behind the last.
    Stream,
    /// Any, with the same chance each (a linear congruential generator).
    Random,
    /// The one whose number the last load brought: a cycle through all lines, drawn by chance.
    Chase,
}

impl Pattern {
    fn function(self) -> &'static str {
        match self {
            Self::Stream => "stream_lines",
            Self::Random => "random_lines",
            Self::Chase => "chase_lines",
        }
    }
}

fn footprint(text: &str) -> Result<u64, String> {
    /// The most that can be asked for: what does not fit into memory is no pattern of it.
    const MOST: u64 = 1 << 40;
    match bytes(text)? {
        value @ 1..=MOST => Ok(value),
        _ => Err("not between 1 byte and 1024G".to_owned()),
    }
}

/// Runs the workload.
///
/// # Errors
/// Where its threads cannot be started or pinned.
pub fn run(options: &Options) -> Result<Output, Error> {
    let lines = options.bytes.div_ceil(LINE_BYTES as u64);
    // The main thread writes all footprints: the workers do nothing but the loop.
    let footprints: Vec<(Vec<Line>, Random)> = (0..options.team.threads)
        .map(|worker| {
            let mut random = Random::new(options.seed, worker);
            (kernels::cycle(lines as usize, &mut random), random)
        })
        .collect();
    let finished = runner::run(options.team, |worker| {
        let (lines, random) = &footprints[worker];
        black_box(match options.pattern {
            Pattern::Stream => kernels::stream_lines(lines, options.accesses),
            Pattern::Random => kernels::random_lines(lines, options.accesses, *random),
            Pattern::Chase => kernels::chase_lines(lines, options.accesses),
        });
        options.accesses
    })?;

    let caches = if options.caches.is_empty() { around(options.bytes) } else { options.caches.clone() };
    let ratios: Vec<Value> = caches
        .into_iter()
        .map(|cache| {
            let capacity = cache / LINE_BYTES as u64;
            let expected = expected::miss_ratio(options.pattern, lines, options.accesses, capacity);
            json!({
                "bytes": cache, "ratio": expected.ratio, "standard_deviation": expected.standard_deviation,
            })
        })
        .collect();
    Ok(Output {
        workload: "trace-pattern",
        parameters: json!({
            "threads": options.team.threads,
            "pinning": options.team.pinning,
            "cpus": finished.cpus,
            "pattern": options.pattern,
            "bytes": options.bytes,
            "accesses": options.accesses,
            "seed": options.seed,
        }),
        expected: json!({
            "function": options.pattern.function(),
            "granularity_bytes": LINE_BYTES,
            "lines": lines,
            "miss_ratio": ratios,
            "stack_distance": (options.pattern != Pattern::Random).then_some(lines - 1),
        }),
        measured: json!({ "accesses": finished.results, "wall_s": finished.wall.as_secs_f64() }),
        notes: vec![
            "miss_ratio is that of each thread alone, over all accesses of its loop, the first ones included; \
             stack_distance is how many other lines lie between two accesses of the same one"
                .to_owned(),
        ],
    })
}

/// Sizes below and above the footprint, in eighths of it.
fn around(footprint: u64) -> Vec<u64> {
    const EIGHTHS: [u64; 7] = [1, 2, 4, 6, 7, 8, 16];
    EIGHTHS.map(|eighths| footprint.saturating_mul(eighths) / 8).to_vec()
}
