//! Listing 5.1: every thread accesses one shared word, or its private one, by chance.

use std::sync::atomic::AtomicU64;

use clap::Args;
use serde_json::json;

use crate::counts;
use crate::error::Error;
use crate::operation::Operation;
use crate::options::{Common, fraction};
use crate::output::{Output, parameters};
use crate::padded::{Padded, address};
use crate::random::Chance;
use crate::runner;
use crate::volume::{self, Sharer, Volume};

/// Each iteration writes a word that all threads share, or a private one (thesis, listing 5.1).
///
/// measured.shared_accesses is a thread-by-thread matrix: column j adds up to the accesses of thread j to the
/// shared word, spread over the other threads in proportion to theirs. With --operation swap each writer
/// leaves its number, and measured.ownership_changes counts which writer found which.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  carom-workloads write-volume --threads 2 --sharing-fraction 0.2 --seconds 4 --pinning compact
  carom-workloads write-volume --threads 4 --operation swap --iterations 1000000")]
pub struct Options {
    #[command(flatten)]
    common: Common,

    /// The fraction of iterations that access the shared word.
    #[arg(long, default_value_t = 1.0, value_parser = fraction)]
    sharing_fraction: f64,

    /// The instruction that accesses the words.
    #[arg(long, value_enum, default_value_t = Operation::Store)]
    operation: Operation,
}

/// The word that all threads share.
static SHARED_DATA: Padded<AtomicU64> = Padded(AtomicU64::new(0));

/// Runs the workload.
///
/// # Errors
/// Where its threads cannot be started or pinned.
pub fn run(options: &Options) -> Result<Output, Error> {
    let chance = Chance::new(options.sharing_fraction);
    let finished = runner::run(options.common.team(), |worker| {
        Sharer { worker, word: &SHARED_DATA, chance, company: None }.run(&options.common, options.operation)
    })?;

    let volume = Volume::of(&finished.results);
    let mut measured = volume.measured(options.operation, |_| 0);
    measured.insert("sharing_fraction".to_owned(), counts::share(volume.shared(), volume.iterations()));
    measured.insert("wall_s".to_owned(), json!(finished.wall.as_secs_f64()));
    let mut notes = vec![
        "shared_accesses: row = earlier writer, column = accessor; a column adds up to what its thread \
         counted, spread over the other threads in proportion to their own accesses"
            .to_owned(),
    ];
    notes.extend(volume::owner_note(options.operation));
    Ok(Output {
        workload: "write-volume",
        parameters: parameters(
            &options.common,
            &finished,
            json!({ "sharing_fraction": options.sharing_fraction, "operation": options.operation }),
        ),
        expected: json!({
            "sharing_fraction": chance.fraction(),
            "false_fraction": 0.0,
            "lines": [{ "name": "SHARED_DATA", "address": address(&SHARED_DATA), "sharing": "true" }],
        }),
        measured: measured.into(),
        notes,
    })
}
