//! Several runs of one command, and two commands against each other.

use std::{fs, path::Path, process::Command};

use serde_json::Value;
use tempfile::TempDir;

use crate::support::{Ending, carom, compile, run, scratch};

/// `carom count OPTIONS` in a directory of its own, with its JSON.
fn count(place: &TempDir, options: &[&str]) -> (Ending, Value) {
    let json = place.path().join("out.json");
    let mut command = Command::new(carom());
    command.current_dir(place.path()).arg("count").arg("--json").arg(&json).args(options);
    let done = run(&mut command);
    let text = fs::read_to_string(json).unwrap_or_default();
    (done, serde_json::from_str(&text).unwrap_or_default())
}

fn carom_in(place: &TempDir, arguments: &[&str]) -> Ending {
    run(Command::new(carom()).current_dir(place.path()).args(arguments))
}

#[track_caller]
fn event<'a>(json: &'a Value, at: &str, name: &str) -> &'a Value {
    let events = json.pointer(at).and_then(Value::as_array).expect("events");
    events.iter().find(|event| event["name"] == name).expect("an event of this name")
}

fn known_counts() -> String {
    compile("counters.c", &[]).to_str().expect("UTF-8").to_owned()
}

#[test]
fn twice_the_work_is_seen() {
    let (place, program) = (scratch(), known_counts());
    let before = format!("{program} 20000");
    let (done, json) = count(&place, &["-r", "3", "--vs", &before, "--", &program, "40000"]);
    assert_eq!(done.code(), Some(0), "{}", done.complaint());
    assert_eq!((&json["before"]["runs"], &json["after"]["runs"]), (&3.into(), &3.into()));
    let stores = event(&json, "/count/events", "stores");
    assert_eq!((&stores["outcome"], &stores["basis"]), (&"more".into(), &"counted".into()), "{stores}");
    let change = stores["relative_change"].as_f64().expect("a number");
    assert!((0.8..=1.0).contains(&change), "{stores}");
    assert_eq!(event(&json, "/count/events", "time")["before"].as_array().map(Vec::len), Some(3));
    let verdict = json["verdict"].as_str().expect("a verdict");
    assert!(verdict.contains("against") && verdict.contains("instructions"), "{verdict}");
    assert!(done.stdout.is_empty(), "the program's output is dropped");
}

#[test]
fn a_series_is_one_profile() {
    let (place, program) = (scratch(), known_counts());
    let (done, json) = count(&place, &["-r", "3", "-o", "series", "--", &program, "1000"]);
    assert_eq!(done.code(), Some(0), "{}", done.complaint());
    let loads = event(&json, "/count/series/events", "loads");
    assert_eq!((loads["values"].as_array().map(Vec::len), &json["program"]["runs"]), (Some(3), &3.into()));

    // Printed again it says the same.
    let again = carom_in(&place, &["report", "-q", "--json", "again.json", "series"]);
    assert_eq!(again.code(), Some(0), "{}", again.complaint());
    let text = fs::read_to_string(place.path().join("again.json")).expect("a report");
    assert_eq!(serde_json::from_str::<Value>(&text).expect("JSON"), json);

    // Against itself nothing changes.
    let diff = carom_in(&place, &["diff", "--json", "diff.json", "series", "series"]);
    assert_eq!(diff.code(), Some(0), "{}", diff.complaint());
    let text = fs::read_to_string(place.path().join("diff.json")).expect("a comparison");
    let diff: Value = serde_json::from_str(&text).expect("JSON");
    assert!(diff["verdict"].as_str().is_some_and(|text| text.starts_with("No event changed")), "{diff}");

    let list = carom_in(&place, &["list", "--json"]);
    let list: Value = serde_json::from_slice(&list.stdout).expect("JSON");
    assert_eq!(list["profiles"].as_array().map(Vec::len), Some(1), "{list}");
    for run in ["series/run-1", "series/run-6"] {
        let violations = carom_store::check(&place.path().join(run)).expect("a profile");
        assert!(violations.is_empty(), "{run}: {violations:?}");
    }
    assert_eq!(carom_in(&place, &["rm", "series"]).code(), Some(0));
    assert!(!place.path().join("series").exists());
}

#[test]
fn every_run_reads_the_input_from_its_beginning() {
    let place = scratch();
    let input = place.path().join("input");
    fs::write(&input, "line\n".repeat(1000)).expect("a file");
    let mut command = Command::new("sh");
    let script =
        format!("exec '{}' count -q -r 3 -e loads -o s --json out.json -- wc -l < input", carom().display());
    let done = run(command.current_dir(place.path()).args(["-c", &script]));
    // Without the redirection of the shell, since `run` closes standard input.
    assert_eq!(done.code(), Some(0), "{}", done.complaint());
    let text = fs::read_to_string(place.path().join("out.json")).expect("a report");
    let json: Value = serde_json::from_str(&text).expect("JSON");
    let loads = event(&json, "/count/series/events", "loads");
    assert_eq!(loads["values"].as_array().map(Vec::len), Some(3), "only -e loads: no native runs");
    let values: Vec<f64> =
        loads["values"].as_array().into_iter().flatten().filter_map(Value::as_f64).collect();
    let spread = values.iter().fold(0.0, |most: f64, value| most.max((value / values[0] - 1.0).abs()));
    assert!(values[0] > 1_000.0 && spread < 0.1, "{values:?}");
}

/// One sentence, the status, and nothing left behind.
#[track_caller]
fn refused(options: &[&str], status: i32, word: &str) {
    let place = scratch();
    let (done, _) = count(&place, options);
    assert_eq!(done.code(), Some(status), "{}", done.complaint());
    assert!(done.complaint().contains(word), "{}", done.complaint());
    assert_eq!(done.complaint().lines().count(), 1, "{}", done.complaint());
    assert_eq!(fs::read_dir(place.path()).expect("a directory").count(), 0);
}

#[test]
fn what_cannot_run_is_refused_in_a_sentence() {
    refused(&["-r", "2", "--", "false"], 125, "`false` ended with status 1; --ignore-failure");
    refused(&["--vs", "true", "--", "false"], 125, "`false` ended with status 1");
    refused(&["--vs", "sh -c 'kill -9 $$'", "--", "true"], 125, "was ended by signal 9");
    refused(&["-r", "2", "--", "no-such-program"], 127, "no-such-program");
    refused(&["--vs", "no-such-program x", "--", "true"], 127, "no-such-program");
    // Without a run under carom, too.
    refused(&["-e", "time", "--", "no-such-program"], 127, "no-such-program: no such program");
    refused(&["-e", "time", "--vs", "true", "--", "./no-such-program"], 127, "no such program");
    refused(&["-e", "time", "--vs", "no-such-program", "--", "true"], 127, "no-such-program");
    refused(&["-e", "time", "--", "/etc/passwd"], 126, "/etc/passwd");
    refused(&["--vs", "a 'b", "--", "true"], 125, "not a command");
    refused(&["--vs", "", "--", "true"], 125, "not a command");
    refused(&["--after", "1", "-e", "time", "--", "true"], 125, "leave out --after");
    refused(&["-r", "2", "--per-thread", "--", "true"], 125, "leave it out");
    refused(&["-r", "2", "-o", "/proc/nowhere", "--", "true"], 125, "/proc/nowhere");
}

#[test]
fn programs_that_fail_can_be_counted_all_the_same() {
    let place = scratch();
    let (done, json) = count(&place, &["--ignore-failure", "-r", "2", "--", "false"]);
    assert_eq!(done.code(), Some(0), "{}", done.complaint());
    assert!(event(&json, "/count/series/events", "instructions")["mean"].as_f64() > Some(100.0));
}

#[test]
fn one_run_each_is_said_to_prove_nothing() {
    let (place, program) = (scratch(), known_counts());
    let before = format!("{program} 20000");
    let (done, json) = count(&place, &["-r", "1", "--vs", &before, "--", &program, "40000"]);
    assert_eq!(done.code(), Some(0), "{}", done.complaint());
    let stores = event(&json, "/count/events", "stores");
    assert_eq!((&stores["outcome"], &stores["p"]), (&"untested".into(), &Value::Null), "{stores}");
    assert!(json["verdict"].as_str().is_some_and(|text| text.contains("One run on a side")), "{json}");
}

#[test]
fn a_static_program_is_measured_only() {
    let place = scratch();
    let program = compile("counters.c", &["-static"]);
    let program = program.to_str().expect("UTF-8");
    let (done, json) = count(&place, &["-r", "3", "--", program, "1000"]);
    assert_eq!(done.code(), Some(0), "{}", done.complaint());
    assert!(done.complaint().contains("nothing is counted"), "{}", done.complaint());
    assert_eq!(event(&json, "/count/series/events", "time")["values"].as_array().map(Vec::len), Some(3));
    assert!(Path::new(program).exists());
}

#[test]
fn events_are_listed() {
    let done = carom_in(&scratch(), &["count", "--list", "faults"]);
    assert_eq!(done.code(), Some(0), "{}", done.complaint());
    let text = String::from_utf8_lossy(&done.stdout);
    assert!(text.contains("major-faults") && !text.contains("loads") && text.contains("cycles"), "{text}");
    assert_eq!(carom_in(&scratch(), &["count", "--list", "cycles"]).code(), Some(125));
    let done = carom_in(&scratch(), &["count", "--list"]);
    let text = String::from_utf8(done.stdout).expect("UTF-8");
    assert!(done.status.success() && text.contains("peak-memory") && text.contains("instructions"), "{text}");
}

#[test]
fn limits_decide_the_status() {
    let (place, program) = (scratch(), known_counts());
    let before = format!("{program} 20000");
    let budget = place.path().join("budget");
    fs::write(&budget, "stores > 5%  # the hot loop\n").expect("a file");
    let budget = budget.to_str().expect("UTF-8");
    let versus = |more: &[&str], now: &str| {
        let options = [&["-r", "4", "-e", "stores,loads", "--vs", &before][..], more, &["--", &program, now]];
        count(&place, &options.concat())
    };
    let (done, json) = versus(&["--budget", budget], "40000");
    assert_eq!(done.code(), Some(124), "{}", done.complaint());
    let condition = &json["gate"]["conditions"][0];
    assert_eq!((&condition["event"], &condition["state"]), (&"stores".into(), &"failed".into()), "{json}");
    let (done, json) = versus(&["--budget", budget, "--fail-if", "loads > 100G"], "20000");
    assert_eq!((done.code(), &json["gate"]["failed"]), (Some(0), &false.into()), "{}", done.complaint());
    // What was not measured must not pass.
    let (done, _) = versus(&["--fail-if", "time > 5%"], "20000");
    assert_eq!(done.code(), Some(125), "{}", done.complaint());
    assert!(done.complaint().contains("`time > 5%` cannot be judged"), "{}", done.complaint());

    let (done, json) = count(&place, &["-r", "2", "--fail-if", "stores > 10k", "--", &program, "20000"]);
    assert_eq!(done.code(), Some(124), "{}", done.complaint());
    assert_eq!(json["count"]["series"]["conditions"][0]["state"], "failed");
    let (done, _) = count(&place, &["--fail-if", "stores > 5%", "--", &program, "1"]);
    assert_eq!(done.code(), Some(125), "{}", done.complaint());
    assert!(done.complaint().contains("--vs, or carom diff"), "{}", done.complaint());
}

#[test]
fn what_follows_a_parameter_is_told_with_its_law() {
    let (place, program) = (scratch(), known_counts());
    let options = ["-r", "2", "-e", "stores", "--param", "n=1000..32000*2", "--", &program, "{n}"];
    let (done, json) = count(&place, &options);
    assert_eq!(done.code(), Some(0), "{}", done.complaint());
    assert_eq!(json["count"]["regression"]["parameters"][0]["values"].as_array().map(Vec::len), Some(6));
    let laws = json["count"]["regression"]["laws"].as_array().expect("laws");
    let [stores] = &laws[..] else { panic!("only what was asked for: {laws:?}") };
    // Two threads with one store each per increment, at least. How they start and wait adds some tens of stores, which now and
    // then bend the line a little.
    assert_eq!(stores["depends"], true, "{stores}");
    let coefficients: Vec<f64> =
        stores["coefficients"].as_array().into_iter().flatten().filter_map(Value::as_f64).collect();
    match (stores["model"].as_str(), coefficients.as_slice()) {
        (Some("linear"), [_, slope]) => assert!(*slope >= 1.99, "{stores}"),
        (Some("quadratic"), [_, slope, bend]) => {
            assert!(*slope >= 1.9 && bend.abs() * 32_000.0 < 0.1, "{stores}");
        }
        _ => panic!("{stores}"),
    }
    assert_eq!(stores["points"].as_array().map(Vec::len), Some(12));
    refused(&["--param", "n=1,2,3", "--", "true"], 125, "{n} stands nowhere");
    refused(&["--param", "n=1,2,3", "--fail-if", "loads > 1", "--", "true", "{n}"], 125, "--param");
}

/// Instructions of `counters N` are known to grow by a line. How long they take is not judged: machines are busy.
#[test]
fn a_larger_size_is_predicted() {
    let (place, program) = (scratch(), known_counts());
    let sizes =
        ["--param", "n=1000..32000*2", "--at", "n=256000", "-r", "2", "-o", "sizes", "--", &program, "{n}"];
    let done = carom_in(&place, &[&["count", "predict", "--json", "sizes.json"], &sizes[..]].concat());
    assert_eq!(done.code(), Some(0), "{}", done.complaint());
    let text = fs::read_to_string(place.path().join("sizes.json")).expect("a report");
    let json: Value = serde_json::from_str(&text).expect("JSON");
    let (_, truth) = count(&place, &[&program, "256000"]);
    let truth = event(&truth, "/count/events", "instructions")["total"].as_f64().expect("a total");
    let there = &event(&json, "/count/prediction/indicators", "instructions")["there"];
    let estimate = there["estimate"].as_f64().expect("an estimate");
    assert!((estimate / truth - 1.0).abs() < 0.02, "{estimate} instead of {truth}");
    assert_eq!(json["count"]["prediction"]["sizes"].as_array().map(Vec::len), Some(6));

    // The same runs tell of another size.
    let again =
        carom_in(&place, &["count", "predict", "--from", "sizes", "--at", "n=64000", "-e", "instructions"]);
    assert_eq!(again.code(), Some(0), "{}", again.complaint());
    let text = String::from_utf8_lossy(&again.stdout);
    assert!(text.contains("At `n` = 64000, 2 times the largest size that ran"), "{text}");
}

#[test]
fn what_cannot_be_predicted_is_refused() {
    let (place, program) = (scratch(), known_counts());
    let refused = |options: &[&str], why: &str| {
        let done = carom_in(&place, &[&["count", "predict"], options, &["--", &program, "{n}"]].concat());
        assert_eq!(done.code(), Some(125), "{}", done.complaint());
        assert!(done.complaint().contains(why), "{}", done.complaint());
    };
    refused(&["--param", "n=1,2,3", "--at", "n=9"], "too few");
    refused(&["--param", "n=1..8", "--at", "m=9"], "no --param m");
}

/// With tracefs in a mount namespace of its own, where that may be made.
#[test]
fn tracepoints_are_counted_as_often_as_they_are_passed() {
    let place = scratch();
    let json = place.path().join("out.json");
    let under = |prepare: &str, options: &[&str]| {
        let mut command = Command::new("unshare");
        command.current_dir(place.path()).args(["-m", "sh", "-c", &format!("{prepare} exec \"$@\""), "sh"]);
        run(command.arg(carom()).args(["count", "--json"]).arg(&json).args(options))
    };
    let mounted = "mount -t tracefs tracefs /sys/kernel/tracing || exit 77;";
    // The shell, and two children of it, each execute a program.
    let options =
        ["-r", "2", "-e", "sched:sched_process_exec", "--", "sh", "-c", "/bin/true; /bin/true; exit"];
    let done = under(mounted, &options);
    if done.code() == Some(77) || done.complaint().contains("unshare") {
        println!("skipped: tracefs: {}", done.complaint());
        return;
    }
    if done.complaint().contains("perf_event_open") {
        println!("skipped: perf-events: {}", done.complaint());
        return;
    }
    assert_eq!(done.code(), Some(0), "{}", done.complaint());
    let report: Value = serde_json::from_str(&fs::read_to_string(&json).expect("a report")).expect("JSON");
    let found = event(&report, "/count/series/events", "sched:sched_process_exec");
    assert_eq!((&found["values"], &found["unit"]), (&vec![3, 3].into(), &"times".into()), "{report}");
    let done = under(mounted, &["-e", "sched:no_such", "--", "touch", "ran"]);
    assert_eq!(done.code(), Some(125), "{}", done.complaint());
    assert!(done.complaint().contains("no tracepoint \"sched:no_such\""), "{}", done.complaint());
    let hidden =
        "mount -t tmpfs tmpfs /sys/kernel/tracing && mount -t tmpfs tmpfs /sys/kernel/debug || exit 77;";
    let done = under(hidden, &["-e", "sched:sched_switch", "--", "touch", "ran"]);
    if done.code() != Some(77) {
        assert_eq!(done.code(), Some(125), "{}", done.complaint());
        assert!(done.complaint().contains("tracefs is not mounted"), "{}", done.complaint());
    }
    assert!(!place.path().join("ran").exists());
}
