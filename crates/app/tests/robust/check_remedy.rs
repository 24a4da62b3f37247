//! `carom share --check-remedy`: a second run, simulated with the layouts that the remedies ask for.

use std::process::Command;

use serde_json::Value;

use crate::support::{Recorded, carom, compare, compile, run, scratch};

/// The worst finding of this program, and the recording.
fn worst(options: &[&str], file: &str, arguments: &[&str]) -> (Value, Recorded) {
    let program = compile(file, &["-O2"]);
    let alone = run(Command::new(&program).args(arguments));
    let mut recorded = Recorded::by("share", options, &program, arguments);
    let shared = recorded.run();
    // The output of the second run is not seen.
    compare(&recorded.command, &alone, &shared);
    let finding = recorded.report().0["share"]["findings"][0].clone();
    (finding, recorded)
}

fn number(value: &Value, key: &str) -> u64 {
    value[key].as_u64().unwrap_or_else(|| panic!("{key}: {value}"))
}

/// Two counters side by side: once one begins a line of its own, nothing is taken. The program runs long enough for its threads
/// to run side by side on a busy machine, too.
#[test]
fn padding_is_supported_where_it_ends_false_sharing() {
    let options = ["--period", "1000", "--check-remedy=8M"];
    let (finding, recorded) = worst(&options, "counters.c", &["40000000"]);
    let check = &finding["remedy"]["check"];
    assert_eq!(
        (&finding["remedy"]["kind"], &check["outcome"]),
        (&"pad".into(), &"supported".into()),
        "{finding}"
    );
    let simulated = &check["simulated"];
    assert_eq!(simulated["basis"], "modelled");
    // What the window has, and what each thread has in hand when it ends.
    assert!((8_000_000..8_100_000).contains(&number(simulated, "accesses")), "{simulated}");
    // Threads that run evenly make 16 accesses in a row, from when both have begun.
    let taken = number(simulated, "transfers_before");
    assert!((10_000..=510_000).contains(&taken), "{simulated}");
    assert!(number(simulated, "transfers_after") < taken / 10, "{simulated}");
    assert_eq!(finding["remedy"]["at_line_offsets_bytes"], Value::from([8]));
    // Printed again, the profile says the same.
    let place = scratch();
    let [json, page] = ["again.json", "again.html"].map(|name| place.path().join(name));
    let mut again = Command::new(carom());
    again.arg("report").arg("--json").arg(&json).arg("--html").arg(&page).arg(recorded.profile());
    let printed = run(&mut again);
    assert_eq!(printed.code(), Some(0), "{}", printed.complaint());
    let text = String::from_utf8_lossy(&printed.stdout);
    assert!(text.contains("checked ") && text.contains("(model)"), "{text}");
    let read = |file| std::fs::read_to_string(file).expect("a report");
    let report: Value = serde_json::from_str(&read(json)).expect("JSON");
    assert_eq!(report["share"]["findings"][0]["remedy"]["check"], *check);
    assert!(read(page).contains("accesses of another run (model)"));
}

/// Small blocks that malloc has put side by side, each of a thread. A window of the run is enough.
#[test]
fn blocks_are_found_again_by_their_allocation() {
    let options = ["--period", "20000", "--for", "1", "--check-remedy=3M"];
    let (finding, _) = worst(&options, "culprits/heap_pair.c", &[]);
    let remedy = &finding["remedy"];
    assert_eq!(
        (&remedy["kind"], &remedy["check"]["outcome"]),
        (&"align-blocks".into(), &"supported".into()),
        "{finding}"
    );
    let simulated = &remedy["check"]["simulated"];
    assert!(
        simulated["changes"][0].as_str().is_some_and(|change| change.contains("allocated in start")),
        "{simulated}"
    );
    assert!(number(simulated, "transfers_after") * 10 < number(simulated, "transfers_before"), "{simulated}");
}

/// One counter that all threads add to: there is no second run.
#[test]
fn what_no_layout_ends_is_not_checked() {
    let (finding, recorded) = worst(&["--period", "20000", "--check-remedy"], "culprits/counter.c", &[]);
    let remedy = &finding["remedy"];
    assert_eq!(
        (&remedy["kind"], &remedy["check"]["outcome"]),
        (&"share-less".into(), &"not-of-layout".into()),
        "{finding}"
    );
    assert_eq!(remedy["check"]["simulated"], Value::Null);
    let text = run(Command::new(carom()).arg("report").arg(recorded.profile()));
    assert!(String::from_utf8_lossy(&text.stdout).contains("Not checked: it is no change of a layout"));
}

/// Refused before the program runs.
#[test]
fn options_that_contradict_are_refused() {
    let program = compile("counters.c", &["-O2"]);
    let refused =
        run(Command::new(carom()).args(["share", "--check-remedy", "--runs", "2", "--"]).arg(&program));
    assert_eq!(refused.code(), Some(2), "{}", refused.complaint());
    assert!(refused.complaint().contains("--runs"), "{}", refused.complaint());
}
