use carom_store::{ThreadCounts, ThreadInfo, UsageInfo};

use super::*;

/// Runs with so many instructions and loads, and with 9 stores each.
fn counted(runs: &[(u64, u64)]) -> Vec<Manifest> {
    let run = |&(instructions, loads): &(u64, u64)| {
        let counts = ThreadCounts {
            instructions: Some(instructions),
            loads: Some(loads),
            stores: Some(9),
            ..ThreadCounts::default()
        };
        Manifest {
            threads: vec![ThreadInfo { counts: Some(counts), ..ThreadInfo::default() }],
            ..Manifest::default()
        }
    };
    runs.iter().map(run).collect()
}

fn compared(before: &[Manifest], after: &[Manifest]) -> CountDiff {
    count(&before.iter().collect::<Vec<_>>(), &after.iter().collect::<Vec<_>>()).unwrap()
}

fn outcomes(diff: &CountDiff) -> Vec<(&'static str, Outcome)> {
    diff.events.iter().map(|event| (event.quantity.name(), event.outcome)).collect()
}

#[test]
fn what_changed_most_comes_first_and_what_cannot_change_last() {
    let before = counted(&[(1000, 500), (1001, 480), (1002, 510), (1001, 490), (1000, 500), (999, 505)]);
    let after = counted(&[(1100, 490), (1101, 505), (1099, 500), (1100, 495), (1102, 480), (1100, 510)]);
    let diff = compared(&before, &after);
    let expected =
        [("instructions", Outcome::More), ("loads", Outcome::Steady), ("stores", Outcome::Constant)];
    assert_eq!(outcomes(&diff), expected);
    // Two tests: of stores nothing could be found. Six runs a side can reach 2/924, of which twice is enough.
    let probability = diff.events[0].probability.unwrap();
    assert!((probability.ranks - 2.0 / 924.0).abs() < 1e-12);
    assert!((probability.corrected - 4.0 / 924.0).abs() < 1e-12);
    assert!(diff.by_ranks);
    let interval = diff.events[0].interval.unwrap();
    assert!(interval.low > 1.098 && interval.high < 1.102, "{interval:?}");
}

#[test]
fn with_few_runs_the_means_decide() {
    // Three runs a side: ranks cannot get below 1/10.
    let diff =
        compared(&counted(&[(1000, 7), (1001, 8), (1002, 9)]), &counted(&[(2000, 8), (2001, 9), (2002, 7)]));
    assert!(!diff.by_ranks);
    assert_eq!(outcomes(&diff)[0], ("instructions", Outcome::More));
    assert_eq!(outcomes(&diff)[1], ("loads", Outcome::Steady));
}

#[test]
fn values_that_never_vary_differ_for_certain() {
    let diff = compared(&counted(&[(1000, 7); 3]), &counted(&[(900, 7); 3]));
    let instructions = &diff.events[0];
    assert_eq!((instructions.outcome, instructions.hedges_g), (Outcome::Less, None));
    assert_eq!(instructions.interval, Some(Interval { low: 0.9, high: 0.9 }));
}

#[test]
fn one_run_a_side_proves_nothing() {
    let diff = compared(&counted(&[(1000, 7)]), &counted(&[(5000, 7)]));
    assert_eq!(outcomes(&diff)[0], ("instructions", Outcome::Untested));
    assert_eq!(diff.events[0].ratio, Some(5.0));
    assert_eq!(outcomes(&diff)[1].1, Outcome::Constant);
}

#[test]
fn what_one_side_does_not_know_is_not_compared() {
    let used =
        Manifest { usage: Some(UsageInfo { elapsed_ns: 7, ..UsageInfo::default() }), ..Manifest::default() };
    let diff = compared(&counted(&[(1, 1), (1, 1)]), &[used]);
    assert!(diff.events.iter().all(|event| event.outcome == Outcome::OneSided));
    let nothing = [Manifest::default()];
    let known = counted(&[(1, 1)]);
    assert_eq!(count(&[&nothing[0]], &[&known[0]]), Err(Incomparable::NoRun));
}

#[test]
fn something_where_there_was_nothing_is_infinitely_more() {
    let diff = compared(&counted(&[(5, 0); 4]), &counted(&[(5, 3); 4]));
    let loads = &diff.events[0];
    assert_eq!((loads.quantity.name(), loads.outcome), ("loads", Outcome::More));
    assert_eq!((loads.ratio, loads.interval), (Some(f64::INFINITY), None));
}

/// Comparisons of equal programs find a change in any of 20 quantities in at most 5 of 100.
#[test]
fn chance_is_seldom_called_a_change() {
    // A linear congruential generator (D. E. Knuth, MMIX) is random enough for two levels, the least normal distribution.
    let mut state = 1_u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    };
    let mut side = || -> Vec<Manifest> {
        let run = |value: &mut dyn FnMut() -> u64| {
            let mut count = || Some(1_000 + value() % 2);
            let counts = ThreadCounts {
                instructions: count(),
                loads: count(),
                stores: count(),
                loaded_bytes: count(),
                stored_bytes: count(),
                branches: count(),
                branches_taken: count(),
                calls: count(),
                returns: count(),
                atomics: count(),
                system_calls: count(),
                ..ThreadCounts::default()
            };
            Manifest {
                threads: vec![ThreadInfo { counts: Some(counts), ..ThreadInfo::default() }],
                ..Manifest::default()
            }
        };
        (0..7).map(|_| run(&mut random)).collect()
    };
    let changed = |outcome: Outcome| matches!(outcome, Outcome::More | Outcome::Less);
    let alarms = (0..400)
        .filter(|_| compared(&side(), &side()).events.iter().any(|event| changed(event.outcome)))
        .count();
    assert!(alarms <= 20, "{alarms} of 400");
}
