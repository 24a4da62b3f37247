//! Listing 5.3: thread 0 always writes a shared word; the others read or write it, by chance.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use clap::Args;
use serde_json::json;

use crate::counts;
use crate::error::Error;
use crate::operation::{Add, CompareAndSwap, Operation, Store, Swap, Update};
use crate::options::{Common, Length, fraction};
use crate::output::{Output, parameters};
use crate::padded::{Padded, address};
use crate::random::{Chance, Random};
use crate::runner;

/// Thread 0 writes a shared word in every iteration; the other threads read or write it (thesis, listing 5.3).
///
/// With --count-interleavings the word is a sequence number: each write adds 1, and a thread that finds
/// another number than it left has met somebody else's write. That is a different program: stores become
/// locked additions and each access waits for the value.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  carom-workloads read-write --threads 4 --read-fraction 0.7 --seconds 4
  carom-workloads read-write --threads 2 --read-fraction 1 --count-interleavings --iterations 1000000")]
pub struct Options {
    #[command(flatten)]
    common: Common,

    /// The fraction of iterations in which threads other than 0 read.
    #[arg(long, default_value_t = 0.5, value_parser = fraction)]
    read_fraction: f64,

    /// The instruction that writes.
    #[arg(long, value_enum, default_value_t = Operation::Store, conflicts_with = "count_interleavings")]
    operation: Operation,

    /// Count how often a thread meets another's write, in a changed program.
    #[arg(long)]
    count_interleavings: bool,
}

/// The word that all threads share.
static SHARED_DATA: Padded<AtomicU64> = Padded(AtomicU64::new(0));

/// What one thread counted.
#[derive(Clone, Copy, Debug, Default)]
struct Counted {
    reads: u64,
    iterations: u64,
    /// Reads, and then writes, that found a write by another thread since this thread's previous access.
    read_after_write: u64,
    write_after_write: u64,
}

impl Counted {
    fn writes(&self) -> u64 {
        self.iterations - self.reads
    }
}

/// Runs the workload.
///
/// # Errors
/// Where its threads cannot be started or pinned.
pub fn run(options: &Options) -> Result<Output, Error> {
    let chance = Chance::new(options.read_fraction);
    let finished = runner::run(options.common.team(), |worker| {
        let chance = if worker == 0 { Chance::new(0.0) } else { chance };
        let random = Random::new(options.common.seed, worker);
        let length = options.common.length();
        match options.operation {
            _ if options.count_interleavings => count_interleavings(chance, random, length),
            Operation::Store => read_or_write(Store, chance, random, length),
            Operation::Add => read_or_write(Add, chance, random, length),
            Operation::Cas => read_or_write(CompareAndSwap::default(), chance, random, length),
            Operation::Swap => read_or_write(Swap, chance, random, length),
        }
    })?;

    let each = |count: fn(&Counted) -> u64| finished.results.iter().map(count).collect::<Vec<u64>>();
    let (reads, writes, iterations) = (each(|c| c.reads), each(Counted::writes), each(|c| c.iterations));
    let choosing: u64 = iterations.iter().skip(1).sum();
    let interleavings = options
        .count_interleavings
        .then(|| json!({ "raw": each(|c| c.read_after_write), "waw": each(|c| c.write_after_write) }));
    let operation = if options.count_interleavings { Operation::Add } else { options.operation };
    Ok(Output {
        workload: "read-write",
        parameters: parameters(
            &options.common,
            &finished,
            json!({
                "read_fraction": options.read_fraction,
                "operation": operation,
                "count_interleavings": options.count_interleavings,
            }),
        ),
        expected: json!({
            "read_fraction": chance.fraction(),
            "false_fraction": 0.0,
            "lines": [{ "name": "SHARED_DATA", "address": address(&SHARED_DATA), "sharing": "true" }],
        }),
        measured: json!({
            "read_fraction": counts::share(reads.iter().sum(), choosing),
            "shared_accesses": counts::attribute(&iterations, &writes, |_| 0),
            "reads": reads,
            "writes": writes,
            "iterations": iterations,
            "interleavings": interleavings,
            "wall_s": finished.wall.as_secs_f64(),
        }),
        notes: notes(options.count_interleavings),
    })
}

/// The listing's loop. A value that was read goes into a register, so the compiler keeps the load.
#[inline(never)]
fn read_or_write(mut writing: impl Update, chance: Chance, mut random: Random, length: Length) -> Counted {
    let word: &AtomicU64 = black_box(&SHARED_DATA);
    let mut counted = Counted::default();
    let mut sum = 0_u64;
    for pass in length.passes() {
        let mut reads = 0;
        for _ in 0..pass {
            let number = random.next();
            if chance.hits(number) {
                sum ^= word.load(Relaxed);
                reads += 1;
            } else {
                writing.update(word, number);
            }
        }
        counted.reads += reads;
        counted.iterations += pass;
    }
    black_box(sum);
    counted
}

/// The listing's loop on a sequence number.
#[inline(never)]
fn count_interleavings(chance: Chance, mut random: Random, length: Length) -> Counted {
    let word: &AtomicU64 = black_box(&SHARED_DATA);
    let mut counted = Counted::default();
    // What this thread last saw or left in the word; the word begins as 0.
    let mut known = 0;
    for pass in length.passes() {
        for _ in 0..pass {
            if chance.hits(random.next()) {
                let found = word.load(Relaxed);
                counted.reads += 1;
                counted.read_after_write += u64::from(found != known);
                known = found;
            } else {
                let found = word.fetch_add(1, Relaxed);
                counted.write_after_write += u64::from(found != known);
                known = found.wrapping_add(1);
            }
        }
        counted.iterations += pass;
    }
    counted
}

fn notes(count_interleavings: bool) -> Vec<String> {
    let mut notes = vec![
        "read_fraction is that of the threads other than 0, which always writes".to_owned(),
        "shared_accesses: row = earlier writer, column = accessor; a column adds up to what its thread \
         counted, spread over the other threads in proportion to their writes"
            .to_owned(),
    ];
    if count_interleavings {
        notes.push(
            "a different program: every write is a locked addition to a sequence number, and every access \
             waits for the value; interleavings are accesses that found another thread's write since the \
             thread's own previous access"
                .to_owned(),
        );
    }
    notes
}
