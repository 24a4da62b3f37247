//! Listing 5.2: every thread adds to its own word of a shared line, or to one common word, by chance.

use std::sync::atomic::AtomicU64;

use clap::Args;
use serde_json::json;

use crate::choose::Choice;
use crate::counts;
use crate::error::Error;
use crate::operation::Operation;
use crate::options::{Common, fraction};
use crate::output::{Output, parameters};
use crate::padded::{LINE_BYTES, MAX_THREADS, Padded, address};
use crate::random::{Chance, Random};
use crate::runner;

/// Each iteration adds to the thread's own word of a line that all threads use (false sharing), or to one
/// word that all use (true sharing) (thesis, listing 5.2).
///
/// measured.false_fraction is the share of accesses that went to the own word. It is counted in a register
/// of each thread, so the counting adds no access to memory.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  carom-workloads false-sharing --threads 2 --false-fraction 0.25 --seconds 4
  carom-workloads false-sharing --threads 8 --false-fraction 1 --iterations 1000000")]
pub struct Options {
    #[command(flatten)]
    common: Common,

    /// The fraction of iterations that access the thread's own word of the falsely shared line.
    #[arg(long, default_value_t = 0.5, value_parser = fraction)]
    false_fraction: f64,

    /// The instruction that accesses the words.
    #[arg(long, value_enum, default_value_t = Operation::Add)]
    operation: Operation,
}

/// How many threads' words fill one line.
const WORDS_PER_LINE: usize = LINE_BYTES / size_of::<AtomicU64>();

/// One word per thread, as neighbours: the first eight threads use the first line, and so on.
static FALSE_SHARING_DATA: Padded<[AtomicU64; MAX_THREADS]> =
    Padded([const { AtomicU64::new(0) }; MAX_THREADS]);

/// The word that all threads use.
static TRUE_SHARING_DATA: Padded<AtomicU64> = Padded(AtomicU64::new(0));

/// Runs the workload.
///
/// # Errors
/// Where its threads cannot be started or pinned.
pub fn run(options: &Options) -> Result<Output, Error> {
    let chance = Chance::new(options.false_fraction);
    let finished = runner::run(options.common.team(), |worker| {
        Choice {
            first: &FALSE_SHARING_DATA[worker],
            second: &TRUE_SHARING_DATA,
            chance,
            random: Random::new(options.common.seed, worker),
            length: options.common.length(),
            company: None,
        }
        .run(options.operation)
    })?;

    let falsely: Vec<u64> = finished.results.iter().map(|taken| taken.first).collect();
    let iterations: Vec<u64> = finished.results.iter().map(|taken| taken.total).collect();
    Ok(Output {
        workload: "false-sharing",
        parameters: parameters(
            &options.common,
            &finished,
            json!({ "false_fraction": options.false_fraction, "operation": options.operation }),
        ),
        expected: json!({ "false_fraction": chance.fraction(), "lines": lines(options.common.threads) }),
        measured: json!({
            "false_fraction": counts::share(falsely.iter().sum(), iterations.iter().sum()),
            "false_accesses_by_thread": falsely,
            "iterations": iterations,
            "wall_s": finished.wall.as_secs_f64(),
        }),
        notes: notes(options.common.threads),
    })
}

/// The contended lines, the common word's last.
fn lines(threads: usize) -> Vec<serde_json::Value> {
    let mut lines: Vec<_> = FALSE_SHARING_DATA[..threads]
        .chunks(WORDS_PER_LINE)
        .map(|line| json!({ "name": "FALSE_SHARING_DATA", "address": address(&line[0]), "sharing": "false" }))
        .collect();
    lines.push(json!({
        "name": "TRUE_SHARING_DATA", "address": address(&TRUE_SHARING_DATA), "sharing": "true",
    }));
    lines
}

fn notes(threads: usize) -> Vec<String> {
    let mut notes = Vec::new();
    if threads > WORDS_PER_LINE {
        notes.push(format!(
            "{threads} threads use {} falsely shared lines, {WORDS_PER_LINE} words in each: threads of \
             different lines share falsely with none of the other line",
            threads.div_ceil(WORDS_PER_LINE)
        ));
    }
    if threads % WORDS_PER_LINE == 1 {
        notes.push(format!("worker-{} has a falsely shared line to itself", threads - 1));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_threads_fill_a_line_exactly() {
        // 64 bytes hold 8 words of 8 bytes; the array starts on a line.
        let line = |thread: usize| FALSE_SHARING_DATA[thread].as_ptr() as usize / LINE_BYTES;
        assert_eq!(line(0), line(7));
        assert_eq!(line(7) + 1, line(8));
        assert_eq!((lines(8).len(), notes(8).len()), (2, 0));
        assert_eq!((lines(9).len(), notes(9).len()), (3, 2));
    }
}
