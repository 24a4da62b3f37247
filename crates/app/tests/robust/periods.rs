//! Samples whose periods were doubled while the program ran stand for what the program did.

use std::collections::BTreeMap;

use carom_base::{Sample, SampleOutcome};
use carom_store::Recording;

use crate::support::{Recorded, compile};

/// Loads and stores of the program: 600 million of each word. At the shortest period it would have 90,000 samples, of which
/// each is charged with a microsecond at least: a budget of 0.1% and what it allows in a second, one millisecond, do not pay for them.
const EACH: u64 = 600_000_000;

/// The periods by default.
const SHORTEST: u64 = 20_000;
const LONGEST: u64 = SHORTEST << 8;

#[test]
fn weights_add_up_to_what_was_accessed() {
    let program = compile("robust/three_words.c", &[]);
    let options = ["--engine", "translate", "--budget", "0.1"];
    let iterations = EACH.to_string();
    let mut share = Recorded::by("share", &options, &program, &[&iterations]);
    let ending = share.run();
    assert_eq!(ending.code(), Some(0), "{}", ending.complaint());

    // By the word that was accessed: the sum of the weights, and of their squares.
    let mut words: BTreeMap<u64, (f64, f64)> = BTreeMap::new();
    let mut samples: BTreeMap<u64, u64> = BTreeMap::new();
    let recording = Recording::open(&share.profile()).expect("a profile");
    for sample in recording.rows::<Sample>().map(|row| row.expect("a row")) {
        let weight = sample.periods() * SHORTEST as f64;
        *samples.entry(weight as u64).or_default() += 1;
        if let SampleOutcome::Access(access) = sample.outcome {
            let (sum, squares) = words.entry(access.addr.0).or_default();
            *sum += weight;
            *squares += weight * weight;
        }
    }
    assert!(samples.len() > 1, "the period has changed: {samples:?}");

    let mut loop_of: Vec<_> = words.into_iter().filter(|(_, (sum, _))| *sum > EACH as f64 / 4.0).collect();
    loop_of.sort_by_key(|(address, _)| *address);
    let &[(first, one), (_, other), (last, stored)] = &loop_of[..] else { panic!("{loop_of:?}") };
    assert_eq!(last - first, 16);
    // The strata of one kind in the loop: all but the last one have a sample in them, and no other block runs for long.
    let within = |sum: f64, accesses: u64| (sum - accesses as f64).abs() <= 2.0 * LONGEST as f64;
    assert!(within(one.0 + other.0, 2 * EACH) && within(stored.0, EACH), "{loop_of:?}");
    // Which of the two loads is drawn in each stratum is a toss of a coin.
    let sigma = (one.1 + other.1).sqrt();
    assert!((one.0 - other.0).abs() < 5.0 * sigma, "{loop_of:?}");

    // The report has the same periods.
    let report = share.report();
    let in_force = report.0["quality"]["periods"].as_array().expect("periods");
    let in_force = in_force.iter().map(|each| (each["period"].as_u64(), each["samples"].as_u64()));
    assert_eq!(
        in_force.collect::<Vec<_>>(),
        samples.iter().map(|(period, number)| (Some(*period), Some(*number))).collect::<Vec<_>>()
    );
}
