//! `carom diff` on a program before and after its fix.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

use crate::support::{Ending, Recorded, carom, compile, run, scratch};

/// Each run has some 80,000 samples. With a tenth of them, beside other tests, the threads have met 11 times in two runs, which
/// is too few to say that a fix has an effect.
const INCREMENTS: &str = "200000000";

/// Two runs of `counters`, which the fix pads.
fn recorded(flags: &[&str]) -> Recorded {
    let program = compile("counters.c", flags);
    let options = ["--engine", "translate", "--period", "10000", "--budget", "90", "--runs", "2"];
    let mut recorded = Recorded::by("share", &options, &program, &[INCREMENTS]);
    let ending = recorded.run();
    assert_eq!(ending.code(), Some(0), "{}", ending.complaint());
    recorded
}

fn compared(options: &[&str], sides: &[PathBuf]) -> (Ending, Value, String) {
    let place = scratch();
    let file = |name: &str| place.path().join(name);
    let mut diff = Command::new(carom());
    diff.arg("diff").args(options).arg("--json").arg(file("diff.json"));
    let done = run(diff.arg("--markdown").arg(file("diff.md")).args(sides));
    let read = |name: &str| fs::read_to_string(file(name)).unwrap_or_default();
    let json = serde_json::from_str(&read("diff.json")).unwrap_or_default();
    (done, json, read("diff.md"))
}

fn run_of(profile: &Path, number: u32) -> PathBuf {
    let mut name = profile.as_os_str().to_owned();
    name.push(format!("-{number}"));
    name.into()
}

#[test]
fn a_fix_is_seen_and_what_is_undone_fails() {
    let (shared, padded) = (recorded(&[]), recorded(&["-DPADDED"]));
    let sides = [shared.profile(), padded.profile()];

    let (done, json, markdown) = compared(&["--fail-if-new", "--fail-above", "5"], &sides);
    assert_eq!(done.code(), Some(0), "{}", done.complaint());
    let finding = &json["share"]["findings"][0];
    assert_eq!((&finding["object"]["name"], &finding["fate"]), (&"stats".into(), &"gone".into()), "{json}");
    assert_eq!((&json["before"]["runs"], &json["spread"]["basis"]), (&2.into(), &"measured".into()));
    let text = String::from_utf8(done.stdout).expect("UTF-8");
    assert!(text.contains("`stats` (counters.c:") && text.contains(") is gone."), "{text}");
    assert!(markdown.contains("| gone | `stats`"), "{markdown}");

    let [before, after] = sides;
    let (done, json, _) = compared(&["--fail-if-new", "-q"], &[after, before.clone()]);
    assert_eq!(done.code(), Some(124), "{}", done.complaint());
    assert_eq!((&json["gate"]["failed"], done.stdout.len()), (&true.into(), 0));

    // One run against another of the same program.
    let (done, json, _) =
        compared(&["--fail-if-new", "--fail-above", "0"], &[run_of(&before, 1), run_of(&before, 2)]);
    assert_eq!(done.code(), Some(0), "{json}");
    assert_eq!(json["spread"]["basis"], "assumed");
}

#[test]
fn what_has_nothing_in_common_is_refused() {
    let program = compile("counters.c", &[]);
    let mut count = Recorded::by("count", &[], &program, &["1000"]);
    assert_eq!(count.run().code(), Some(0));
    let mut share = Recorded::by("share", &[], &program, &["1000"]);
    assert_eq!(share.run().code(), Some(0));
    let (done, _, _) = compared(&[], &[count.profile(), share.profile()]);
    assert_eq!(done.code(), Some(125));
    assert!(done.complaint().contains("carom count"), "{}", done.complaint());
    let (done, _, _) = compared(&[], &[PathBuf::from("/nowhere"), count.profile()]);
    assert_eq!(done.code(), Some(125));
    assert_eq!(compared(&[], &[]).0.code(), Some(2));
}
