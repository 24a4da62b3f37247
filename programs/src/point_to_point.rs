//! Listing 5.4: threads (0, 1), (2, 3), ... share one word per pair.

use std::sync::atomic::AtomicU64;

use clap::Args;
use serde_json::json;

use crate::company::Company;
use crate::counts;
use crate::error::Error;
use crate::operation::Operation;
use crate::options::{Common, fraction};
use crate::output::{Output, parameters};
use crate::padded::{MAX_THREADS, Padded, address};
use crate::random::Chance;
use crate::runner;
use crate::volume::{self, Sharer, Volume};

/// Threads work in pairs (0,1), (2,3), ...; each iteration writes the pair's word, or a private one
/// (thesis, listing 5.4).
///
/// measured.shared_accesses is a thread-by-thread matrix: row = earlier writer, column = accessor; cell (0,1)
/// holds what thread 1 did to the word that it shares with thread 0. With --operation swap each writer leaves
/// its number, and measured.ownership_changes counts which writer found which.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  carom-workloads point-to-point --threads 4 --sharing-fractions 1.0,0.5 --seconds 4
  carom-workloads point-to-point --threads 2 --operation swap --iterations 1000000")]
pub struct Options {
    #[command(flatten)]
    common: Common,

    /// The fraction of iterations that access the pair's word: one for all pairs, or one for each.
    #[arg(long, value_delimiter = ',', default_value = "1.0", value_parser = fraction)]
    sharing_fractions: Vec<f64>,

    /// The instruction that accesses the words.
    #[arg(long, value_enum, default_value_t = Operation::Store)]
    operation: Operation,

    /// Count apart the accesses made while both threads of the pair ran: after some thousands of iterations each leaves a
    /// mark on a line of its own, and looks for the other's.
    #[arg(long)]
    count_together: bool,
}

/// Threads per shared word.
const PAIR: usize = 2;

/// The words of the pairs, each on lines of its own.
static SHARED_DATA_ARRAY: [Padded<AtomicU64>; MAX_THREADS / PAIR] =
    [const { Padded(AtomicU64::new(0)) }; MAX_THREADS / PAIR];

/// Where threads leave marks for each other.
static MARKS: [Padded<AtomicU64>; MAX_THREADS] = [const { Padded(AtomicU64::new(0)) }; MAX_THREADS];

/// Runs the workload.
///
/// # Errors
/// Where threads and fractions do not make pairs, or the threads cannot be started or pinned.
pub fn run(options: &Options) -> Result<Output, Error> {
    let threads = options.common.threads;
    if !threads.is_multiple_of(PAIR) {
        return Err(Error::OddThreads(threads));
    }
    let chances = per_pair(&options.sharing_fractions, threads / PAIR)?;
    let finished = runner::run(options.common.team(), |worker| {
        let pair = worker / PAIR;
        let company = options.count_together.then(|| Company::new(&MARKS[worker], &MARKS[worker ^ 1]));
        Sharer { worker, word: &SHARED_DATA_ARRAY[pair], chance: chances[pair], company }
            .run(&options.common, options.operation)
    })?;

    let volume = Volume::of(&finished.results);
    let mut measured = volume.measured(options.operation, |thread| thread / PAIR);
    measured.insert("sharing_fraction".to_owned(), counts::share(volume.shared(), volume.iterations()));
    if options.count_together {
        let together = volume.together();
        let matrix = counts::attribute(&together, &together, |thread| thread / PAIR);
        measured.insert("shared_accesses_together".to_owned(), json!(matrix));
    }
    measured.insert("wall_s".to_owned(), json!(finished.wall.as_secs_f64()));
    let mut notes = vec![
        "shared_accesses: row = earlier writer, column = accessor; cell (i, j) is what thread j did to the \
         word that it shares with thread i"
            .to_owned(),
    ];
    if options.count_together {
        notes.push(
            "shared_accesses_together: those of shared_accesses in stretches of iterations in which both threads of the \
             pair ran; all others follow the thread's own"
                .to_owned(),
        );
    }
    notes.extend(volume::owner_note(options.operation));
    let pairs: Vec<_> = (0..threads).step_by(PAIR).map(|first| [first, first + 1]).collect();
    let lines: Vec<_> = pairs
        .iter()
        .zip(&SHARED_DATA_ARRAY)
        .map(|(pair, word)| {
            json!({ "name": "SHARED_DATA_ARRAY", "address": address(word), "sharing": "true", "threads": pair })
        })
        .collect();
    Ok(Output {
        workload: "point-to-point",
        parameters: parameters(
            &options.common,
            &finished,
            json!({ "sharing_fractions": options.sharing_fractions, "operation": options.operation }),
        ),
        expected: json!({
            "pairs": pairs,
            "sharing_fractions": chances.iter().map(|chance| chance.fraction()).collect::<Vec<_>>(),
            "false_fraction": 0.0,
            "lines": lines,
        }),
        measured: measured.into(),
        notes,
    })
}

/// The chance of each pair: one fraction counts for all.
fn per_pair(fractions: &[f64], pairs: usize) -> Result<Vec<Chance>, Error> {
    match *fractions {
        [all] => Ok(vec![Chance::new(all); pairs]),
        _ if fractions.len() == pairs => Ok(fractions.iter().copied().map(Chance::new).collect()),
        _ => Err(Error::FractionsPerPair { given: fractions.len(), pairs }),
    }
}
