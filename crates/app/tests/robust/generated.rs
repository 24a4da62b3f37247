//! Code that a program makes while it runs has the names that the program writes down, in a profile that was moved too.

use std::{fs, process::Command};

use crate::support::{DENSE, Recorded, carom, compile, run, scratch};

/// A program that describes its code in `how`, and what a report says of it once the description is gone.
fn reported(how: &str, options: &[&str]) -> String {
    let program = compile("robust/generated.c", &["-O1", "-pthread"]);
    let place = scratch();
    let directory = place.path().to_str().expect("UTF-8");
    let mut recorded = Recorded::by("share", options, &program, &[how, directory, "200000000"]);
    let ending = recorded.run();
    assert_eq!(ending.code(), Some(0), "{}", ending.complaint());
    let report = recorded.report();
    let pid = report.0["processes"][0]["pid"].as_u64().expect("a number");
    let map = format!("/tmp/perf-{pid}.map");
    if how == "perf" {
        fs::remove_file(map).expect("written by the program");
    }
    drop(place);
    let ending = run(Command::new(carom()).arg("report").arg("-v").arg(recorded.profile()));
    assert_eq!(ending.code(), Some(0), "{}", ending.complaint());
    String::from_utf8(ending.stdout).expect("UTF-8")
}

#[test]
fn code_is_named_by_a_map_and_by_a_dump() {
    for how in ["perf", "dump"] {
        let text = reported(how, &[&["--engine", "burst"], &DENSE[..]].concat());
        assert!(text.contains("add_first") && text.contains("add_second"), "{how}: {text}");
        assert_eq!(text.contains("source.js:20"), how == "dump", "{how}: {text}");
    }
}

/// The translator leaves such code: what it has seen is not the program, and the verdict says so first.
#[test]
fn a_verdict_on_translated_code_begins_with_what_was_not_seen() {
    let text = reported("perf", &["--engine", "translate"]);
    let verdict = text.lines().next().expect("a verdict");
    assert!(verdict.starts_with("Only ") && text.contains("carom share --engine burst -- "), "{text}");
}
