//! Exact counts of three threads.

use super::*;
use carom_study::count::{CountFindings, Coverage as Counted, Event, EventCounts, Leave};

/// Two workers, of which the second makes most accesses, and taken jumps that nobody counted.
pub fn counted() -> (RunInfo, CountFindings) {
    let names = ["app", "worker-1", "worker-2"].map(String::from);
    let mut run = run(&["./app", "--threads", "2"], &names);
    run.engine = EngineInfo {
        name: "translate".into(),
        reason: "asked for".into(),
        sample_means: SampleMeans::Nothing,
        period_ns: 0,
        delivery: Delivery::Inline,
        budget_percent: 0.0,
        watch: Watch::Nothing,
        watchpoints: 0,
        board_slots: 0,
        trace: None,
        objects: false,
        ..EngineInfo::default()
    };
    let events = Event::ALL.map(|event| {
        let threads: Vec<Option<u64>> = match event {
            Event::Instructions => vec![Some(1_000_000), Some(480_000_000), Some(749_000_123)],
            Event::Loads => vec![Some(400_000), Some(159_200_000), Some(251_900_000)],
            Event::Stores => vec![Some(100_000), Some(74_400_000), Some(115_100_000)],
            Event::BranchesTaken => vec![None; 3],
            _ => vec![Some(10), Some(20), Some(30)],
        };
        let total = threads.iter().copied().sum();
        EventCounts { event, total, processes: vec![total], threads }
    });
    let findings = CountFindings {
        events: events.into(),
        coverage: Counted {
            translated_ns: 999_870_000,
            native_ns: 130_000,
            unbooked_ns: 0,
            ticks: 100,
            unwitnessed_threads: 0,
            uncounted_threads: 0,
            leaves: Leave::ALL.map(|leave| (leave, u64::from(leave == Leave::ThreadStart) * 2)).into(),
        },
        unprofiled_threads: 0,
    };
    (run, findings)
}
