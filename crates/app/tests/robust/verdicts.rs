//! Programs with a known culprit: the remedy is the one that an expert would give.

use crate::support::{Recorded, compile};

/// The findings on a culprit, recorded with dense samples: what matters here is what is said of them.
fn findings(source: &str, flags: &[&str]) -> serde_json::Value {
    let program = compile(&format!("culprits/{source}"), flags);
    let mut recorded = Recorded::by("share", &["--period", "20000"], &program, &[]);
    assert_eq!(recorded.run().code(), Some(0), "{source}");
    recorded.report().0["share"]["findings"].clone()
}

fn worst(source: &str, flags: &[&str]) -> serde_json::Value {
    findings(source, flags)[0].clone()
}

fn remedy_of(finding: &serde_json::Value) -> (&str, &str) {
    let remedy = &finding["remedy"];
    (remedy["kind"].as_str().unwrap_or_default(), remedy["text"].as_str().unwrap_or_default())
}

#[test]
fn a_mutex_is_contended_and_never_taken_apart() {
    let finding = worst("mutex.c", &["-O2", "-pthread"]);
    let (kind, text) = remedy_of(&finding);
    assert_eq!(kind, "contend", "{finding}");
    assert_eq!(finding["remedy"]["of"]["primitive"], "mutex", "{finding}");
    assert!(text.contains("the mutex `lock`, taken in `deposit` (mutex.c:"), "{text}");
}

/// Lasts long enough for a verdict also where other programs leave its threads no time together: then who has the lock keeps it until
/// its time is over, and lines move only at these times.
const LONG: &str = "-DTIMES=4";

/// An int that is exchanged for 1 until it was 0, by threads that call it `locked`.
#[test]
fn a_lock_of_the_programs_own_is_one() {
    let finding = worst("test_and_set.c", &["-O2", "-pthread", LONG]);
    let (kind, text) = remedy_of(&finding);
    assert_eq!(kind, "contend", "{finding}");
    assert_eq!(finding["remedy"]["of"]["primitive"], "own-lock", "{finding}");
    assert!(text.contains("the lock `locked`, taken in `deposit` (test_and_set.c:"), "{text}");
}

/// Two threads contend for the mutex, and two others only read the limit.
#[test]
fn what_lies_beside_a_lock_moves_off() {
    let finding = worst("beside_lock.c", &["-O2", "-pthread"]);
    let (kind, text) = remedy_of(&finding);
    assert!(kind == "pad" || kind == "pad-then-share-less", "{finding}");
    assert!(text.contains("Start `gate.limit` on its own cache line"), "{text}");
}

/// Elements that threads have for themselves, of a struct and of numbers.
#[test]
fn neighbours_in_an_array_are_its_elements() {
    for (source, element) in
        [("per_thread.c", "`struct worker`, 24 bytes"), ("counts.c", "`long int`, 8 bytes")]
    {
        let finding = worst(source, &["-O2", "-pthread"]);
        let (kind, text) = remedy_of(&finding);
        assert!(kind == "pad-elements" && text.contains(element), "{source}: {finding}");
    }
}

#[test]
fn a_counter_moves_away_from_what_others_read() {
    let finding = worst("read_mostly.c", &["-O2", "-pthread", LONG]);
    let (kind, text) = remedy_of(&finding);
    assert!(kind == "pad" && text.contains("`server.requests` on its own cache line"), "{finding}");
}

/// The allocator's, the stream's and the program's own: none is data that threads could keep apart.
#[test]
fn what_libraries_lock_is_contended() {
    for (source, primitive, advice) in [
        ("stream.c", "stream", "a buffer of its own"),
        ("arena.c", "allocator", "Allocate less often"),
        ("intrusive.cpp", "reference-count", "by reference"),
    ] {
        let findings = findings(source, &["-O2", "-pthread", LONG]);
        let is = |finding: &&serde_json::Value| finding["remedy"]["of"]["primitive"] == primitive;
        let finding = findings.as_array().into_iter().flatten().find(is);
        assert!(finding.is_some_and(|finding| remedy_of(finding).1.contains(advice)), "{source}: {findings}");
    }
}

#[test]
fn an_array_in_small_pieces_is_not_padded() {
    let finding = worst("cyclic.c", &["-O2", "-fopenmp"]);
    let (kind, text) = remedy_of(&finding);
    assert!(kind == "larger-pieces" && text.contains("schedule(static)"), "{finding}");
}
