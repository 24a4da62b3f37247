//! Random sequences of instructions give the same result in the cache as natively: registers, flags, vector and x87
//! state, and memory. And they are counted as single steps count them.
//!
//! Each test takes a few seconds. `CAROM_FUZZ_SECONDS` or `CAROM_FUZZ_SEQUENCES` extend it, `CAROM_FUZZ_SEED` chooses
//! other sequences. A failure prints the seed and the smallest sequence.
#![allow(clippy::unwrap_used)] // What a test cannot have fails it.

mod campaign;
mod candidates;
mod child;
mod fault;
mod fixed;
mod flow;
mod generate;
mod isa;
mod machine;
mod oracle;
mod place;
mod random;
mod sequence;
mod state;

use campaign::{Extent, ORDER};
use child::{Order, Pass};

/// The engine allocates in the middle of the program's functions, its `malloc` among them.
#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

const SECONDS: u64 = 4;

/// The test that the others start as processes of their own; alone it does nothing.
#[test]
fn child() {
    if let Ok(order) = std::env::var(ORDER) {
        child::obey(&Order::parse(&order).expect("an order"));
    }
}

#[test]
fn counting_changes_nothing() {
    let done = campaign::run(Pass::Count, Extent::from_environment(SECONDS));
    println!("{done:?}");
    assert!(done.codes > 500, "hardly any instructions are left: {done:?}");
    assert!(done.discarded * 4 < done.sequences, "the generator makes too many faults: {done:?}");
}

#[test]
fn sampling_changes_nothing() {
    let done = campaign::run(Pass::Sample, Extent::from_environment(SECONDS));
    println!("{done:?}");
    assert!(done.samples > done.sequences / 20, "{done:?}");
}

#[test]
fn counts_are_those_of_single_steps() {
    let done = campaign::run(Pass::Totals, Extent::from_environment(SECONDS));
    println!("{done:?}");
}

#[test]
fn streaming_changes_nothing() {
    let done = campaign::run(Pass::Stream, Extent::from_environment(SECONDS));
    println!("{done:?}");
    assert!(done.codes > 500, "{done:?}");
}

#[test]
fn watching_changes_nothing() {
    let done = campaign::run(Pass::Watch, Extent::from_environment(SECONDS));
    println!("{done:?}");
    assert!(done.samples > done.sequences, "hardly anything was touched: {done:?}");
}

#[test]
fn episodes_change_nothing() {
    let done = campaign::run(Pass::Episodes, Extent::from_environment(SECONDS));
    println!("{done:?}");
    assert!(done.samples > done.sequences, "hardly anything was touched: {done:?}");
    let counted = campaign::run(Pass::EpisodeTotals, Extent::from_environment(SECONDS));
    println!("{counted:?}");
    assert!(counted.sequences > 10, "{counted:?}");
}

/// In blocks themselves, and in copies that run every other time.
#[test]
fn timing_changes_nothing() {
    let done = campaign::run(Pass::Time, Extent::from_environment(SECONDS));
    println!("{done:?}");
    assert!(done.samples > 10 * done.sequences, "hardly anything was timed: {done:?}");
    let sampled = campaign::run(Pass::TimeSampled, Extent::from_environment(SECONDS));
    println!("{sampled:?}");
    assert!(sampled.samples > 5 * sampled.sequences, "hardly anything was timed: {sampled:?}");
}

#[test]
fn streamed_accesses_are_those_of_single_steps() {
    let done = campaign::run(Pass::Accesses, Extent::from_environment(SECONDS));
    println!("{done:?}");
}

#[test]
fn sampled_accesses_are_those_that_are_streamed() {
    let done = campaign::run(Pass::Sampled, Extent::from_environment(SECONDS));
    println!("{done:?}");
    assert!(done.samples > done.sequences / 20, "{done:?}");
}

/// Faults of all kinds, including exceptions of SSE and x87: the handler finds the registers of a native run.
#[test]
fn faults_are_those_of_native_runs() {
    let done = campaign::run(Pass::Faults, Extent::from_environment(SECONDS));
    println!("{done:?}");
    assert!(done.samples > done.sequences, "hardly anything faulted: {done:?}");
}

/// The same in blocks that are left for samples, and in copies of them.
#[test]
fn faults_among_samples_are_those_of_native_runs() {
    let done = campaign::run(Pass::FaultsSampled, Extent::from_environment(SECONDS));
    println!("{done:?}");
    assert!(done.samples > done.sequences, "hardly anything faulted: {done:?}");
}

/// Wherever in the cache a signal may come, the registers are those in front of an instruction of a native run.
#[test]
fn steps_in_the_cache_are_steps_of_native_runs() {
    let done = campaign::run(Pass::Steps, Extent::from_environment(SECONDS));
    println!("{done:?}");
    assert!(done.samples > 20 * done.sequences, "hardly anything was stepped: {done:?}");
}
