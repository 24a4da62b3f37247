use carom_study::phases::{Memory, Phase, PhasesFindings};

use crate::{model::Report, sample, text};

/// 0.3 s of growth to 300 MiB, 0.7 s of rest.
fn recorded() -> Report {
    let (run, _) = sample::counted();
    let most = (300 << 20) as f64;
    let findings = PhasesFindings {
        memory: Memory::Resident,
        trace: (0..1000_u64).map(|ms| (ms as f64 / 1e3, ms.min(300) << 20, 1 << 30)).collect(),
        phases: vec![
            Phase { start_s: 0.0, end_s: 0.3, first_bytes: 0.0, slope_bytes_per_s: most / 0.3 },
            Phase { start_s: 0.3, end_s: 0.999, first_bytes: most, slope_bytes_per_s: 0.0 },
        ],
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
fn the_chart_has_the_shape_of_the_trace() {
    let text = text::render(&recorded(), &text::Options { width: 51, ..text::Options::default() });
    // 40 columns of 25 ms: the twelfth ends within a step of the whole, and 28 are full.
    let top = text.lines().find(|line| line.starts_with("   300 MiB ")).unwrap();
    assert!(top.ends_with(&"█".repeat(29)) && !top.contains(&"█".repeat(30)), "{text}");
    assert!(text.lines().any(|line| line.trim_start().starts_with("0 s 1           2")), "{text}");
}
