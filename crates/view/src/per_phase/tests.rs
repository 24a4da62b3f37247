use carom_base::Nanos;
use carom_study::{
    phases::{Memory, Phase, PhasesFindings},
    reuse::ReuseFindings,
    share::ShareFindings,
};

use crate::{RunInfo, csv, model::Report, phases, reuse, sample, share, text, web};

/// Half a second of growth, half a second of rest.
fn of_phases(run: &RunInfo) -> Report {
    let phase = |start_s, end_s, slope_bytes_per_s| Phase {
        start_s,
        end_s,
        first_bytes: 0.0,
        slope_bytes_per_s,
        deviation_bytes: 0.0,
    };
    let findings = PhasesFindings {
        started: Nanos(0),
        memory: Memory::Resident,
        trace: (0..1000_u64).map(|ms| (ms as f64 / 1e3, ms.min(500) << 20, 1 << 30)).collect(),
        phases: vec![phase(0.0, 0.5, 1e9), phase(0.5, 0.999, 0.0)],
        counters: Vec::new(),
    };
    phases::report(run, &findings)
}

/// Nothing is shared in the first phase, and all of it in the second.
fn shared() -> Report {
    let (run, all) = sample::two();
    let report = |findings: &ShareFindings| share::report(&super::part_of(&run, 0.5), findings);
    let mut whole = share::report(&run, &all);
    super::add(&mut whole, of_phases(&run), vec![report(&sample::nothing(3)), report(&all)]);
    whole
}

fn reused() -> Report {
    let (run, all) = sample::relaxed();
    let report = |findings: &ReuseFindings| reuse::report(&super::part_of(&run, 0.5), findings);
    let mut whole = reuse::report(&run, &all);
    let parts = vec![report(&sample::hardly_reused().1), report(&all)];
    super::add(&mut whole, of_phases(&run), parts);
    whole
}

fn printed(report: &Report, verbose: bool) -> String {
    let text = text::render(report, &text::Options { verbose, ..text::Options::default() });
    text.split_once("In each phase").map(|(_, rest)| rest.to_owned()).unwrap()
}

#[test]
fn each_phase_has_its_own_answer() {
    let report = shared();
    let [calm, busy] = &report.per_phase.as_ref().unwrap().0[..] else { panic!("two phases") };
    assert_eq!((calm.phase.end_s.0, busy.phase.start_s.0, busy.phase.slope_bytes_per_s.0), (0.5, 0.5, 0.0));
    assert!(calm.share.as_ref().unwrap().findings.is_empty());
    assert_eq!(busy.share.as_ref().unwrap().findings.len(), report.share.as_ref().unwrap().findings.len());
    assert_eq!(busy.events, report.quality.events);
    let text = printed(&report, false);
    let (first, second) = text.split_once("2   500.0 ms to 999.0 ms: ").unwrap();
    assert!(first.contains("1   0.00 s to 500.0 ms: No") && !first.contains("`stats`"), "{text}");
    assert!(second.contains("false sharing `stats`"), "{text}");
    assert!(!text.contains("Contended data") && printed(&report, true).contains("Contended data"), "{text}");
}

#[test]
fn misses_are_told_by_phase() {
    let report = reused();
    let text = printed(&report, false);
    let (first, second) = text.split_once("2   500.0 ms").unwrap();
    assert!(first.contains("Not enough data") && !first.contains("misses:"), "{text}");
    assert!(second.contains("misses: ") && second.contains("L1"), "{text}");
}

/// The matrices of a thousand threads would be most of a page.
#[test]
fn pages_have_the_answers_without_their_matrices() {
    for report in [shared(), reused()] {
        let page = web::html(&report).unwrap();
        assert!(page.contains("questions.push({ name: \"per-phase\""));
    }
    let bare = share::without_cells(&shared());
    let of = &bare.per_phase.unwrap().0[1];
    assert!(of.share.as_ref().unwrap().matrix.threads.all.is_empty());
}

#[test]
fn a_row_for_each_phase_is_a_table() {
    let files = csv::files(&shared());
    let table = &files.iter().find(|file| file.name == "per-phase.csv").unwrap().text;
    assert_eq!(table.lines().count(), 3);
    assert!(table.lines().nth(2).unwrap().starts_with("2,0.5,0.999,0,"), "{table}");
}
