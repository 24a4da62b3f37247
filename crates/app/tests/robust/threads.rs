//! Threads by the thousand, and how they end.

use std::process::Command;

use crate::support::{DENSE, Share, compare, compile, keeps, run, same_with};

#[test]
fn cancelled_and_leaving_threads_clean_up() {
    keeps("cancel.c", &[]);
}

#[test]
fn exceptions_unwind_across_samples() {
    keeps("exceptions.cpp", &[]);
}

#[test]
fn ten_thousand_short_threads() {
    keeps("many_threads.c", &["10000", "8"]);
}

#[test]
fn a_thousand_threads_at_once() {
    let report = keeps("many_threads.c", &["1000", "1000"]);
    // All of them and the main thread.
    assert_eq!(report.0["threads"].as_array().map(Vec::len), Some(1001));
}

#[test]
fn the_smallest_stacks() {
    keeps("many_threads.c", &["200", "100", "min"]);
    let program = compile("robust/small_stacks.c", &[]);
    for options in [&DENSE[..], &["--engine", "translate", "--period", "1000"]] {
        let (ending, _) = same_with(options, &program, &[]);
        assert_eq!(ending.code(), Some(0), "{options:?}: {}", ending.complaint());
    }
}

#[test]
fn a_fixed_limit_of_files_or_memory_only_costs_samples() {
    for limit in ["file-size", "memory"] {
        let program = compile("robust/limits.c", &[]);
        let alone = run(Command::new(&program).arg(limit));
        let mut share = Share::new(&DENSE, &program, &[limit]);
        let shared = share.run();
        compare(&share.command, &alone, &shared);
        share.report();
    }
}

/// Between too little to begin with, and enough, the limit is met by any part of the engine.
#[test]
fn little_memory_only_costs_samples() {
    let program = compile("robust/little_memory.c", &[]);
    for mib in (40..240).step_by(10) {
        let mib = mib.to_string();
        let alone = run(Command::new(&program).arg(&mib));
        let mut share = Share::new(&["--engine", "translate", "--period", "1000"], &program, &[&mib]);
        let shared = share.run();
        compare(&share.command, &alone, &shared);
    }
}
