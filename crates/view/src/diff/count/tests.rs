use carom_store::{Manifest, ThreadCounts, ThreadInfo, UsageInfo};
use carom_study::{
    count::{Bound, EventLimit, Quantity},
    diff::count as compare,
};

use crate::{
    diff::{
        Compared, Limits, diff, json, markdown,
        model::{Diff, DiffSide},
        not_judged, text,
    },
    text::Options,
};

/// A run that takes so many milliseconds, and one that executes so many instructions.
fn runs(all: &[(u64, u64)]) -> Vec<Manifest> {
    let both = |&(ms, instructions): &(u64, u64)| {
        let usage = UsageInfo { elapsed_ns: ms * 1_000_000, ..UsageInfo::default() };
        let counts =
            ThreadCounts { instructions: Some(instructions), loads: Some(7), ..ThreadCounts::default() };
        let thread = ThreadInfo { counts: Some(counts), ..ThreadInfo::default() };
        [
            Manifest { usage: Some(usage), ..Manifest::default() },
            Manifest { threads: vec![thread], ..Manifest::default() },
        ]
    };
    all.iter().flat_map(both).collect()
}

fn compared(before: &[(u64, u64)], after: &[(u64, u64)], limits: &[(&str, Bound)]) -> Diff {
    let (before, after) = (runs(before), runs(after));
    let found = compare(&before.iter().collect::<Vec<_>>(), &after.iter().collect::<Vec<_>>()).unwrap();
    let side = |argv: &str, runs: usize| DiffSide {
        profiles: vec!["series".into()],
        argv: vec![argv.into()],
        runs: runs / 2,
    };
    let events = limits
        .iter()
        .map(|(name, bound)| EventLimit { quantity: Quantity::from_name(name).unwrap(), bound: *bound })
        .collect();
    diff(
        [side("./old", before.len()), side("./new", after.len())],
        Compared { count: Some(&found), ..Compared::default() },
        &Limits { events, ..Limits::default() },
        Vec::new(),
    )
}

const SLOW: [(u64, u64); 6] = [(31, 3000), (30, 3001), (32, 2999), (31, 3000), (30, 3000), (31, 3001)];
const FAST: [(u64, u64); 6] = [(10, 3000), (11, 3001), (10, 3000), (10, 2999), (11, 3000), (10, 3000)];

#[test]
fn the_finding_comes_first() {
    // Means 30.83 and 10.33 ms: a third. Two tests of 2 in 924.
    let diff = compared(&SLOW, &FAST, &[]);
    assert_eq!(
        diff.verdict,
        "`./new` against `./old`: time -66% (p ≤ 0.004). Instructions and loads did not change measurably."
    );
    let text = text(&diff, &Options::default());
    assert!(
        text.contains("  less      time                  30.8 ms     10.3 ms     -66%, -68% to -65%"),
        "{text}"
    );
    assert!(text.contains("the same in all runs (9): user time 0"), "{text}");
    assert!(markdown(&diff).contains("| less | time | 30.8 ms | 10.3 ms |"), "{}", markdown(&diff));
}

#[test]
fn no_change_says_how_small_it_must_be() {
    let diff = compared(&FAST, &FAST, &[]);
    assert!(
        diff.verdict.starts_with(
            "`./new` against `./old`: No event changed measurably; the change of time lies within ±"
        ),
        "{}",
        diff.verdict
    );
}

#[test]
fn one_run_proves_nothing() {
    let diff = compared(&SLOW[..1], &FAST[..1], &[("time", Bound::Growth(0.0))]);
    assert_eq!(
        diff.verdict,
        "`./new` against `./old`: time -68%. One run on a side does not tell how much runs differ: count several with \
         `carom count -r 7`."
    );
    let [why] = &not_judged(&diff)[..] else { panic!("one limit") };
    assert!(why.starts_with("`time > 0%` cannot be judged: one run on a side"), "{why}");
    assert!(!diff.gate.failed);
}

#[test]
fn limits_fail_by_more_than_chance_only() {
    let limits = [
        ("time", Bound::Growth(1.0)),
        ("time", Bound::Growth(2.5)),
        ("instructions", Bound::Growth(0.0)),
        ("time", Bound::Value(0.02)),
    ];
    let diff = compared(&FAST, &SLOW, &limits);
    // 10.33 to 30.83 ms: a growth by 198%.
    assert_eq!(
        diff.gate.reasons,
        ["Time grew by 198%, more than 100%.", "Time is 30.8 ms, more than 20.0 ms."]
    );
    let json = json(&diff).unwrap();
    assert!(json.contains("\"state\": \"failed\"") && json.contains("\"text\": \"time > 100%\""), "{json}");
}
