//! `carom profile`: several questions in one run, each answered as by itself.

use crate::support::{Recorded, Report, compare, compile, run};

/// Increments of each of two threads, of counters in one line.
const INCREMENTS: &str = "300000000";

fn profiled(options: &[&str]) -> Report {
    let program = compile("counters.c", &[]);
    let alone = run(std::process::Command::new(&program).arg(INCREMENTS));
    let mut recorded = Recorded::by("profile", options, &program, &[INCREMENTS]);
    let shared = recorded.run();
    compare(&recorded.command, &alone, &shared);
    recorded.report()
}

/// Two threads increment counters side by side: nearly all accesses go to that line, and nothing else is used again from afar.
#[test]
fn the_planted_problem_comes_first() {
    let report = profiled(&[]);
    let first = &report.0["findings"][0];
    assert_eq!((&first["question"], &first["kind"]), (&"share".into(), &"false sharing".into()), "{first}");
    assert!(first["share_of_accesses"].as_f64().is_some_and(|share| share > 0.9), "{first}");
    assert!(
        first["remedy"].is_string() && report.verdict().contains("false sharing"),
        "{}",
        report.verdict()
    );
    let stores = report.0["count"]["events"]
        .as_array()
        .expect("events")
        .iter()
        .find(|event| event["name"] == "stores");
    assert!(stores.is_some_and(|stores| stores["total"].as_u64() >= Some(600_000_000)), "{stores:?}");
    assert!(report.0["reuse"]["quality"]["offered"].as_u64() > Some(100), "{}", report.0["reuse"]["quality"]);
}

#[test]
fn only_what_is_asked_is_answered() {
    let report = profiled(&["--only", "share,count"]);
    assert!(report.0["share"].is_object() && report.0["count"].is_object());
    assert!(report.0.get("reuse").is_none());
    let report = profiled(&["--skip", "share"]);
    assert!(report.0.get("share").is_none() && report.0["reuse"].is_object());
    let report = profiled(&["--only", "count"]);
    assert!(report.verdict().contains("instructions") && report.0.get("findings").is_none());
    let report = profiled(&["--skip", "count"]);
    assert!(report.0.get("count").is_none());
}

/// The first finding about a walk over 8 MiB with a cache of this size.
fn first_of_walk(walk: &str, cache: &str) -> serde_json::Value {
    let program = compile("walks.c", &["-O2"]);
    let options = ["--cache", cache, "--period", "20000", "--budget", "50"];
    let mut recorded = Recorded::by("profile", &options, &program, &[walk, "8388608", "40"]);
    assert_eq!(recorded.run().code(), Some(0));
    let first = recorded.report().0["findings"][0].clone();
    assert_eq!(first["question"], "reuse", "{first}");
    first
}

/// Each walk comes back to a line after 8 times what the cache holds: after all 8 MiB, or, across, after a column of 1,024
/// lines. Some 4,000 samples tell that with a standard deviation of .6.
#[test]
fn misses_come_with_what_to_do_about_them() {
    for (walk, cache, expect) in [
        ("across", "8K", "walks across the lines"),
        ("along", "1M", "make all passes over one block before the next"),
        ("twice", "1M", "Do both to a block"),
        ("random", "1M", "accesses in no order"),
    ] {
        let first = first_of_walk(walk, cache);
        let remedy = first["remedy"].as_str().unwrap_or_default();
        assert!(remedy.contains(expect), "{walk}: {first}");
        let times =
            remedy.split_once(" times").and_then(|(before, _)| before.split(' ').next_back()?.parse().ok());
        assert!(
            walk == "random" || times.is_some_and(|times: f64| (6.0..11.0).contains(&times)),
            "{walk}: {first}"
        );
    }
}

/// Nothing that is done in another order avoids first accesses.
#[test]
fn misses_of_first_accesses_have_no_remedy() {
    let first = first_of_walk("once", "1M");
    assert!(first["text"].as_str().is_some_and(|text| text.contains("first accesses")), "{first}");
    assert!(first.get("remedy").is_none(), "{first}");
}
