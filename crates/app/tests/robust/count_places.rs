//! Counts by line of source and by function: of code whose counts are known, beside another tool, and in sum.

use std::{collections::BTreeMap, fs, path::Path, process::Command};

use serde_json::Value;
use tempfile::TempDir;

use crate::{
    known_counts::{self, ITERATIONS, SOURCES, THREADS},
    support::{Ending, carom, compile, run, scratch},
};

const ROUNDS: u64 = 1000;

/// What two threads execute in each function (programs/targets/two_places.c).
fn known() -> BTreeMap<&'static str, [(&'static str, u64); 11]> {
    let n = ROUNDS;
    let here = [4 * n + 2, 2 * n + 1, 2 * n, 16 * n + 8, 16 * n, n + 1, n, 0, 1, n, 0];
    let there = [3 * n + 2, 1, n, 8, 8 * n, 2 * n + 1, 2 * n, n, 1, 0, 0];
    let inner = [n, n, 0, 8 * n, 0, n, n, 0, n, 0, 0];
    let events = [
        "instructions",
        "loads",
        "stores",
        "loaded_bytes",
        "stored_bytes",
        "branches",
        "branches_taken",
        "calls",
        "returns",
        "atomics",
        "system_calls",
    ];
    let of_two = |counts: [u64; 11]| std::array::from_fn(|event| (events[event], 2 * counts[event]));
    BTreeMap::from([("here", of_two(here)), ("there", of_two(there)), ("inner", of_two(inner))])
}

/// The program, with its library.
fn two_places() -> String {
    let library = compile("two_places.c", &["-shared", "-fPIC", "-DTHERE"]);
    let program = compile("two_places.c", &[library.to_str().expect("UTF-8")]);
    program.to_str().expect("UTF-8").to_owned()
}

/// `carom count OPTIONS` in a directory of its own, with its JSON.
fn count(place: &TempDir, options: &[&str]) -> (Ending, Value) {
    let mut command = Command::new(carom());
    command.current_dir(place.path()).args(["count", "-o", "runs", "--json", "out.json"]).args(options);
    let done = run(&mut command);
    assert_eq!(done.code(), Some(0), "{}", done.complaint());
    for run in carom_store::runs_of(&place.path().join("runs")) {
        let violations = carom_store::check(&run).expect("a profile");
        assert!(violations.is_empty(), "{}: {violations:?}", run.display());
    }
    (done, read(&place.path().join("out.json")))
}

fn read(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).expect("a report")).expect("JSON")
}

fn places(json: &Value) -> &[Value] {
    json.pointer("/count/places/places").and_then(Value::as_array).expect("places")
}

#[track_caller]
fn place<'a>(json: &'a Value, function: &str) -> &'a Value {
    let all = places(json);
    all.iter().find(|place| place["function"] == function).unwrap_or_else(|| panic!("{function}: {all:?}"))
}

/// All places together are all that the run counted, to the unit.
#[track_caller]
fn adds_up(json: &Value) {
    let events = json.pointer("/count/events").and_then(Value::as_array).expect("events");
    assert_eq!(events.len(), 11);
    for event in events {
        let key = event["name"].as_str().expect("a name").replace('-', "_");
        let of = |sums: &Value| sums[&key].as_u64().unwrap_or_default();
        let found = json.pointer("/count/places").expect("places");
        let all: u64 = places(json).iter().map(of).sum::<u64>() + of(&found["others"]);
        assert_eq!((Some(all), of(&found["unmapped"])), (event["total"].as_u64(), 0), "{key}");
    }
}

#[test]
fn functions_of_program_and_library_have_what_two_threads_execute_there() {
    let place_of_run = scratch();
    let program = two_places();
    let (done, json) = count(&place_of_run, &["--by", "function", "--", &program, &ROUNDS.to_string()]);
    for (function, events) in known() {
        let found = place(&json, function);
        for (event, expected) in events {
            assert_eq!(found[event].as_u64(), Some(expected), "{function}: {event}");
        }
        assert_eq!(found["l1_misses"], Value::Null, "no caches were simulated");
    }
    adds_up(&json);
    assert!(
        done.complaint().contains("Functions, in the first run (counted exactly)"),
        "{}",
        done.complaint()
    );
    // The same rows by line.
    let mut again = Command::new(carom());
    again.current_dir(place_of_run.path());
    let again = run(again.args(["report", "--by", "line", "-q", "--json", "lines.json", "runs"]));
    assert_eq!(again.code(), Some(0), "{}", again.complaint());
    adds_up(&read(&place_of_run.path().join("lines.json")));
}

#[test]
fn only_what_is_asked_for_is_there() {
    let program = two_places();
    let (done, json) =
        count(&scratch(), &["--by", "function", "-e", "calls,branches", "--", &program, &ROUNDS.to_string()]);
    let there = place(&json, "there");
    assert_eq!(places(&json)[0]["function"], "there", "it makes the most calls, which come first");
    assert_eq!((&there["calls"], &there["instructions"]), (&(2 * ROUNDS).into(), &Value::Null));
    assert!(
        done.complaint().contains("branches") && !done.complaint().contains("instr."),
        "{}",
        done.complaint()
    );
}

#[test]
fn simulated_caches_add_their_misses() {
    let program = two_places();
    let options = ["--by", "function", "--simulate-caches", "--", &program, &ROUNDS.to_string()];
    let (done, json) = count(&scratch(), &options);
    assert_eq!(place(&json, "here")["instructions"].as_u64(), Some(2 * (4 * ROUNDS + 2)));
    assert!(places(&json).iter().any(|place| place["l1_misses"].as_u64() > Some(0)), "{json}");
    assert!(done.complaint().contains("misses and invalidations are modelled"), "{}", done.complaint());
    adds_up(&json);
}

/// All functions of a program's file have together what its threads execute there.
#[test]
fn every_event_is_mapped_to_the_file() {
    let threads_c = format!("{SOURCES}/threads.c");
    let iterations = format!("-DITERATIONS={ITERATIONS}");
    for (name, expected) in &known_counts::known() {
        let program = compile(&format!("counts/{name}.S"), &[&threads_c, "-DTHREADS", &iterations]);
        let program = program.to_str().expect("UTF-8");
        let (_, json) = count(&scratch(), &["--by", "function", "--", program, &THREADS.to_string()]);
        adds_up(&json);
        let file = format!("/{name}.S");
        let is_here =
            |place: &&Value| place["file"].as_str().is_some_and(|of_place| of_place.ends_with(&file));
        for (event, count) in expected {
            let found: i64 =
                places(&json).iter().filter(is_here).filter_map(|place| place[event].as_i64()).sum();
            assert_eq!(found, count * THREADS as i64, "{name}: {event}");
        }
    }
}

/// A shell that makes two processes, and goes on itself.
#[test]
fn every_process_counts() {
    let program = two_places();
    let script = format!("{program} 10; {program} 20; true");
    let (_, json) = count(&scratch(), &["--by", "function", "--", "sh", "-c", &script]);
    let here: Vec<u64> = places(&json)
        .iter()
        .filter(|place| place["function"] == "here")
        .filter_map(|place| place["atomics"].as_u64())
        .collect();
    assert_eq!(here, [40, 20]);
    adds_up(&json);
}

/// Instructions by function, as callgrind counts them.
#[test]
fn callgrind_counts_the_same() {
    let (program, place_of_run) = (two_places(), scratch());
    let mut callgrind = Command::new("valgrind");
    callgrind.current_dir(place_of_run.path());
    callgrind.args(["-q", "--tool=callgrind", "--callgrind-out-file=cg", &program, "5000"]);
    if !callgrind.output().is_ok_and(|done| done.status.success()) {
        println!("skipped: tool: valgrind");
        return;
    }
    let mut annotate = Command::new("callgrind_annotate");
    let annotated = annotate.current_dir(place_of_run.path()).arg("cg").output().expect("callgrind_annotate");
    let annotated = String::from_utf8_lossy(&annotated.stdout).into_owned();
    let (_, json) = count(&scratch(), &["--by", "function", "-e", "instructions", "--", &program, "5000"]);
    for function in ["here", "there", "inner"] {
        // `40,004 (15.61%)  ???:here [/…/two_places-1]`
        let line = annotated.lines().find(|line| line.contains(&format!(":{function} ["))).expect("its line");
        let instructions = line.split_whitespace().next().expect("a number").replace(',', "");
        assert_eq!(place(&json, function)["instructions"].to_string(), instructions, "{line}");
    }
}
