use carom_base::{
    AccessKind, Addr, CellClass, DistanceKind, Locality, ReuseCell, ReuseEvent, ReuseKind, ReuseOutcome,
    Scope, ThreadId,
};

use super::*;
use crate::recording::{Combine, Merged, NoNames};
use crate::reuse::{
    Basis, Curve, CurveKind, CurveScope, Latencies, Model, ReusedBy, Unit, at,
    testing::{Synthetic, cell, reads, reuse, touch},
};

mod pairs;

fn study(input: &Synthetic) -> ReuseFindings {
    analyse(input, &mut NoNames, &ReuseOptions::default())
}

/// Thread 0: 1,000 accesses, of which 100 are first ones, 700 reuse within 15 lines, 200 at 30,000 lines (1.9 MB).
/// Thread 1: 3,000 accesses: 300 first ones, 2,700 at 15 lines.
fn two_threads() -> Synthetic {
    Synthetic::new(2).cells([
        cell(0, CellClass::First, 0, 100),
        reads(0, 15, 500),
        // Rows of equal keys add up.
        reads(0, 15, 200),
        reads(0, 30_000, 200),
        cell(1, CellClass::First, 0, 300),
        cell(1, CellClass::Reuse(ReuseKind::Waw), 15, 2_700),
    ])
}

#[test]
fn exact_curves_by_thread_and_for_all_by_accesses() {
    let found = study(&two_threads());
    assert_eq!((found.chosen_bytes, found.quality.exact_accesses), (1 << 20, 4_000));
    assert!(found.not_enough.is_none());
    let ratio = |scope, bytes| at(&found.main_curve(scope).unwrap().miss_ratio, bytes).unwrap();
    // Thread 0 at 1 MiB, 16,384 lines: (100 + 200) / 1,000; at 2 MiB, 32,768 lines: 100 / 1,000.
    let thread = CurveScope::Thread(ThreadId(0));
    assert_eq!((ratio(thread, 1 << 20).value, ratio(thread, 2 << 20).value), (0.3, 0.1));
    // All: (100 + 300 + 200) / 4,000. Nothing was sampled, so there is no band.
    let all = ratio(CurveScope::All, 1 << 20);
    assert_eq!((all.value, all.low, all.high), (0.15, 0.15, 0.15));
    let curve = found.main_curve(CurveScope::All).unwrap();
    assert_eq!((curve.basis, curve.unit, curve.accesses), (Basis::Exact, Unit::Places, 4_000.0));
    // 15 has a bin of its own, as 3,400 of 3,600 reuses, 700 of them reads.
    let bin = curve.histogram[0];
    assert_eq!((bin.low, bin.high, bin.fraction), (15, 16, 3_400.0 / 3_600.0));
    assert_eq!((bin.by_kind[0], bin.by_kind[2]), (700.0 / 3_600.0, 2_700.0 / 3_600.0));
}

#[test]
fn what_would_have_to_fit() {
    let found = study(&two_threads());
    let of = |scope| found.fits.iter().find(|fit| fit.scope == scope).unwrap();
    // 30,000 lines are 1.83 MiB: of the sizes looked at, 2 MiB is the first that holds them.
    let thread = of(CurveScope::Thread(ThreadId(0)));
    assert_eq!((thread.ratio.value, thread.compulsory, thread.enough_bytes), (0.3, 0.1, Some(2 << 20)));
    // Thread 1 has nothing to gain: all its misses are first accesses.
    assert_eq!(of(CurveScope::Thread(ThreadId(1))).enough_bytes, None);
    // Most misses first: 600 of all, 300 each of the threads.
    assert_eq!(found.fits[0].scope, CurveScope::All);
}

#[test]
fn distances_of_different_kinds_stay_apart() {
    let time = ReuseCell { distance: DistanceKind::Time, ..reads(0, 1_000, 5) };
    let bytes = ReuseCell { granularity: 1, ..reads(0, 7, 6) };
    let page = ReuseCell { granularity: 4096, ..reads(0, 3, 7) };
    let found = study(&Synthetic::new(1).cells([time, bytes, page, reads(0, 15, 8)]));
    let curves: Vec<_> = found
        .curves
        .iter()
        .filter(|curve| curve.scope == CurveScope::All)
        .map(|c| (c.kind, c.granularity, c.distance, c.observations, c.miss_ratio.is_empty()))
        .collect();
    assert_eq!(
        curves,
        [
            (CurveKind::Temporal, 1, DistanceKind::Stack, 6, true),
            (CurveKind::Any, 64, DistanceKind::Time, 5, true),
            (CurveKind::Any, 64, DistanceKind::Stack, 8, false),
            (CurveKind::Any, 4096, DistanceKind::Stack, 7, false),
        ]
    );
}

/// The shared cache sees 10 first accesses, 60 reuses of a thread's own uses and 30 of another's; the thesis' shared
/// reuse are the 30 alone.
#[test]
fn a_shared_cache_has_own_and_others_reuses_together() {
    let shared = |cell: ReuseCell| ReuseCell { scope: Scope::Shared, ..cell };
    let others = |cell: ReuseCell| ReuseCell { from_other: true, ..shared(cell) };
    let input = Synthetic::new(2).cells([
        shared(cell(0, CellClass::First, 0, 10)),
        shared(reads(0, 20, 60)),
        others(reads(1, 100_000, 30)),
    ]);
    let found = study(&input);
    let by = |by| found.curves.iter().find(|curve| curve.reused_by == by).unwrap();
    let any = by(ReusedBy::AnyThread);
    assert_eq!((any.scope, any.outcomes.reused, any.outcomes.once), (CurveScope::Shared(0), 0.9, 0.1));
    // 100,000 lines are 6.1 MiB: they miss at 1 MiB, 30 + 10 of 100, and fit in 32 MiB.
    let ratio = |bytes| at(&any.miss_ratio, bytes).unwrap().value;
    assert_eq!((ratio(1 << 20), ratio(32 << 20)), (0.4, 0.1));
    let other = by(ReusedBy::OtherThread);
    assert_eq!((other.outcomes.reused, other.histogram.len(), other.miss_ratio.len()), (0.3, 1, 0));
}

#[test]
fn a_sample_of_the_places_is_called_so() {
    let input = Synthetic { rate: 0.01, ..two_threads() };
    let found = study(&input);
    let curve = found.main_curve(CurveScope::All).unwrap();
    assert_eq!((curve.basis, found.quality.place_rate), (Basis::Sampled, 0.01));
    // 400 first accesses at a rate of 0.01 are 4 places: next to nothing is known.
    let ratio = at(&curve.miss_ratio, 1 << 20).unwrap();
    assert!(ratio.value == 0.15 && ratio.low < 0.05 && ratio.high > 0.5, "{ratio:?}");
}

#[test]
fn nothing_seen_is_not_enough() {
    let few = study(&Synthetic::new(1)).not_enough.unwrap();
    assert_eq!((few.seen, few.run_seconds), (0, None));
    // 50 uses ended in 2 s: 100 take 4 s.
    let few = study(&Synthetic::new(1).events((0..50).map(reuse))).not_enough.unwrap();
    assert_eq!((few.seen, few.run_seconds), (50, Some(4.0)));
}

/// A use of a line that is read again, at other bytes of it.
fn line_reuse(distance: u64) -> ReuseEvent {
    ReuseEvent {
        locality: Locality::Line,
        later: Some(touch(0, AccessKind::Load, 8, 0x20)),
        ..reuse(distance)
    }
}

/// The same, where a draw among the ways to watch a use makes up for those that it was not watched in.
fn weighing(weight: f32, event: ReuseEvent) -> ReuseEvent {
    ReuseEvent { weight, ..event }
}

fn never(event: ReuseEvent) -> ReuseEvent {
    ReuseEvent { outcome: ReuseOutcome::Ended, later: None, ..event }
}

fn curve(found: &ReuseFindings, kind: CurveKind, distance: DistanceKind) -> Option<&Curve> {
    let mut all = found.curves.iter().filter(|curve| curve.scope == CurveScope::All);
    all.find(|curve| (curve.kind, curve.distance) == (kind, distance))
}

/// A loop over 1,000 lines, each read once a round: 999 accesses between use and reuse, to 999 different lines. A
/// quarter of the uses are in the last round.
fn a_loop() -> Synthetic {
    let uses = (0..400).map(|index| if index % 4 == 0 { never(line_reuse(500)) } else { line_reuse(999) });
    Synthetic { period: 1000.0, ..Synthetic::new(1).events(uses) }
}

#[test]
fn samples_give_times_and_models_stack_distances() {
    let found = study(&a_loop());
    assert_eq!((found.quality.uses, found.quality.reused, found.quality.ended), (400, 300, 100));
    let time = curve(&found, CurveKind::Any, DistanceKind::Time).unwrap();
    assert_eq!((time.basis, time.accesses, time.observations), (Basis::Sampled, 400_000.0, 400));
    let bin = time.histogram[0];
    assert_eq!((bin.low, bin.high, time.outcomes.once), (992, 1008, 0.25));
    assert!((bin.fraction - 1.0).abs() < 1e-9 && (bin.by_kind[0] - 1.0).abs() < 1e-9, "{bin:?}");
    // Nobody's place is used again within 999 accesses, so that these are to 999 places.
    let stack = found.main_curve(CurveScope::All).unwrap();
    assert_eq!((stack.basis, stack.unit), (Basis::Modelled(Model::StatStack), Unit::Places));
    assert_eq!((stack.histogram.len(), stack.histogram[0].low), (1, 992));
    // 512 lines are too few for 1,000, 1,024 are enough; the uses of the last round are as many as first accesses.
    let ratio = |bytes| at(&stack.miss_ratio, bytes).unwrap();
    let (small, large) = (ratio(32 << 10), ratio(64 << 10));
    assert!((small.value - 1.0).abs() < 1e-9 && (large.value - 0.25).abs() < 1e-9, "{small:?} {large:?}");
    assert!(large.low < 0.25 && 0.25 < large.high && large.low > 0.2 && large.high < 0.3, "{large:?}");
    let fit = found.fits.iter().find(|fit| fit.scope == CurveScope::All).unwrap();
    // All that misses in the first level hits in the second.
    assert_eq!((found.chosen_bytes, fit.enough_bytes), (32 << 10, Some(64 << 10)));
    assert!(
        (fit.compulsory - 0.25).abs() < 1e-9 && (found.costs[0].cycles - 7.5).abs() < 1e-6,
        "{:?}",
        found.costs
    );
}

#[test]
fn kinds_of_watch_are_not_mixed() {
    // Watched in one of three ways, lines with odds of 1 in 2 and the others with 1 in 4.
    let spatial = ReuseEvent { locality: Locality::Spatial, ..line_reuse(70) };
    let lines = a_loop();
    let events = lines.events.iter().map(|line| weighing(2.0, *line));
    let others = [reuse(7), spatial].map(|event| [weighing(4.0, event); 200]).into_iter().flatten();
    let found = study(&Synthetic { events: events.chain(others).collect(), ..lines });
    let low = |kind| {
        let curve = curve(&found, kind, DistanceKind::Time).unwrap();
        (curve.histogram.len(), curve.histogram[0].low)
    };
    assert_eq!(
        (low(CurveKind::Temporal), low(CurveKind::Spatial), low(CurveKind::Any)),
        ((1, 7), (1, 70), (1, 992))
    );
    assert_eq!(curve(&found, CurveKind::Temporal, DistanceKind::Stack), None);
    // Each of 800 uses stands for 1,000 accesses, whichever way it was watched and whatever it weighs for that.
    assert_eq!(curve(&found, CurveKind::Any, DistanceKind::Time).unwrap().accesses, 800_000.0);
}

#[test]
fn nanoseconds_give_no_stack_distances() {
    let found = study(&Synthetic { nanoseconds: true, ..a_loop() });
    assert_eq!(curve(&found, CurveKind::Any, DistanceKind::Time).unwrap().unit, Unit::Nanoseconds);
    assert!(found.curves.iter().all(|curve| curve.distance == DistanceKind::Time) && found.fits.is_empty());
}

/// What was given up at 100 was not reused before: the others tell how it would have gone on. 100 of the 300 that got
/// beyond 100 are reused at 200, and all that were given up count like these.
#[test]
fn what_is_given_up_counts_up_to_there() {
    let given_up = ReuseEvent { outcome: ReuseOutcome::Replaced, later: None, ..line_reuse(100) };
    let uses = [(100, line_reuse(200)), (200, never(line_reuse(300))), (300, given_up)];
    let events = uses.into_iter().flat_map(|(count, event)| (0..count).map(move |_| event));
    let found = study(&Synthetic::new(1).events(events));
    let outcomes = curve(&found, CurveKind::Any, DistanceKind::Time).unwrap().outcomes;
    assert!((outcomes.reused - 1.0 / 3.0).abs() < 1e-9, "{outcomes:?}");
}

/// Of 100 uses in the shared cache 60 are next touched by their own thread, 40 by another.
fn shared_events() -> impl Iterator<Item = ReuseEvent> {
    let store = |thread, addr, ip| touch(thread, AccessKind::Store, addr, ip);
    let event = move |other: bool| ReuseEvent {
        scope: Scope::Shared,
        earlier: store(0, 0x1000, 0x10),
        later: Some(if other { store(1, 0x1008, 0x30) } else { touch(0, AccessKind::Load, 0x1000, 0x20) }),
        ..line_reuse(if other { 95 } else { 5 })
    };
    (0..100).map(move |index| event(index >= 60))
}

#[test]
fn reuses_by_another_thread_are_the_theses() {
    let found = study(&Synthetic { period: 10.0, ..Synthetic::new(2).events(shared_events()) });
    let of =
        |by| found.curves.iter().find(|c| c.reused_by == by && c.distance == DistanceKind::Time).unwrap();
    let (any, other) = (of(ReusedBy::AnyThread), of(ReusedBy::OtherThread));
    assert_eq!((any.outcomes.reused, any.histogram.len()), (1.0, 2));
    assert!((other.outcomes.reused - 0.4).abs() < 1e-9, "{:?}", other.outcomes);
    assert_eq!((other.histogram.len(), other.histogram[0].low), (1, 94));
    // Private pairs are found in the private cache: here only what crosses threads is listed.
    assert_eq!(found.pairs.len(), 1);
    assert_eq!(
        (found.pairs[0].threads.clone(), found.pairs[0].share, found.pairs[0].temporal),
        (vec![ThreadId(1)], 0.4, Some(0.0))
    );
}

#[test]
fn writes_beside_each_other_are_false_sharing() {
    let found = study(&Synthetic { period: 10.0, ..Synthetic::new(2).events(shared_events()) });
    let [sharing] = found.false_sharing.as_slice() else { panic!("{:?}", found.false_sharing) };
    assert_eq!((sharing.line, sharing.seen, sharing.distance), (Addr(0x1000), 40, 95.0));
    // 40 of 100 events of 10 accesses each, all writes after a write, and all that others reuse.
    assert_eq!((sharing.write_after_write, sharing.read_after_write, sharing.share), (400.0, 0.0, 1.0));
    assert_eq!(sharing.share_of_accesses, 0.4);
    assert_eq!(sharing.threads, [ThreadId(0), ThreadId(1)]);
    assert_eq!(sharing.parts.clone().map(|part| (part.offset, part.width)), [(0, 8), (8, 8)]);
}

/// Beside the 40 writes to other bytes come 10 reads of the very bytes that another thread has written, which is true
/// sharing, and 150 reads after reads, which move no line: four in five of the moves are false sharing.
#[test]
fn what_all_threads_read_does_not_hide_false_sharing() {
    let by_other = |earlier| ReuseEvent {
        scope: Scope::Shared,
        earlier: touch(0, earlier, 0x2000, 0x40),
        later: Some(touch(1, AccessKind::Load, 0x2000, 0x50)),
        ..line_reuse(50)
    };
    let others =
        (0..160).map(|index| by_other(if index < 10 { AccessKind::Store } else { AccessKind::Load }));
    let found =
        study(&Synthetic { period: 10.0, ..Synthetic::new(2).events(shared_events()).events(others) });
    let [sharing] = found.false_sharing.as_slice() else { panic!("{:?}", found.false_sharing) };
    assert!((sharing.share - 0.8).abs() < 1e-9, "{}", sharing.share);
    assert!((sharing.share_of_accesses - 40.0 / 260.0).abs() < 1e-9, "{}", sharing.share_of_accesses);
}

/// 70 reuses of other bytes at 5,000 accesses are beyond 64 KiB and reach memory, at 100 ns; 40 by another thread, at 50 ns, do not
/// count against it: of 200 uses of 10 accesses each, half were watched in either scope, and stand for all, 2,000.
#[test]
fn prefetching_weighs_memory_against_false_sharing() {
    let far = line_reuse(5_000);
    let private = (0..100).map(|index| if index < 70 { far } else { line_reuse(1) });
    let events = private.chain(shared_events()).map(|event| weighing(2.0, event));
    let input = Synthetic {
        period: 10.0,
        latencies: Some(Latencies { memory_ns: 100.0, transfer_ns: 50.0 }),
        caches: [(16 << 10, false), (64 << 10, true)]
            .map(|(bytes, shared)| Cache { bytes, shared, ..Cache::default() })
            .into(),
        ..Synthetic::new(2).events(events)
    };
    let options = ReuseOptions { prefetch: true, ..ReuseOptions::default() };
    let found = analyse(&input, &mut NoNames, &options);
    let advice = found.prefetch.unwrap();
    let memory = 2_000.0 * 70.0 / 100.0;
    let sharing = 2_000.0 * 40.0 / 100.0;
    assert!(
        (advice.memory_reuses - memory).abs() < 1e-6 && (advice.sharing_reuses - sharing).abs() < 1e-6,
        "{advice:?}"
    );
    assert!((advice.gain_s - (memory * 100.0 - sharing * 50.0) / 1e9).abs() < 1e-12, "{advice:?}");
    assert_eq!((advice.cut_off, advice.last_cache_bytes), (256, 64 << 10));
    let without = analyse(&Synthetic { latencies: None, ..input }, &mut NoNames, &options);
    assert_eq!(without.prefetch, None);
}

#[test]
fn runs_of_one_program_add_up() {
    let runs = [two_threads(), two_threads()];
    let merged = Merged::new(&runs, Combine::Runs);
    let found = analyse(&merged, &mut NoNames, &ReuseOptions::default());
    let threads: Vec<_> = found.fits.iter().map(|fit| fit.scope).collect();
    assert_eq!(found.quality.exact_accesses, 8_000);
    assert_eq!(threads.len(), 3, "{threads:?}");
    assert_eq!(found.main_curve(CurveScope::Thread(ThreadId(0))).unwrap().accesses, 2_000.0);
}
