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
}
