//! Reuse in streams that are short enough to follow by hand.

use std::collections::BTreeMap;

use carom_base::{
    CellClass, DistanceKind, Domain, ReuseCell, ReuseEvent, ReuseKind, ReuseOutcome, Scope, ThreadId,
};
use carom_base_replay::{ExactReuse, SampledReuse, Sampling, replay_in_domains};
use carom_base_reuse::{
    exact,
    sampled::{self, Odds},
};
use carom_base_stream::{Record, text};

fn stream(stream: &str) -> Vec<Record> {
    text::parse(stream).expect("a stream")
}

/// Threads 0 and 1 share a cache; all others share another one.
fn domain(thread: ThreadId) -> Domain {
    Domain(u32::from(thread.0 >= 2))
}

/// The counts of one thread's accesses at a granularity, as `CLASS DISTANCE` with `*` where the use was another
/// thread's.
fn cells(cells: &[ReuseCell], thread: u32, scope: Scope, distance: DistanceKind) -> BTreeMap<String, u64> {
    let mut found = BTreeMap::new();
    for cell in cells {
        if (cell.thread, cell.scope, cell.distance) == (ThreadId(thread), scope, distance) {
            let class = match cell.class {
                CellClass::First => "first".to_owned(),
                CellClass::Invalidated => "invalidated".to_owned(),
                CellClass::Reuse(kind) => format!("{kind:?} {}", cell.bin.low()).to_lowercase(),
            };
            let other = if cell.from_other { "*" } else { "" };
            *found.entry(class + other).or_default() += cell.count;
        }
    }
    found
}

/// The exact analysis of both scopes at one granularity.
fn exact(stream: &[Record], granularity: u32) -> Vec<ReuseCell> {
    let config = exact::Config { granularities: vec![granularity], shared: true, ..exact::Config::default() };
    let mut reuse = ExactReuse::new(&config).expect("a valid configuration");
    replay_in_domains(stream, domain, &mut reuse);
    reuse.cells().to_vec()
}

fn counted<const N: usize>(expected: [(&str, u64); N]) -> BTreeMap<String, u64> {
    expected.into_iter().map(|(class, count)| (class.to_owned(), count)).collect()
}

/// A and B are lines; the time and the stack distance follow each reuse. Between the two accesses to B in lines 2 and
/// 7 there are four, all to A: a time distance of 4, and a stack distance of 1.
#[test]
fn every_kind_of_private_reuse() {
    let stream = stream(
        "
        0 load  8 @0x1000    # A: first
        0 load  8 @0x2000    # B: first
        0 load  8 @0x1000    # A: read after read,   1 1
        0 store 8 @0x1000    # A: write after read,  0 0
        0 store 8 @0x1000    # A: write after write, 0 0
        0 load  8 @0x1000    # A: read after write,  0 0
        0 rmw   8 @0x2000    # B: write after read,  4 1
        0 load  8 @0x2000    # B: read after write,  0 0
        0 load  8 @0x1000    # A: read after read,   3 1, since a read-modify-write counts as two
    ",
    );
    let found = exact(&stream, 64);
    assert_eq!(
        cells(&found, 0, Scope::Private, DistanceKind::Time),
        counted([
            ("first", 2),
            ("rar 1", 1),
            ("war 0", 1),
            ("waw 0", 1),
            ("raw 0", 2),
            ("war 4", 1),
            ("rar 3", 1)
        ])
    );
    assert_eq!(
        cells(&found, 0, Scope::Private, DistanceKind::Stack),
        counted([("first", 2), ("rar 1", 2), ("war 0", 1), ("waw 0", 1), ("raw 0", 2), ("war 1", 1)])
    );
}

/// Neighbours in a line are one place of 64 bytes and two of 8. An access of 16 bytes touches two places of 8, the
/// lower one first.
#[test]
fn a_place_is_as_large_as_asked_for() {
    let stream = stream(
        "
        0 load 8  @0x1000    # 64: first.   8: first
        0 load 8  @0x1008    # 64: reuse 0. 8: first
        0 load 16 @0x1000    # 64: reuse 0. 8: reuse of the first with one place between, then of the second with one between
    ",
    );
    let of = |granularity| cells(&exact(&stream, granularity), 0, Scope::Private, DistanceKind::Stack);
    assert_eq!(of(64), counted([("first", 1), ("rar 0", 2)]));
    assert_eq!(of(8), counted([("first", 2), ("rar 1", 2)]));
}

/// Threads 0 and 1 have caches of their own, and one in common.
///
/// In its own, thread 0 misses at line 3, because thread 1 has written in between. Thread 1 reuses at line 4, which
/// thread 0's read in between does not affect. In the common cache each line after the first is a reuse of what the
/// other thread used just before.
#[test]
fn another_thread_invalidates_and_shares() {
    let stream = stream(
        "
        0 load  8 @0x1000
        1 store 8 @0x1000
        0 load  8 @0x1000
        1 load  8 @0x1000
    ",
    );
    let found = exact(&stream, 64);
    let of = |thread, scope| cells(&found, thread, scope, DistanceKind::Time);
    assert_eq!(of(0, Scope::Private), counted([("first", 1), ("invalidated", 1)]));
    assert_eq!(of(1, Scope::Private), counted([("first", 1), ("raw 0", 1)]));
    assert_eq!(of(0, Scope::Shared), counted([("first", 1), ("raw 0*", 1)]));
    assert_eq!(of(1, Scope::Shared), counted([("war 0*", 1), ("rar 0*", 1)]));
}

/// Thread 2 uses another cache than threads 0 and 1: its write invalidates the line in theirs, and in thread 0's own.
/// At line 3 thread 1 fetches it again, as its own first access. At line 4 thread 0 finds it in the common cache but
/// not in its own. The end of thread 1 ends its own cache but not the common one, where thread 0 at line 6 finds its
/// own use of line 4, with nothing in between.
#[test]
fn a_thread_elsewhere_takes_the_line_from_all_who_share() {
    let stream = stream(
        "
        0 load  8 @0x1000
        2 store 8 @0x1000
        1 load  8 @0x1000
        0 load  8 @0x1000
        1 end
        0 load  8 @0x1000
    ",
    );
    let found = exact(&stream, 64);
    let of = |thread, scope| cells(&found, thread, scope, DistanceKind::Stack);
    assert_eq!(of(0, Scope::Private), counted([("first", 1), ("invalidated", 1), ("rar 0", 1)]));
    assert_eq!(of(1, Scope::Private), counted([("first", 1)]));
    assert_eq!(of(2, Scope::Private), counted([("first", 1)]));
    assert_eq!(of(0, Scope::Shared), counted([("first", 1), ("rar 0*", 1), ("rar 0", 1)]));
    assert_eq!(of(1, Scope::Shared), counted([("invalidated", 1)]));
    assert_eq!(of(2, Scope::Shared), counted([("first", 1)]));
}

/// The outcomes of uses, with every access a use: in the order of the uses, as `OUTCOME DISTANCE` and the thread that
/// settled it.
fn sampled(stream: &[Record], odds: Odds) -> Vec<String> {
    let config = sampled::Config { odds, ..sampled::Config::default() };
    let mut reuse = SampledReuse::new(config, 32, Sampling::Every);
    replay_in_domains(stream, domain, &mut reuse);
    let mut events = reuse.events().to_vec();
    events.sort_by_key(|event| event.earlier.time);
    let describe = |event: &ReuseEvent| {
        assert_eq!(event.weight, 1.0);
        let by = event.later.map_or_else(String::new, |later| format!(" by {}", later.thread.0));
        format!("{:?} {}{by}", event.outcome, event.distance).to_lowercase()
    };
    events.iter().map(describe).collect()
}

/// Two words of a line, another line, and the first word again. The same bytes: only the first word is reused, with
/// two accesses between. Other bytes of the line: the first word by the second at once, the second by the first with
/// one between. Any bytes of the line: the same, because the other word comes first. Uses without a reuse last until
/// the end: two accesses follow the second word, one follows the other line, none follows the last.
#[test]
fn sampled_uses_of_one_thread() {
    let stream = stream("0 load 8 @0x1000\n0 load 8 @0x1008\n0 load 8 @0x2000\n0 load 8 @0x1000");
    assert_eq!(
        sampled(&stream, Odds { private_temporal: 1, ..Odds::NONE }),
        ["reused 2 by 0", "ended 2", "ended 1", "ended 0"]
    );
    for odds in [Odds { private_spatial: 1, ..Odds::NONE }, Odds { private_line: 1, ..Odds::NONE }] {
        assert_eq!(sampled(&stream, odds), ["reused 0 by 0", "reused 1 by 0", "ended 1", "ended 0"]);
    }
}

/// Thread 0 uses lines A and B; then thread 1 reads A and writes B, then thread 2, in another domain, does the same.
///
/// In thread 0's own cache, reads of A have no effect; the write of B by thread 1 invalidates it, after no access of
/// thread 0's own. A is never invalidated and ends with the stream, after one access. In the cache of threads 0 and
/// 1, thread 1 reuses both, each with one access between. Its own uses last until thread 2 comes, whose read of A has
/// no effect and whose write of B invalidates. The last four only end: in its own cache thread 2 made one access
/// after A.
#[test]
fn sampled_uses_of_several_threads() {
    let stream = stream(
        "
        0 load  8 @0x1000    # A
        0 load  8 @0x2000    # B
        1 load  8 @0x1000
        1 store 8 @0x2000
        2 load  8 @0x1000
        2 store 8 @0x2000
    ",
    );
    assert_eq!(
        sampled(&stream, Odds { private_line: 1, ..Odds::NONE }),
        ["ended 1", "invalidated 0 by 1", "ended 1", "invalidated 0 by 2", "ended 1", "ended 0"]
    );
    assert_eq!(
        sampled(&stream, Odds { shared_line: 1, ..Odds::NONE }),
        ["reused 1 by 1", "reused 1 by 1", "ended 1", "invalidated 0 by 2", "ended 1", "ended 0"]
    );
}

/// A loop over 100 lines: between two accesses to a line lie 99. One access in 50 is followed, in one slot, which is
/// half of what is needed. A use that is replaced passes its weight on and weighs nothing, so the weights add up to
/// the number of samples.
#[test]
fn samples_find_the_distance_of_a_loop() {
    const ACCESSES: u64 = 20_000;
    let line = |n: u64| format!("0 load 8 @{}\n", 0x1_0000 + n % 100 * 64);
    let stream = stream(&(0..ACCESSES).map(line).collect::<String>());
    let config =
        sampled::Config { odds: Odds { private_line: 1, ..Odds::NONE }, ..sampled::Config::default() };
    let mut reuse = SampledReuse::new(config, 1, Sampling::Period { accesses: 50, seed: 1 });
    replay_in_domains(&stream, domain, &mut reuse);
    let reused: Vec<_> =
        reuse.events().iter().filter(|event| event.outcome == ReuseOutcome::Reused).collect();
    assert!(reused.len() > 100, "{}", reused.len());
    assert!(reused.iter().all(|event| event.distance == 99));
    assert!(reused.iter().all(|event| event.later.is_some_and(|later| {
        ReuseKind::of(event.earlier.access.kind, later.access.kind) == ReuseKind::Rar
    })));
    let weight: f32 = reuse.events().iter().map(|event| event.weight).sum();
    assert!((weight - (ACCESSES / 50) as f32).abs() < 0.5, "{weight}");
}
