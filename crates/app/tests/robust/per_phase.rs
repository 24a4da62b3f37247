//! `--per-phase`: what is found in each phase of a run, of a program that says when its own begin.

use std::{path::Path, process::Command};

use carom_base::Nanos;
use carom_store::{FootprintRow, Recording};
use serde_json::Value;

use crate::support::{Ending, carom, compile, run, scratch};

/// Milliseconds of each of the program's three phases.
const LENGTH: &str = "600";

/// What a recording of the program has.
struct Recorded {
    report: Value,
    /// The report of the stored profile.
    again: Value,
    /// When the memory was read first, in seconds.
    started: f64,
    /// When the program's second phase began and ended, in seconds.
    second: (f64, f64),
}

fn json(file: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(file).expect("a report")).expect("JSON")
}

fn recorded(options: &[&str]) -> Recorded {
    let program = compile("three_phases.c", &[]);
    let place = scratch();
    let carom = || {
        let mut command = Command::new(carom());
        command.current_dir(place.path());
        command
    };
    let mut command = carom();
    command.args(options).args([
        "--per-phase",
        "-q",
        "-o",
        "profile",
        "--json",
        "out.json",
        "--html",
        "page.html",
    ]);
    let done = run(command.arg("--").arg(&program).arg(LENGTH));
    assert_eq!(done.code(), Some(0), "{}", done.complaint());
    let violations = carom_store::check(&place.path().join("profile")).expect("a profile");
    assert!(violations.is_empty(), "{violations:?}");
    let printed = run(carom().args(["report", "profile", "--json", "again.json", "--csv", "tables"]));
    let text = String::from_utf8_lossy(&printed.stdout).into_owned();
    assert!(text.contains("In each phase") && text.contains("Phases of resident memory"), "{text}");
    assert!(place.path().join("tables/per-phase.csv").exists());
    let page = std::fs::read_to_string(place.path().join("page.html")).expect("a page");
    assert!(page.contains("\"per_phase\""));

    let out = String::from_utf8_lossy(&done.stdout).into_owned();
    let times: Vec<f64> = out.split_whitespace().map(|at| at.parse::<f64>().expect("a time") / 1e9).collect();
    let [second, third, _] = times[..] else { panic!("{out}") };
    let recording = Recording::open(&place.path().join("profile")).expect("a profile");
    let first = recording.rows::<FootprintRow>().map(|row| row.expect("a row").time).min();
    Recorded {
        report: json(&place.path().join("out.json")),
        again: json(&place.path().join("again.json")),
        started: first.unwrap_or(Nanos(0)).0 as f64 / 1e9,
        second: (second, third),
    }
}

impl Recorded {
    fn answers(&self) -> &[Value] {
        self.report["per_phase"].as_array().expect("phases")
    }

    /// How much of an answer's phase is the program's second, and the other way round.
    fn overlap(&self, answer: &Value) -> (f64, f64) {
        let at = |key: &str| self.started + answer[key].as_f64().expect("a number");
        let (from, until) = (at("start_s"), at("end_s"));
        let common = (until.min(self.second.1) - from.max(self.second.0)).max(0.0);
        (common / (until - from), common / (self.second.1 - self.second.0))
    }

    /// All phases together have what the whole run has.
    fn adds_up(&self, key: &str) {
        let parts: u64 = self.answers().iter().map(|answer| answer[key].as_u64().expect("a number")).sum();
        assert_eq!(Some(parts), self.report["quality"][key].as_u64(), "{key}");
        assert!(parts > 0, "{key}");
    }
}

/// Events on the lines of `pair`.
fn events(answer: &Value) -> u64 {
    let findings = answer["share"]["findings"].as_array().expect("findings");
    let of_pair = findings.iter().filter(|finding| finding["object"]["name"] == "pair");
    of_pair.map(|finding| finding["events"].as_u64().expect("a number")).sum()
}

/// Each answer's [`overlap`](Recorded::overlap) and events, of a recording of which all that does not depend on time holds.
fn shared() -> Vec<((f64, f64), u64)> {
    let run = recorded(&["share", "--engine", "translate", "--period", "2000"]);
    assert_eq!(run.report["per_phase"], run.again["per_phase"]);
    assert_eq!(run.report["phases"]["phases"].as_array().expect("phases").len(), run.answers().len());
    run.adds_up("samples");
    run.adds_up("events");
    let told: Vec<_> = run.answers().iter().map(|answer| (run.overlap(answer), events(answer))).collect();
    assert!(told.iter().map(|(_, events)| events).sum::<u64>() >= 30, "{told:?}");
    assert!(told.iter().all(|((_, of_second), events)| *of_second > 0.0 || *events == 0), "{told:?}");
    told
}

/// Whether the phase in which memory rests has the events, and those in which it grows have nearly none. A boundary may be some
/// readings off.
fn is_told_apart(told: &[((f64, f64), u64)]) -> bool {
    let all: u64 = told.iter().map(|(_, events)| events).sum();
    let within: u64 = told.iter().filter(|((of_it, _), _)| *of_it > 0.5).map(|(_, events)| events).sum();
    let outside: Vec<u64> =
        told.iter().filter(|((_, of_second), _)| *of_second < 0.05).map(|(_, events)| *events).collect();
    within as f64 >= 0.8 * all as f64
        && outside.len() >= 2
        && outside.iter().all(|events| *events as f64 <= 0.1 * all as f64)
}

/// Other programs may keep this one waiting, which its memory shows as phases: not in all of several runs.
#[test]
fn sharing_is_found_in_the_phase_that_has_it() {
    let mut runs = Vec::new();
    while !runs.last().is_some_and(|told: &Vec<_>| is_told_apart(told)) {
        runs.push(shared());
        assert!(runs.len() < 8, "{runs:?}");
    }
}

#[test]
fn reuse_is_told_by_phase() {
    let run = recorded(&["reuse", "--period", "5000", "--budget", "none"]);
    assert_eq!(run.report["per_phase"], run.again["per_phase"]);
    run.adds_up("events");
    let told = run.answers().iter().filter(|answer| answer["reuse"]["not_enough"].is_null());
    let curves = |answer: &Value| answer["reuse"]["curves"].as_array().map_or(0, Vec::len);
    assert!(told.clone().count() > 0 && told.clone().all(|answer| curves(answer) > 0));
}

fn refused(options: &[&str]) -> Ending {
    let place = scratch();
    run(Command::new(carom()).current_dir(place.path()).args(options).args(["--", "true"]))
}

#[test]
fn what_has_no_phases_is_refused() {
    for (options, word) in [
        (&["share", "--per-phase", "--runs", "2"][..], "leave out --runs"),
        (&["share", "--per-phase", "--after", "1"], "leave out --runs"),
        (&["reuse", "--per-phase", "--for", "1"], "leave out --runs"),
        (&["reuse", "--per-phase", "--exact"], "leave out --exact"),
    ] {
        let done = refused(options);
        assert_eq!(done.code(), Some(125), "{}", done.complaint());
        let complaint = done.complaint();
        assert!(complaint.contains(word) && complaint.lines().count() == 1, "{complaint}");
    }
}

/// Runs have phases each of their own.
#[test]
fn a_report_on_several_runs_says_that_it_has_none() {
    let place = scratch();
    let carom = |options: &[&str]| {
        let done = run(Command::new(carom()).current_dir(place.path()).args(options));
        assert_eq!(done.code(), Some(0), "{}", done.complaint());
    };
    let program = compile("three_phases.c", &[]);
    for profile in ["one", "other"] {
        carom(&["share", "--per-phase", "-q", "-o", profile, "--", program.to_str().expect("UTF-8"), "60"]);
    }
    carom(&["report", "-q", "one", "other", "--json", "out.json"]);
    let report = json(&place.path().join("out.json"));
    assert!(report["per_phase"].is_null());
    let warnings = report["quality"]["warnings"].as_array().expect("warnings");
    assert!(warnings.iter().any(|warning| warning["code"] == "no-phases"), "{warnings:?}");
}
