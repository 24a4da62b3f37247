//! Counts of simulated caches: misses of orders of a walk, and what threads ask of each other.

use std::{fs, path::Path, process::Command};

use serde_json::Value;

use crate::support::{carom, compile, run, scratch};

/// `carom count -q --json … OPTIONS`, in a directory of its own.
fn count(options: &[&str]) -> Value {
    let place = scratch();
    let json = place.path().join("out.json");
    let mut command = Command::new(carom());
    let done = run(command
        .current_dir(place.path())
        .args(["count", "-q", "-o", "runs", "--json"])
        .arg(&json)
        .args(options));
    assert_eq!(done.code(), Some(0), "{}", done.complaint());
    for run in carom_store::runs_of(&place.path().join("runs")) {
        let violations = carom_store::check(&run).expect("a profile");
        assert!(violations.is_empty(), "{}: {violations:?}", run.display());
    }
    serde_json::from_slice(&fs::read(json).expect("a report")).expect("JSON")
}

fn name(program: &Path) -> &str {
    program.to_str().expect("UTF-8")
}

#[track_caller]
fn event<'a>(json: &'a Value, at: &str, name: &str) -> &'a Value {
    let events = json.pointer(at).and_then(Value::as_array).expect("events");
    events.iter().find(|event| event["name"] == name).unwrap_or_else(|| panic!("{name}: {events:?}"))
}

/// 512 times 512 doubles, of which eight share a line. Across the rows each load comes to another line and, until it is back, to
/// 511 others, a page from each other: more than a first level holds, and more pages than a TLB's.
#[test]
fn a_walk_across_the_lines_misses_more_and_executes_as_much() {
    let program = compile("walks.c", &["-O2", "-g"]);
    let bytes = (512 * 512 * 8).to_string();
    let before = format!("{} along {bytes} 2", name(&program));
    let events = "instructions,loads,l1-load-misses,dtlb-load-misses";
    let json =
        count(&["-r", "3", "-e", events, "--vs", &before, "--", name(&program), "across", &bytes, "2"]);
    let of = |name: &str| event(&json, "/count/events", name);
    for misses in ["l1-load-misses", "dtlb-load-misses"] {
        let found = of(misses);
        assert_eq!((&found["basis"], &found["outcome"]), (&"simulated".into(), &"more".into()), "{found}");
        assert!(found["relative_change"].as_f64().is_some_and(|by| by > 3.0), "{found}");
        assert!(found["p_adjusted"].as_f64().is_some_and(|p| p < 0.05), "{found}");
    }
    // A quarter of a million loads of each round in either order.
    let loads = of("loads");
    assert!(loads["relative_change"].as_f64().is_none_or(|by| by.abs() < 0.2), "{loads}");
    assert!(
        json["count"]["events"].as_array().is_some_and(|events| events.len() == 4),
        "no others are reported"
    );
}

/// A word that two threads pass back and forth: almost every line that a core asks for was the other one's. Who waits sleeps:
/// a thread that looks until its turn has come makes as many accesses as the machine's load lets it.
#[test]
fn cores_that_take_lines_from_each_other_are_a_bottleneck() {
    let program = compile("ping_pong.c", &["-O2", "-g", "-pthread"]);
    let json = count(&["--preset", "coherence", "--", name(&program), "asleep", "2000"]);
    let cores = json.pointer("/count/coherence/cores").and_then(Value::as_array).expect("cores");
    let busy = cores.iter().filter(|core| core["bottleneck"] == true).count();
    assert!(busy >= 2, "{cores:?}");
    let verdict = json["verdict"].as_str().expect("a verdict");
    assert!(
        verdict.starts_with("Coherence may be a bottleneck on") && verdict.contains("simulated"),
        "{verdict}"
    );
    assert!(
        event(&json, "/count/series/events", "invalidations")["mean"]
            .as_f64()
            .is_some_and(|all| all > 2000.0)
    );
    // One thread alone asks nobody.
    let alone = count(&["--preset", "coherence", "--", "true"]);
    assert!(alone["verdict"].as_str().is_some_and(|verdict| verdict.starts_with("One core")), "{alone}");
}
