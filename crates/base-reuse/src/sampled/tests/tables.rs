//! Every cell of tables 6.2 and 6.3 of the thesis, and the duality of the two.

use carom_base::AccessKind::{Load, ReadModifyWrite, Store};
use carom_base::ReuseOutcome::{Invalidated, Reused};
use carom_base::{AccessKind, Locality, ReuseEvent, ReuseOutcome, Scope, ThreadId};

use super::program::{Clocks, Step, access, touch};
use crate::sampled::*;

/// Threads 0 and 1 share a cache, thread 2 has another.
const DOMAINS: [u32; 3] = [0, 0, 1];

fn only(scope: Scope, locality: Locality) -> Config {
    let odds = |of_scope, of_locality| u16::from((scope, locality) == (of_scope, of_locality));
    let odds = Odds {
        private_temporal: odds(Scope::Private, Locality::Temporal),
        private_spatial: odds(Scope::Private, Locality::Spatial),
        private_line: odds(Scope::Private, Locality::Line),
        shared_temporal: odds(Scope::Shared, Locality::Temporal),
        shared_spatial: odds(Scope::Shared, Locality::Spatial),
        shared_line: odds(Scope::Shared, Locality::Line),
    };
    Config { odds, ..Config::default() }
}

/// Thread 0 uses 8 bytes; another access follows at this offset. `None`: the watch stays.
fn pair(
    scope: Scope,
    locality: Locality,
    (first, second): (AccessKind, AccessKind),
    thread: usize,
    offset: u64,
) -> Option<ReuseEvent> {
    let (slots, tally) = ([Slot::default()], Tally::default());
    let detector = Detector::new(&slots, &tally, only(scope, locality));
    let mut clocks = Clocks::new(&DOMAINS);
    let used = Step { thread: 0, access: access(0x1008, 8, first) };
    let watch = detector.on_sample(&clocks, touch(0, &used), 1.0, 1).arm.unwrap();
    clocks.pass(&used);
    let later = Step { thread, access: access(0x1008 + offset, 8, second) };
    let modes = watch.modes(ThreadId(thread as u32), clocks.domain(ThreadId(thread as u32)));
    let caught = modes.reads && second.reads() || modes.writes && second.writes();
    match detector.on_touch(&clocks, watch.id, touch(1, &later)) {
        Touched::Over(over) => {
            assert!(caught, "no thread would have noticed");
            assert!(!detector.is_active(watch.id));
            Some(over.event)
        }
        Touched::Active => {
            assert!(detector.is_active(watch.id));
            None
        }
        Touched::Late => panic!("the first touch"),
    }
}

/// The four rows of either table. A read-modify-write is a write.
const ROWS: [(AccessKind, AccessKind); 9] = [
    (Load, Load),
    (Load, Store),
    (Store, Store),
    (Store, Load),
    (Load, ReadModifyWrite),
    (Store, ReadModifyWrite),
    (ReadModifyWrite, ReadModifyWrite),
    (ReadModifyWrite, Store),
    (ReadModifyWrite, Load),
];

/// Where an access reuses or invalidates: the same bytes, or others of the line.
const PLACES: [(Locality, u64); 4] =
    [(Locality::Temporal, 0), (Locality::Spatial, 24), (Locality::Line, 0), (Locality::Line, 24)];

fn outcome(event: Option<ReuseEvent>) -> Option<ReuseOutcome> {
    event.map(|event| event.outcome)
}

#[test]
fn table_6_2() {
    for (locality, offset) in PLACES {
        for row in ROWS {
            let found = [0, 1, 2].map(|thread| outcome(pair(Scope::Private, locality, row, thread, offset)));
            let elsewhere = row.1.writes().then_some(Invalidated);
            assert_eq!(found, [Some(Reused), elsewhere, elsewhere], "{row:?} {locality:?}");
        }
    }
}

#[test]
fn table_6_3() {
    for (locality, offset) in PLACES {
        for row in ROWS {
            let found = [0, 1, 2].map(|thread| pair(Scope::Shared, locality, row, thread, offset));
            // "No reuse": the use ends, and the event shows that it was the same core.
            let [own, same_socket, other_socket] = found;
            let own = own.unwrap();
            assert_eq!((own.outcome, own.later.unwrap().thread), (Reused, own.earlier.thread));
            let same_socket = same_socket.unwrap();
            assert_eq!(same_socket.outcome, Reused, "{row:?} {locality:?}");
            assert_ne!(same_socket.later.unwrap().thread, same_socket.earlier.thread);
            let expected = row.1.writes().then_some(Invalidated);
            assert_eq!(outcome(other_socket), expected, "{row:?} {locality:?}");
        }
    }
}

/// A pair is a reuse in a thread or in the shared cache, never both. On one socket it is exactly one of them. A
/// remote write ends both, a remote read neither.
#[test]
fn duality() {
    for (locality, offset) in PLACES {
        for row in ROWS {
            for (thread, domain) in DOMAINS.into_iter().enumerate() {
                let private = pair(Scope::Private, locality, row, thread, offset);
                let shared = pair(Scope::Shared, locality, row, thread, offset);
                let is_private = outcome(private) == Some(Reused);
                let is_shared = shared.is_some_and(|event| {
                    event.outcome == Reused && event.later.unwrap().thread != event.earlier.thread
                });
                assert!(!(is_private && is_shared));
                if domain == DOMAINS[0] {
                    assert!(is_private || is_shared);
                } else {
                    let expected = row.1.writes().then_some(Invalidated);
                    assert_eq!([outcome(private), outcome(shared)], [expected; 2]);
                }
            }
        }
    }
}

#[test]
fn a_neighbour_is_no_temporal_reuse_and_the_same_bytes_are_no_spatial_one() {
    for row in ROWS {
        for scope in [Scope::Private, Scope::Shared] {
            assert_eq!(outcome(pair(scope, Locality::Line, row, 0, 4)), Some(Reused));
            // Beside the bytes, across their end, and the bytes themselves.
            assert_eq!(pair(scope, Locality::Temporal, row, 0, 8), None);
            assert_eq!(pair(scope, Locality::Temporal, row, 0, 4), None);
            assert_eq!(pair(scope, Locality::Spatial, row, 0, 0), None);
            assert_eq!(outcome(pair(scope, Locality::Spatial, row, 0, 4)), Some(Reused));
        }
    }
}

/// A use ends when any of its bytes are written; a line when any of its bytes are.
#[test]
fn a_stranger_s_write_invalidates_what_it_overlaps() {
    let row = (Load, Store);
    let temporal = [0, 4, 8].map(|offset| outcome(pair(Scope::Private, Locality::Temporal, row, 2, offset)));
    assert_eq!(temporal, [Some(Invalidated), Some(Invalidated), None]);
    let spatial = [0, 4, 8].map(|offset| outcome(pair(Scope::Private, Locality::Spatial, row, 2, offset)));
    assert_eq!(spatial, [Some(Invalidated); 3]);
    let line = [0, 4, 8].map(|offset| outcome(pair(Scope::Private, Locality::Line, row, 2, offset)));
    assert_eq!(line, [Some(Invalidated); 3]);
}

/// The thesis' example a b c b d d a: five accesses between the first and the last. A read-modify-write is two
/// accesses, and the second one is not between the use and its reuse.
#[test]
fn distances_count_what_lies_strictly_between() {
    for (first, expected) in [(Load, 5), (ReadModifyWrite, 5)] {
        let (slots, tally) = ([Slot::default()], Tally::default());
        let detector = Detector::new(&slots, &tally, only(Scope::Private, Locality::Temporal));
        let mut clocks = Clocks::new(&DOMAINS);
        let a = Step { thread: 0, access: access(0, 8, first) };
        let watch = detector.on_sample(&clocks, touch(0, &a), 1.0, 1).arm.unwrap();
        clocks.pass(&a);
        for other in [1, 2, 1, 3, 3] {
            clocks.pass(&Step { thread: 0, access: access(other * 64, 8, Load) });
        }
        let Touched::Over(over) = detector.on_touch(&clocks, watch.id, touch(6, &a)) else { panic!() };
        assert_eq!(over.event.distance, expected);
    }
}
