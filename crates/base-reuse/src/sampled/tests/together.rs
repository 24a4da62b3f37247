//! Many threads at once.

use std::sync::atomic::{AtomicU64, Ordering};

use carom_base::{AccessKind, Nanos, ReuseOutcome, ThreadId};

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

/// Four threads sample and touch a few lines as fast as they can. Each use has at most one end; what is armed is over
/// or still active in the end; no event is torn: its parts belong together.
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
        let mut over = Vec::new();
        for index in 0..20_000 {
            let step = step(thread, &mut random);
            for watch in detector.touched_by(step.access) {
                if let Touched::Over(it) = detector.on_touch(&positions, watch.id, touch(index, &step)) {
                    over.push(it);
                }
            }
            if random.below(4) == 0 {
                let sampled = detector.on_sample(&positions, touch(index, &step), 1.0, random.next());
                over.extend(sampled.replaced);
                detector.note_window(Nanos(index as u64), Nanos(index as u64 + 3));
            }
            positions.0[thread].fetch_add(1, Ordering::Relaxed);
        }
        over
    };
    let mut over: Vec<_> = std::thread::scope(|scope| {
        let threads = [0, 1, 2, 3].map(|thread| scope.spawn(move || work(thread)));
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    let counts = detector.counts();
    over.extend(detector.end_all(&positions));
    assert_eq!(over.len() as u64, counts.armed);
    let mut ids: Vec<_> = over.iter().map(|over| over.watch.id.to_bits()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), over.len());
    assert_eq!(counts.samples, counts.armed + counts.rejected + counts.contended);
    assert_eq!(counts.armed, counts.reused + counts.invalidated + counts.replaced + detector.counts().ended);
    assert_eq!(
        (counts.windows, counts.window_sum, counts.window_max),
        (counts.samples, 3 * counts.samples, 3)
    );
    for Over { event, watch } in &over {
        // `access` derives the instruction from the address.
        assert_eq!(event.earlier.access.ip.0, event.earlier.access.addr.0 ^ 0x55);
        assert_eq!(watch.first, event.earlier.access.addr.line().start());
        assert_eq!((watch.owner, watch.scope), (event.earlier.thread, event.scope));
        assert_eq!(
            event.later.is_some(),
            matches!(event.outcome, ReuseOutcome::Reused | ReuseOutcome::Invalidated)
        );
    }
    // Mass is lost only where two threads meet at one use.
    let weight: f64 = over.iter().map(|over| f64::from(over.event.weight)).sum();
    let offered = 6.0 * (counts.samples - counts.contended) as f64;
    assert!((weight / offered - 1.0).abs() < 0.1, "{weight} of {offered}");
}

/// The child of a fork has no threads but one: it forgets what was watched, and what it inherited means nothing.
#[test]
fn a_child_forgets() {
    let (slots, tally, positions) = ([Slot::default()], Tally::default(), Shared(Default::default()));
    let detector = Detector::new(&slots, &tally, Config::default());
    let step = Step { thread: 0, access: access(0, 8, AccessKind::Load) };
    let inherited = detector.on_sample(&positions, touch(0, &step), 1.0, 1).arm.unwrap();
    detector.clear();
    assert_eq!(detector.counts(), Counts::default());
    let own = detector.on_sample(&positions, touch(1, &step), 1.0, 1).arm.unwrap();
    assert_ne!(inherited.id, own.id);
    assert_eq!(detector.on_touch(&positions, inherited.id, touch(2, &step)), Touched::Late);
    assert!(detector.is_active(own.id) && !detector.is_active(inherited.id));
}

#[test]
fn what_cannot_be_watched_is_given_up_and_counted() {
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
    let counts = detector.counts();
    assert_eq!((counts.given_up, counts.unusable, counts.late), (1, 4, 1));
}
