//! Random programs of several threads: the results are the truth.

use std::collections::HashSet;

use carom_base::{AccessKind, ReuseOutcome, Scope};
use proptest::prelude::*;

use super::program::{Setup, Step, access, run, truth};
use crate::sampled::*;

const DOMAINS: [u32; 4] = [0, 0, 1, 1];

/// Few lines, so that everything happens; widths and offsets so that accesses overlap in every way, and cross lines.
fn steps() -> impl Strategy<Value = Vec<Step>> {
    let kinds =
        prop_oneof![Just(AccessKind::Load), Just(AccessKind::Store), Just(AccessKind::ReadModifyWrite)];
    let widths = prop_oneof![Just(1u32), Just(2), Just(4), Just(8), Just(16)];
    let step = (0..DOMAINS.len(), 0..24u64, widths, kinds).prop_map(|(thread, place, width, kind)| Step {
        thread,
        // 24 places in three lines, some of them at odd addresses.
        access: access(0x1000 + place * 8 + place % 3, width, kind),
    });
    prop::collection::vec(step, 1..200)
}

proptest! {
    /// With a slot for every use, each use has exactly one event, which is the truth.
    #[test]
    fn every_use_is_told_of_as_it_was(trace in steps(), seed: u64) {
        let setup = Setup { config: Config::default(), slots: MAX_SLOTS, rate: 0.2, seed };
        let (events, counts) = run(setup, &DOMAINS, &trace);
        prop_assume!(counts.replaced + counts.rejected == 0);
        prop_assert_eq!(events.len() as u64, counts.samples);
        for event in events {
            let used = event.earlier.time.0 as usize;
            let expected = truth(&DOMAINS, &trace, used, event.scope, event.locality);
            prop_assert_eq!((event.outcome, event.distance), expected, "{:?}", event);
            // One of six kinds of reuse is drawn.
            prop_assert_eq!(event.weight, 6.0);
        }
    }

    /// With few slots, each watched use is reported once, and every report is true.
    #[test]
    fn with_few_slots_nothing_is_told_wrongly(
        trace in steps(),
        seed: u64,
        slots in 0..4usize,
        balanced: bool,
        chunks: bool,
    ) {
        let replacement = if balanced { Replacement::Balanced } else { Replacement::Reservoir };
        let reach = if chunks { Reach::Chunk } else { Reach::Line };
        let config = Config { replacement, reach, ..Config::default() };
        let (events, counts) = run(Setup { config, slots, rate: 0.5, seed }, &DOMAINS, &trace);
        let distinct: HashSet<_> = events.iter().map(|event| event.earlier.time).collect();
        prop_assert_eq!(distinct.len(), events.len());
        prop_assert_eq!(counts.armed, events.len() as u64);
        for event in events {
            let used = event.earlier.time.0 as usize;
            let (outcome, distance) = truth(&DOMAINS, &trace, used, event.scope, event.locality);
            match event.outcome {
                // A chunk is only a part of a line, and misses accesses beside it.
                ReuseOutcome::Reused | ReuseOutcome::Invalidated if chunks => {
                    prop_assert!(event.distance >= distance);
                }
                ReuseOutcome::Reused | ReuseOutcome::Invalidated => {
                    prop_assert_eq!((event.outcome, event.distance), (outcome, distance));
                }
                ReuseOutcome::Replaced | ReuseOutcome::Ended if chunks => {}
                ReuseOutcome::Replaced => prop_assert!(event.distance <= distance),
                ReuseOutcome::Ended => prop_assert_eq!((event.outcome, event.distance), (outcome, distance)),
            }
        }
    }

    /// Weight is neither lost nor created: the sum over samples is the sum over events.
    #[test]
    fn weight_is_kept(trace in steps(), seed: u64, slots in 1..6usize) {
        let setup = Setup { config: Config::default(), slots, rate: 0.5, seed };
        let (events, counts) = run(setup, &DOMAINS, &trace);
        let sum: f32 = events.iter().map(|event| event.weight).sum();
        prop_assert!((sum - 6.0 * counts.samples as f32).abs() < 0.01, "{sum} for {}", counts.samples);
    }

    /// A thread's end ends the uses that only it could have reused, once.
    #[test]
    fn a_thread_ends(trace in steps(), ending in 0..DOMAINS.len()) {
        use super::program::{Clocks, touch};
        let slots: Vec<Slot> = (0..MAX_SLOTS).map(|_| Slot::default()).collect();
        let tally = Tally::default();
        let detector = Detector::new(&slots, &tally, Config::default());
        let mut clocks = Clocks::new(&DOMAINS);
        for (index, step) in trace.iter().enumerate().take(MAX_SLOTS) {
            detector.on_sample(&clocks, touch(index, step), 1.0, index as u64);
            clocks.pass(step);
        }
        let thread = carom_base::ThreadId(ending as u32);
        let own = |watch: &Watch| watch.owner == thread && watch.scope == Scope::Private;
        let expected = detector.active().filter(own).count();
        prop_assert_eq!(detector.end_thread(&clocks, thread).count(), expected);
        prop_assert_eq!(detector.active().filter(own).count(), 0);
        prop_assert_eq!(detector.end_thread(&clocks, thread).count(), 0);
    }
}
