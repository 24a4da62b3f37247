//! Threads that write one line in turns. A sequence number in the line shows them how often its owner changed.

use std::hint::black_box;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};

use clap::Args;
use serde_json::json;

use crate::counts;
use crate::error::Error;
use crate::fresh;
use crate::options::{self, Common};
use crate::output::{Output, parameters};
use crate::padded::{LINE_BYTES, Padded};
use crate::ribench::code;
use crate::runner;

/// Threads write to one shared line, and sweep private arrays in between. They know how often the line changed owners.
///
/// In each iteration a thread adds 1 to a sequence number in the line, --writes times, stores to the bytes behind it, if
/// --shared-bytes asks for some, and sweeps one of its private arrays. Who finds another number than it left has met
/// another thread's write: in a private cache its previous use of the line was invalidated, and none that it made since.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  carom-workloads alternation --private 1K --iterations 100000
  carom-workloads alternation --private 1K --writes 20 --iterations 100000
  carom-workloads alternation --private 16 --apart 20000 --writes 5 --iterations 100000
  carom-workloads alternation --private 304,1K,4K,16K --shared-bytes 40 --iterations 100000")]
pub struct Options {
    #[command(flatten)]
    common: Common,

    /// Bytes of the private arrays, swept in turn, one in each iteration: each byte is one access. 0 sweeps none.
    #[arg(long, value_delimiter = ',', default_value = "1K", value_parser = options::bytes)]
    private: Vec<u64>,

    /// Multiplications in each iteration, one after the other and without an access: they set visits to the line apart by
    /// some nanoseconds each.
    #[arg(long, default_value_t = 0)]
    apart: u64,

    /// Additions to the sequence number in each iteration.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    writes: u64,

    /// Bytes of the line that are written: the sequence number has 8, each other is one store.
    #[arg(long, default_value_t = NUMBER_BYTES, value_parser = clap::value_parser!(u64).range(NUMBER_BYTES..=LINE_BYTES as u64))]
    shared_bytes: u64,
}

const NUMBER_BYTES: u64 = size_of::<AtomicU64>() as u64;

/// The line that all threads write.
struct Shared {
    /// How many additions there were, by all threads.
    sequence: AtomicU64,
    /// What else is written.
    others: [AtomicU8; LINE_BYTES - NUMBER_BYTES as usize],
}

static SHARED_LINE: Padded<Shared> = Padded(Shared {
    sequence: AtomicU64::new(0),
    others: [const { AtomicU8::new(0) }; LINE_BYTES - NUMBER_BYTES as usize],
});

/// The counts of one thread.
#[derive(Clone, Copy, Debug, Default)]
struct Counted {
    iterations: u64,
    /// Additions that found another thread's addition, made since this thread's previous one, in the line.
    alternations: u64,
    /// Those that were the first of their iteration.
    between_iterations: u64,
}

/// Runs the workload.
///
/// # Errors
/// Where there is no memory for the arrays, or the threads cannot be started.
pub fn run(options: &Options) -> Result<Output, Error> {
    let arrays: Vec<Vec<&[AtomicU8]>> =
        (0..options.common.threads).map(|_| private(&options.private)).collect::<Result<_, _>>()?;
    let others = SHARED_LINE.others.get(..(options.shared_bytes - NUMBER_BYTES) as usize).unwrap_or_default();
    let finished = runner::run(options.common.team(), |worker| {
        let private = arrays.get(worker).map(Vec::as_slice).unwrap_or_default();
        take_turns(options, others, private)
    })?;

    let each = |count: &dyn Fn(&Counted) -> u64| finished.results.iter().map(count).collect::<Vec<u64>>();
    let writes = each(&|c| c.iterations * options.writes);
    let stores = each(&|c| c.iterations * others.len() as u64);
    let swept = each(&|c| swept(&options.private, c.iterations));
    let alternations = each(&|c| c.alternations);
    let touches: u64 = [&writes, &stores, &swept].into_iter().flatten().sum();
    let met: u64 = alternations.iter().sum();
    Ok(Output {
        workload: "alternation",
        parameters: parameters(
            &options.common,
            &finished,
            json!({
                "private": options.private, "apart": options.apart, "writes": options.writes,
                "shared_bytes": options.shared_bytes,
            }),
        ),
        expected: json!({
            "lines": [{ "name": "SHARED_LINE", "address": format!("{:p}", &raw const *SHARED_LINE), "sharing": "true" }],
        }),
        measured: json!({
            "iterations": each(&|c| c.iterations),
            "sequence_writes": writes,
            "other_stores": stores,
            "private_accesses": swept,
            "alternations": alternations,
            "alternations_within_iterations": each(&|c| c.alternations - c.between_iterations),
            "alternated_fraction": counts::share(met, writes.iter().sum()),
            "invalidations": met,
            "invalidated_fraction_of_shared": counts::share(met, writes.iter().chain(&stores).sum()),
            "invalidated_fraction": counts::share(met, touches),
            "wall_s": finished.wall.as_secs_f64(),
        }),
        notes: notes(others.len()),
    })
}

/// One thread's part. Its counts stay in registers: an iteration makes no accesses beyond those of the workload,
/// except for the calls of the two loops.
#[inline(never)]
fn take_turns(options: &Options, others: &[AtomicU8], private: &[&[AtomicU8]]) -> Counted {
    let (apart, writes) = (options.apart, options.writes);
    let sequence: &AtomicU64 = black_box(&SHARED_LINE.sequence);
    let mut counted = Counted::default();
    // The number that this thread last read from the line or wrote to it.
    let mut known = sequence.load(Relaxed);
    let mut arrays = private.iter().cycle();
    let mut product = known;
    for pass in options.common.length().passes() {
        for _ in 0..pass {
            let mut first = true;
            for _ in 0..writes {
                let found = sequence.fetch_add(1, Relaxed);
                let met = u64::from(found != known);
                counted.alternations += met;
                counted.between_iterations += met & u64::from(first);
                first = false;
                known = found.wrapping_add(1);
            }
            code::store(others);
            if let Some(array) = arrays.next() {
                code::sweep(array);
            }
            product = multiplied(product, apart);
        }
        counted.iterations += pass;
    }
    black_box(product);
    counted
}

/// This many multiplications, each of the previous result.
#[inline(always)]
fn multiplied(product: u64, times: u64) -> u64 {
    const FACTOR: u64 = 6_364_136_223_846_793_005;
    (0..times).fold(product, |product, _| product.wrapping_mul(FACTOR).wrapping_add(1))
}

/// The private arrays of one thread.
fn private(sizes: &[u64]) -> Result<Vec<&'static [AtomicU8]>, Error> {
    // More than the address space is as impossible as all of it.
    sizes.iter().map(|bytes| fresh::bytes(usize::try_from(*bytes).unwrap_or(usize::MAX))).collect()
}

/// Accesses to private arrays in this many iterations: a sweep makes one for each byte of an even number.
fn swept(sizes: &[u64], iterations: u64) -> u64 {
    let sweeps = |at: u64| iterations / sizes.len() as u64 + u64::from(at < iterations % sizes.len() as u64);
    sizes.iter().zip(0..).map(|(bytes, at)| (bytes & !1) * sweeps(at)).sum()
}

fn notes(others: usize) -> Vec<String> {
    let mut notes = vec![
        "alternations are additions that found another thread's since the thread's own previous one, or, for its first, \
         since it read the number"
            .to_owned(),
        "invalidated fractions take an addition as one touch; so does exact reuse".to_owned(),
    ];
    if others > 0 {
        notes.push(
            "invalidations are of the sequence number. The line as a whole has as many, and up to two more for each \
             iteration in the middle of which another thread came"
                .to_owned(),
        );
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Five iterations over two arrays: three of 6 accesses (one of 7 bytes is left over) and two of 4.
    #[test]
    fn arrays_are_swept_in_turn() {
        assert_eq!(swept(&[7, 4], 5), 3 * 6 + 2 * 4);
        assert_eq!(swept(&[0], 5), 0);
    }
}
