//! `carom phases`: the memory of a program over time.

use std::process::Command;

use serde_json::Value;

use crate::support::{Ending, carom, compile, run, scratch};

/// `carom phases OPTIONS`, with its JSON.
fn phases(options: &[&str]) -> (Ending, Value) {
    let place = scratch();
    let mut command = Command::new(carom());
    command.current_dir(place.path()).args(["phases", "--json", "out.json", "-o", "profile"]).args(options);
    let done = run(&mut command);
    let profile = place.path().join("profile");
    if profile.exists() {
        let violations = carom_store::check(&profile).expect("a profile");
        assert!(violations.is_empty(), "{violations:?}");
        // Printed again, with another number of phases.
        let mut again = Command::new(carom());
        let again = run(again.current_dir(place.path()).args(["report", "--phases", "1", "profile"]));
        assert_eq!(again.code(), Some(0), "{}", again.complaint());
    }
    let text = std::fs::read_to_string(place.path().join("out.json")).unwrap_or_default();
    (done, serde_json::from_str(&text).unwrap_or_default())
}

#[test]
fn growth_is_told_from_rest() {
    // 64 steps of 1 MiB and 5 ms, then 400 ms without a change: after the start the two halves have a boundary.
    let program = compile("robust/grows.c", &[]);
    let (done, json) = phases(&["--phases", "2", "--", program.to_str().expect("UTF-8")]);
    assert_eq!((done.code(), &*done.stdout), (Some(3), &b"done\n"[..]), "{}", done.complaint());
    let found = json["phases"]["phases"].as_array().expect("phases");
    let [ramp, rest] = &found[..] else { panic!("{found:?}") };
    let number = |phase: &Value, key: &str| phase[key].as_f64().expect("a number");
    assert!(number(ramp, "slope_bytes_per_s") > 10.0 * number(rest, "slope_bytes_per_s").abs(), "{found:?}");
    assert!(number(rest, "last_bytes") > (60 << 20) as f64, "{found:?}");
    assert!(json["phases"]["readings"].as_u64() > Some(50), "{json}");
}

#[test]
fn what_cannot_be_told_is_said() {
    let (done, json) = phases(&["--", "true"]);
    assert_eq!(done.code(), Some(0), "{}", done.complaint());
    assert!(json["verdict"].as_str().is_some_and(|text| text.contains("too few to tell phases")), "{json}");
    for (options, status, word) in [
        (&["--", "no-such-program"][..], 127, "no-such-program"),
        (&["--runs", "2", "--", "true"], 125, "leave out --runs"),
        (&["--after", "1", "--", "true"], 125, "leave out --runs"),
    ] {
        let (done, _) = phases(options);
        assert_eq!(done.code(), Some(status), "{}", done.complaint());
        assert!(
            done.complaint().contains(word) && done.complaint().lines().count() == 1,
            "{}",
            done.complaint()
        );
    }
}

/// It touches 64 MiB in the first phase, with a rest after each, and nothing in the second.
#[test]
fn faults_belong_to_the_phase_in_which_memory_grows() {
    let program = compile("robust/grows.c", &[]);
    let program = program.to_str().expect("UTF-8");
    let (done, json) = phases(&["--phases", "2", "-e", "page-faults,context-switches", "--", program]);
    assert_eq!((done.code(), &*done.stdout), (Some(3), &b"done\n"[..]), "{}", done.complaint());
    let counters = json["phases"]["counters"].as_array().expect("counters");
    if counters.is_empty() {
        let refused = done.complaint().contains("page-faults is not counted, since");
        assert!(refused && json["phases"]["phases"].as_array().is_some_and(|all| all.len() == 2), "{json}");
        println!("skipped: perf-events: {}", json["warnings"]);
        return;
    }
    let [faults, switches] = &counters[..] else { panic!("{counters:?}") };
    let of = |counter: &Value, phase: usize| counter["by_phase"][phase]["total"].as_f64().expect("a number");
    // 64 MiB are 16,384 pages of 4 KiB; the kernel may take larger ones, and more than one at a time.
    assert!(of(faults, 0) > 64.0 && of(faults, 0) > 20.0 * of(faults, 1), "{faults}");
    assert!(of(switches, 0) + of(switches, 1) > 50.0, "{switches}");
    for counter in [faults, switches] {
        assert_eq!(Some(of(counter, 0) + of(counter, 1)), counter["total"].as_f64(), "{counter}");
    }
    assert!(json["verdict"].as_str().is_some_and(|text| text.contains("% of the page faults")), "{json}");
}

#[test]
fn counters_that_do_not_exist_are_refused() {
    for (event, status, word) in
        [("cycles", 2, "context-switches"), ("no:such_event", 125, "no tracepoint \"no:such_event\"")]
    {
        let (done, _) = phases(&["-e", event, "--", "true"]);
        if done.code() == Some(0) && done.complaint().contains("tracefs") {
            println!("skipped: tracefs: {}", done.complaint());
            continue;
        }
        assert_eq!(done.code(), Some(status), "{}", done.complaint());
        assert!(done.complaint().contains(word), "{}", done.complaint());
    }
}
