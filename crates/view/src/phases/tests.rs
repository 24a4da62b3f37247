use carom_study::phases::{Counter, Memory, Phase, PhasesFindings};

use crate::{model::Report, sample, text};

/// 0.3 s of growth to 300 MiB, 0.7 s of rest.
fn recorded() -> Report {
    with(Vec::new())
}

fn with(counters: Vec<Counter>) -> Report {
    let (run, _) = sample::counted();
    let most = (300 << 20) as f64;
    let findings = PhasesFindings {
        started: carom_base::Nanos(0),
        memory: Memory::Resident,
        trace: (0..1000_u64).map(|ms| (ms as f64 / 1e3, ms.min(300) << 20, 1 << 30)).collect(),
        phases: vec![
            Phase {
                start_s: 0.0,
                end_s: 0.3,
                first_bytes: 0.0,
                slope_bytes_per_s: most / 0.3,
                deviation_bytes: 0.0,
            },
            Phase {
                start_s: 0.3,
                end_s: 0.999,
                first_bytes: most,
                slope_bytes_per_s: 0.0,
                deviation_bytes: 0.0,
            },
        ],
        counters,
    };
    super::report(&run, &findings)
}

#[test]
fn what_each_phase_does_comes_first() {
    assert_eq!(
        recorded().verdict,
        "Resident memory has 2 phases: for 300.0 ms it grows to 300 MiB (1000 MiB/s), for 699.0 ms it stays near 300 MiB."
    );
}

#[test]
fn memory_that_swings_is_told_so() {
    let (run, _) = sample::counted();
    let trace = (0..1000_u64).map(|ms| (ms as f64 / 1e3, (60 + 80 * (ms / 50 % 2)) << 20, 1 << 30)).collect();
    let phase = Phase {
        start_s: 0.0,
        end_s: 0.999,
        first_bytes: (100 << 20) as f64,
        slope_bytes_per_s: 0.0,
        deviation_bytes: (40 << 20) as f64,
    };
    let findings = PhasesFindings { trace, phases: vec![phase], ..PhasesFindings::default() };
    assert_eq!(
        super::report(&run, &findings).verdict,
        "Resident memory has 1 phase: for 999.0 ms it stays near 100 MiB and swings by 40 MiB."
    );
}

#[test]
fn the_chart_has_the_shape_of_the_trace() {
    let text = text::render(&recorded(), &text::Options { width: 51, ..text::Options::default() });
    // 40 columns of 25 ms: the twelfth ends within a step of the whole, and 28 are full.
    let top = text.lines().find(|line| line.starts_with("   300 MiB ")).unwrap();
    assert!(top.ends_with(&"█".repeat(29)) && !top.contains(&"█".repeat(30)), "{text}");
    assert!(text.lines().any(|line| line.trim_start().starts_with("0 s 1           2")), "{text}");
}

#[test]
fn counters_are_told_by_phase() {
    let counter = |name: &str, by_phase: [u64; 2]| Counter {
        name: name.into(),
        trace: (1..=5000_u64).map(|n| (n as f64 / 5e3, n * by_phase.iter().sum::<u64>() / 5000)).collect(),
        by_phase: by_phase.into(),
    };
    let report = with(vec![
        counter("page-faults", [30_000, 10_000]),
        counter("task-clock", [0, 699_000_000]),
        counter("sched:sched_wakeup", [0, 0]),
    ]);
    assert!(
        report.verdict.ends_with("Phase 1 has 75% of the page faults. Phase 2 has 100% of the task clock.")
    );
    let found = &report.phases.as_ref().unwrap().counters;
    let of = |index: usize, phase: usize| found[index].by_phase[phase];
    assert_eq!((of(0, 0).total.0, of(0, 0).per_second.0.round()), (30_000.0, 100_000.0));
    assert_eq!((found[1].unit.as_str(), of(1, 1).total.0), ("s", 0.699));
    assert!(found[0].trace.len() <= 2000 && found[0].trace.last().unwrap().count.0 == 40_000.0);
    let text = text::render(&report, &text::Options { width: 80, ..text::Options::default() });
    let row = text.lines().find(|line| line.contains("30.0 k")).unwrap();
    assert_eq!(
        row.split_whitespace().collect::<Vec<_>>().join(" "),
        "1 30.0 k 100 k/s 0.00 s 0.00 s/s 0 0/s",
        "{text}"
    );
}

/// A program that is over before its memory is read again.
#[test]
fn what_has_no_length_has_no_rate() {
    let (run, _) = sample::counted();
    let phase =
        Phase { start_s: 0.0, end_s: 0.0, first_bytes: 1e6, slope_bytes_per_s: 0.0, deviation_bytes: 0.0 };
    let counter = Counter { name: "page-faults".into(), trace: vec![(0.0, 50)], by_phase: vec![50] };
    let found = PhasesFindings {
        trace: vec![(0.0, 1 << 20, 1 << 30)],
        phases: vec![phase],
        counters: vec![counter],
        ..PhasesFindings::default()
    };
    let text =
        text::render(&super::report(&run, &found), &text::Options { width: 80, ..text::Options::default() });
    let row = text.lines().find(|line| line.contains("50")).unwrap();
    assert_eq!(row.split_whitespace().collect::<Vec<_>>(), ["1", "50", "?/s"], "{text}");
}
