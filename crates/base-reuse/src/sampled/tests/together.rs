//! Many threads at once.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

use carom_base::{AccessKind, ReuseOutcome, ThreadId};

use super::program::{Step, access, touch};
use crate::Domain;
use crate::sampled::random::Random;
use crate::sampled::*;

struct Shared([AtomicU64; 4]);

impl Positions for Shared {
    fn domain(&self, thread: ThreadId) -> Domain {
        Domain(thread.0 / 2)
    }

    fn of_thread(&self, thread: ThreadId) -> u64 {
        self.0[thread.0 as usize].load(Ordering::Relaxed)
    }

    fn of_domain(&self, domain: Domain) -> u64 {
        [0, 1].map(|of| self.of_thread(ThreadId(domain.0 * 2 + of))).iter().sum()
    }
}

/// Rounds of each thread.
const ROUNDS: usize = 20_000;

/// The results of these threads when all have worked at once.
fn together<T: Send>(threads: [usize; 4], work: impl Fn(usize) -> T + Sync) -> impl Iterator<Item = T> {
    std::thread::scope(|scope| {
        let work = &work;
        let threads = threads.map(|thread| scope.spawn(move || work(thread)));
        threads.map(|thread| thread.join().unwrap()).into_iter()
    })
}

/// Four threads sample and touch a few lines as fast as they can. Each use ends at most once; every watched use has
/// ended or is still active at the end; no event is torn: its parts belong together.
#[test]
fn no_use_ends_twice() {
    let slots: Vec<Slot> = (0..8).map(|_| Slot::default()).collect();
    let (tally, positions) = (Tally::default(), Shared(Default::default()));
    let detector = Detector::new(&slots, &tally, Config::default());
    let step = |thread: usize, random: &mut Random| {
        let kind = if random.below(2) == 0 { AccessKind::Load } else { AccessKind::Store };
        Step { thread, access: access(u64::from(random.below(64)) * 8, 8, kind) }
    };
    let work = |thread: usize| {
        let mut random = Random::new(thread as u64);
        let (mut over, mut samples, mut armed) = (Vec::new(), 0u32, 0);
        for index in 0..ROUNDS {
            let step = step(thread, &mut random);
            for watch in detector.active().filter(|watch| watch.touched_by(step.access)) {
                if let Touched::Over(it) = detector.on_touch(&positions, watch.id, touch(index, &step)) {
                    over.push(it);
                }
            }
            if random.below(4) == 0 {
                let sampled = detector.on_sample(&positions, touch(index, &step), 1.0, random.next());
                over.extend(sampled.replaced);
                samples += 1;
                armed += usize::from(sampled.arm.is_some());
            }
            positions.0[thread].fetch_add(1, Ordering::Relaxed);
        }
        (over, samples, armed)
    };
    let (mut over, mut samples, mut armed) = (Vec::new(), 0u32, 0);
    for (of_thread, sampled, watched) in together([0, 1, 2, 3], work) {
        over.extend(of_thread);
        samples += sampled;
        armed += watched;
    }
    over.extend(detector.end_all(&positions));
    assert_eq!(over.len(), armed);
    let mut ids: Vec<_> = over.iter().map(|over| over.watch.id.to_bits()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), over.len());
    for Over { event, watch, .. } in &over {
        // `access` derives the instruction from the address.
        assert_eq!(event.earlier.access.ip.0, event.earlier.access.addr.0 ^ 0x55);
        assert_eq!(watch.first, event.earlier.access.addr.line().start());
        assert_eq!((watch.owner, watch.scope), (event.earlier.thread, event.scope));
        assert_eq!(
            event.later.is_some(),
            matches!(event.outcome, ReuseOutcome::Reused | ReuseOutcome::Invalidated)
        );
    }
    // Weight is lost only where two threads meet at one use, or one at three that others are changing.
    let weight: f64 = over.iter().map(|over| f64::from(over.event.weight)).sum();
    let offered = 6.0 * f64::from(samples);
    assert!((weight / offered - 1.0).abs() < 0.1, "{weight} of {offered}");
}

/// Four threads fill one slot and end its use as fast as they can. The weight of each sample is its number, and its
/// event must have the same weight, not that of the next use in the slot.
#[test]
fn a_use_keeps_its_weight() {
    let (slots, tally, positions) = ([Slot::default()], Tally::default(), Shared(Default::default()));
    let odds = Odds { shared_line: 1, ..Odds::NONE };
    let config = Config { odds, replacement: Replacement::Reservoir, ..Config::default() };
    let detector = Detector::new(&slots, &tally, config);
    let check = |Over { event, .. }: Over| assert_eq!(event.weight, event.earlier.time.0 as f32, "{event:?}");
    let work = |thread: usize| {
        let step = Step { thread, access: access(0, 8, AccessKind::Store) };
        for index in (thread + 1..50 * ROUNDS).step_by(4) {
            let sampled = detector.on_sample(&positions, touch(index, &step), index as f32, index as u64);
            sampled.replaced.into_iter().for_each(check);
            for watch in detector.active() {
                if let Touched::Over(over) = detector.on_touch(&positions, watch.id, touch(index, &step)) {
                    check(over);
                }
            }
        }
    };
    together([0, 1, 2, 3], work).for_each(drop);
}

/// Thread 1 takes a sample whenever thread 0's domain is read, which is in the middle of one of its own samples.
struct Interrupted<'a> {
    detector: Detector<'a>,
    later: Cell<Option<Watch>>,
}

impl Positions for Interrupted<'_> {
    fn domain(&self, thread: ThreadId) -> Domain {
        if thread == ThreadId(0) {
            let step = Step { thread: 1, access: access(64, 8, AccessKind::Load) };
            self.later.set(self.detector.on_sample(self, touch(0, &step), 1.0, 1).arm);
        }
        Domain(0)
    }

    fn of_thread(&self, _: ThreadId) -> u64 {
        0
    }

    fn of_domain(&self, _: Domain) -> u64 {
        0
    }
}

/// Two of eight slots are for the latest uses. A use that was sampled after the new one counts as one of the latest,
/// too.
#[test]
fn a_sample_in_between_is_on_trial_too() {
    for seed in 0..100 {
        let slots: [Slot; 8] = Default::default();
        let (tally, positions) = (Tally::default(), Shared(Default::default()));
        let detector = Detector::new(&slots, &tally, Config::default());
        let step = Step { thread: 0, access: access(0, 8, AccessKind::Load) };
        for index in 0..slots.len() {
            detector.on_sample(&positions, touch(index, &step), 1.0, seed).arm.unwrap();
        }
        let interrupted = Interrupted { detector, later: Cell::new(None) };
        detector.on_sample(&interrupted, touch(8, &step), 1.0, seed).arm.unwrap();
        assert!(detector.is_active(interrupted.later.get().unwrap().id));
    }
}

#[test]
fn what_cannot_be_watched_is_given_up() {
    let (slots, tally, positions) = ([Slot::default()], Tally::default(), Shared(Default::default()));
    let detector = Detector::new(&slots, &tally, Config::default());
    let step = Step { thread: 0, access: access(0, 8, AccessKind::Load) };
    let watch = detector.on_sample(&positions, touch(0, &step), 1.0, 1).arm.unwrap();
    assert!(detector.give_up(watch.id));
    assert!(!detector.give_up(watch.id));
    for weight in [0.0, -1.0, f32::NAN, f32::INFINITY] {
        assert_eq!(detector.on_sample(&positions, touch(1, &step), weight, 1), Sampled::default());
    }
    let nowhere = Detector::new(&[], &tally, Config::default());
    assert_eq!(nowhere.on_sample(&positions, touch(2, &step), 1.0, 1), Sampled::default());
    let no_slot = WatchId { slot: 200, generation: 1 };
    assert_eq!(nowhere.on_touch(&positions, no_slot, touch(3, &step)), Touched::Late);
}
