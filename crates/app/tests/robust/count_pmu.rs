//! Events of PMUs, and all events. Many machines have no PMU of the processor, but on x86 that of its model-specific
//! registers (`msr`), which counts the ticks of the time-stamp counter in a program's threads.

use std::{fs, path::Path, process::Command};

use serde_json::Value;
use tempfile::TempDir;

use crate::support::{Ending, carom, compile, run, scratch};

const TICKS: &str = "msr/tsc/";

/// `carom count OPTIONS` in a directory of its own, with its JSON.
fn count(place: &TempDir, options: &[&str]) -> (Ending, Value) {
    let json = place.path().join("out.json");
    let mut command = Command::new(carom());
    command.current_dir(place.path()).arg("count").arg("--json").arg(&json).args(options);
    let done = run(&mut command);
    let text = fs::read_to_string(json).unwrap_or_default();
    (done, serde_json::from_str(&text).unwrap_or_default())
}

fn known_counts() -> String {
    compile("counters.c", &[]).to_str().expect("UTF-8").to_owned()
}

fn series(json: &Value) -> &[Value] {
    json["count"]["series"]["events"].as_array().map_or(&[], Vec::as_slice)
}

fn event<'a>(json: &'a Value, name: &str) -> Option<&'a Value> {
    series(json).iter().find(|event| event["name"] == name)
}

/// Whether the event had a counter all the time. A moment passes between its beginning and the first count.
fn is_whole(event: &Value) -> bool {
    event["time_share"].as_f64().is_some_and(|share| (0.99..=1.0).contains(&share))
}

/// Whether the event may be counted here: `done` asked for it. What `--all` says is of other events, too.
fn has_ticks(done: &Ending) -> bool {
    let listed = Path::new("/sys/bus/event_source/devices/msr/events/tsc").exists();
    let denied = done.complaint().contains("perf_event_open");
    if !listed || denied {
        println!("skipped: perf-events: {}", done.complaint());
    }
    listed && !denied
}

#[test]
fn events_of_a_pmu_are_counted() {
    let (place, program) = (scratch(), known_counts());
    let options =
        ["-r", "3", "-e", &format!("{TICKS},msr/event=0/,task-clock,time"), "--", &program, "20000"];
    let (done, json) = count(&place, &options);
    if !has_ticks(&done) {
        return;
    }
    assert_eq!(done.code(), Some(0), "{}", done.complaint());
    let ticks = event(&json, TICKS).expect("the event");
    assert_eq!((&ticks["unit"], &ticks["basis"]), (&"events".into(), &"native".into()));
    assert!(is_whole(ticks), "{ticks}");
    let values = |name: &str| -> Vec<f64> {
        let event = event(&json, name).expect("an event");
        event["values"].as_array().into_iter().flatten().filter_map(Value::as_f64).collect()
    };
    assert_eq!(values(TICKS).len(), 3);
    // The same event by its number ran beside it. Processors of today tick 0.1 to 10 times in a nanosecond.
    for ((by_name, by_number), clock) in
        values(TICKS).iter().zip(values("msr/event=0/")).zip(values("task-clock"))
    {
        assert!((by_name / by_number - 1.0).abs() < 0.05, "{by_name} {by_number}");
        assert!((0.05..20.0).contains(&(by_name / (clock * 1e9))), "{by_name} in {clock} s");
    }

    // The profile says the same, and a comparison and a limit take such events.
    // Runs enough to be sure of it where they take turns with others.
    let (done, json) =
        count(&place, &["-r", "6", "-e", TICKS, "--fail-if", "msr/tsc/ > 1", "--", &program, "100"]);
    assert_eq!(done.code(), Some(124), "{}", done.complaint());
    assert_eq!(json["count"]["series"]["conditions"][0]["state"], "failed");
    let before = format!("{program} 200000");
    let (done, json) = count(&place, &["-r", "2", "-e", TICKS, "--vs", &before, "--", &program, "100"]);
    assert_eq!(done.code(), Some(0), "{}", done.complaint());
    assert_eq!(json["count"]["events"][0]["name"], TICKS, "{json}");
}

#[test]
fn all_is_what_this_machine_can_count() {
    let (place, program) = (scratch(), known_counts());
    let (done, json) = count(&place, &["--all", "--", &program, "1000"]);
    assert_eq!(done.code(), Some(0), "{}", done.complaint());
    let said = done.complaint();
    assert!(
        said.contains("3 runs: 1 to begin with, 1 counted exactly, and 1 measured without carom"),
        "{said}"
    );
    assert!(said.contains("--all leaves out tracepoints"), "{said}");
    // Exact counts, what the kernel says of every run, and nothing that is only simulated.
    for name in [
        "instructions",
        "system-calls",
        "time",
        "minor-faults",
        "voluntary-switches",
        "bytes-read",
        "peak-memory",
    ] {
        let known = event(&json, name).is_some();
        // Less than carom's own is not known.
        assert!(known || name == "peak-memory", "{name}");
    }
    assert!(series(&json).iter().all(|event| event["basis"] != "simulated"));
    assert!(said.contains("0 in all runs ("), "{said}");
    let (asked, _) = count(&place, &["-e", TICKS, "--", &program, "100"]);
    if has_ticks(&asked) {
        assert!(event(&json, TICKS).is_some(), "{json}");
        // Processors of AMD list one event of `msr`, those of Intel two.
        assert!(said.contains("one event of a PMU") || said.contains("events of PMUs"), "{said}");
    }
}

#[test]
fn what_is_not_counted_is_refused_before_the_program_runs() {
    let place = scratch();
    let refused = |options: &[&str], parts: &[&str]| {
        let (done, _) = count(&place, &[options, &["--", "touch", "ran"]].concat());
        let said = done.complaint();
        assert!(matches!(done.code(), Some(2 | 125)), "{said}");
        assert!(parts.iter().all(|part| said.contains(part)), "{said}");
        assert!(!place.path().join("ran").exists(), "{options:?}");
    };
    refused(&["-e", "gpu/x/"], &["this machine has no PMU \"gpu\"", "carom doctor"]);
    refused(&["-e", "cycles"], &["pmu/event/"]);
    refused(&["--multiplex"], &["events of PMUs"]);
    refused(&["--all", "-e", "time"], &["cannot be used with"]);
    if Path::new("/sys/bus/event_source/devices/msr/events/tsc").exists() {
        refused(&["-e", "msr/tock/"], &["msr has no event or field \"tock\"", "tsc"]);
        refused(&["-e", "msr/tsc/x"], &["no modifier"]);
        // It ticks in all modes.
        refused(&["-e", "msr/tsc/u"], &["msr/tsc/u is not counted, since perf_event_open"]);
    }
}

/// Those of `msr` need no counters, so that there is always room.
#[test]
fn events_that_take_turns_say_for_how_long_they_were_counted() {
    let (place, program) = (scratch(), known_counts());
    let options = ["--multiplex", "-e", &format!("{TICKS},msr/event=0/"), "--", &program, "1000"];
    let (done, json) = count(&place, &options);
    if !has_ticks(&done) {
        return;
    }
    assert_eq!(done.code(), Some(0), "{}", done.complaint());
    assert!(event(&json, TICKS).is_some_and(is_whole), "{json}");
}
