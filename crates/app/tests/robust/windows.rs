//! `--after` and `--for`: what lies outside of a window is not observed, and nothing else changes.

use crate::support::{DENSE, Recorded, Report, compare, compile, run};

/// Increments of each of two threads: a second or so of work, far more than a window here.
const INCREMENTS: u64 = 1_000_000_000;

fn observed(command: &str, options: &[&str]) -> Report {
    let program = compile("counters.c", &[]);
    let arguments = [INCREMENTS.to_string()];
    let arguments = arguments.each_ref().map(String::as_str);
    let alone = run(std::process::Command::new(&program).args(arguments));
    let mut recorded = Recorded::by(command, options, &program, &arguments);
    let shared = recorded.run();
    compare(&recorded.command, &alone, &shared);
    recorded.report()
}

fn total(report: &Report, name: &str) -> u64 {
    let events = report.0["count"]["events"].as_array().expect("count.events");
    let event = events.iter().find(|event| event["name"] == name).expect(name);
    event["total"].as_u64().expect("a total")
}

fn followed(report: &Report) -> u64 {
    report.0["reuse"]["quality"]["exact_accesses"].as_u64().expect("reuse.quality.exact_accesses")
}

/// In all there is a load and a store for each increment.
#[test]
fn what_lies_outside_is_not_counted() {
    let part = observed("count", &["--after", "100ms", "--for", "300ms"]);
    let (loads, stores) = (total(&part, "loads"), total(&part, "stores"));
    assert!(
        (1..2 * INCREMENTS).contains(&loads) && (1..2 * INCREMENTS).contains(&stores),
        "{loads}, {stores}"
    );
    assert!(part.warns("window"));
    // What ran natively because nothing was to be counted is no gap, and who slept then did nothing.
    let coverage = &part.0["count"]["coverage"];
    assert_eq!(coverage["uncounted_threads"], 0, "{}", part.verdict());
    assert!(coverage["fraction"].as_f64().expect("a fraction") > 0.99, "{}", part.verdict());
}

#[test]
fn a_window_that_never_opens_shows_nothing() {
    let count = observed("count", &["--after", "1000"]);
    assert_eq!((total(&count, "instructions"), total(&count, "stores")), (0, 0));
    for options in [&DENSE[..], &["--engine", "translate", "--period", "1000"]] {
        let share = observed("share", &[options, &["--after", "1000"]].concat());
        assert_eq!((share.samples(), share.count("events")), (0, 0), "{options:?}");
    }
    let reuse = observed("reuse", &["--period", "1000", "--after", "1000"]);
    let exact = observed("reuse", &["--exact", "--after", "1000"]);
    assert_eq!((reuse.samples(), followed(&exact)), (0, 0));
}

#[test]
fn a_window_that_never_closes_leaves_nothing_out() {
    let all = observed("count", &["--for", "1000"]);
    assert!(total(&all, "stores") > 2 * INCREMENTS);
}

#[test]
fn reuses_are_of_the_window_alone() {
    let exact = observed("reuse", &["--exact", "--after", "100ms", "--for", "500ms"]);
    assert!((1..2 * INCREMENTS).contains(&followed(&exact)), "{}", followed(&exact));
    let sampled =
        observed("reuse", &["--period", "10000", "--budget", "none", "--after", "100ms", "--for", "300ms"]);
    assert!((1..4 * INCREMENTS / 10_000).contains(&sampled.samples()), "{}", sampled.samples());
}

#[test]
fn samples_are_of_the_window_alone() {
    for options in [&DENSE[..], &["--engine", "translate", "--period", "100000"]] {
        let part = observed("share", &[options, &["--after", "100ms", "--for", "300ms"]].concat());
        assert!(part.samples() > 0, "{options:?}");
        // 300 ms of two threads have 20,000 samples of both kinds, one every 60 us; all accesses would have 40,000.
        let most = 4 * INCREMENTS / 100_000;
        assert!(part.samples() < most, "{options:?}: {} samples", part.samples());
    }
}
