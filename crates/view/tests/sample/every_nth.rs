//! A recording whose samples stand for accesses.

use super::*;
use carom_study::share::{Communication, Unit};

/// The period of loads and stores.
const PERIOD: u64 = 500_000;

/// The two workers of [`two`](super::two), by the translate engine: every volume is a number of accesses.
pub fn every_nth() -> (RunInfo, ShareFindings) {
    let (mut run, mut findings) = two();
    run.warnings.clear();
    run.engine = EngineInfo {
        name: "translate".into(),
        reason: "asked for".into(),
        sample_means: SampleMeans::Accesses,
        load_period: PERIOD,
        store_period: PERIOD,
        period_ns: 0,
        delivery: Delivery::Inline,
        budget_percent: 0.0,
        watch: Watch::Registers,
        watchpoints: 4,
        board_slots: 127,
        trace: None,
        objects: false,
        ..EngineInfo::default()
    };
    findings.unit = Unit::Accesses;
    findings.quality.last_instruction = 0;
    findings.quality.skipped.clear();
    let matrices = [&mut findings.threads, &mut findings.last_writer];
    for row in matrices.into_iter().flat_map(|m| [&mut m.all, &mut m.true_sharing, &mut m.false_sharing]) {
        row.iter_mut().flatten().for_each(|cell| *cell *= PERIOD as f64);
    }
    for line in &mut findings.lines {
        line.true_sharing *= PERIOD as f64;
        line.false_sharing *= PERIOD as f64;
    }
    find_each(&mut findings);
    let about = |value: f64| Estimate { value, low: 0.95 * value, high: 1.05 * value };
    findings.communication = Some(Communication {
        contended: Some(about(3.6e9)),
        // Everything in the matrix: 5,700 events' weights.
        accesses: about(findings.threads.volume()),
        transfers: Some(about(900e6)),
        by_thread: findings.threads.clone(),
    });
    (run, findings)
}
