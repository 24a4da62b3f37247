//! RIBench (ReuseTracker thesis, 6.5.1, listing 6.1): loops with known distances.

use std::collections::BTreeMap;

use carom_base::{Access, AccessKind, Addr, CellClass, DistanceKind, Ip, ReuseCell, Scope, ThreadId};
use carom_base_reuse::exact::{Config, Domain, Exact};

struct Parameters {
    outer: u64,
    /// Passes over each private array, and its elements: `a`, `a1` and so on.
    arrays: [(u64, u64); 5],
    /// Stores to the shared array before each pass.
    inv: u64,
}

/// Elements of one byte each, as in the original; arrays do not overlap.
fn pass(thread: u32, array: usize, length: u64, inv: u64) -> Vec<Access> {
    let byte = |base: u64, nth: u64, kind| Access { ip: Ip(1), addr: Addr(base + nth), width: 1, kind };
    let shared = (0..inv).map(|nth| byte(0x1000_0000, nth, AccessKind::Store));
    let base = 0x2000_0000 + (u64::from(thread) * 5 + array as u64) * 0x10_0000;
    let private = (0..length)
        .map(|nth| byte(base, nth, if nth % 2 == 0 { AccessKind::Load } else { AccessKind::Store }));
    shared.chain(private).collect()
}

/// Runs the threads pass by pass, in turn: between two passes of a thread each other one makes one.
fn run(parameters: &Parameters, threads: u32) -> Vec<ReuseCell> {
    let mut exact = Exact::new(&Config { granularities: vec![1], ..Config::default() }).expect("valid");
    for _ in 0..parameters.outer {
        for (array, &(passes, length)) in parameters.arrays.iter().enumerate() {
            for _ in 0..passes {
                for thread in 0..threads {
                    let accesses = pass(thread, array, length, parameters.inv);
                    exact.accesses(ThreadId(thread), Domain(0), &accesses);
                }
            }
        }
    }
    (0..threads).flat_map(|thread| exact.end(ThreadId(thread))).collect()
}

/// The reuses in each bin, by the bin's smallest distance.
fn reuses(cells: &[ReuseCell], kind: DistanceKind) -> BTreeMap<u64, u64> {
    let mut counts = BTreeMap::new();
    for cell in cells {
        assert_eq!(cell.scope, Scope::Private);
        if matches!(cell.class, CellClass::Reuse(_)) && cell.distance == kind {
            *counts.entry(cell.bin.low()).or_default() += cell.count;
        }
    }
    counts
}

fn count(cells: &[ReuseCell], class: CellClass) -> u64 {
    let counted = |cell: &&ReuseCell| cell.class == class && cell.distance == DistanceKind::Time;
    cells.iter().filter(counted).map(|cell| cell.count).sum()
}

fn low(distance: u64) -> u64 {
    carom_base::LogBin::of(distance).low()
}

/// From one pass to the next over an array of `n` elements there are `n + inv` accesses from an element to itself, so
/// `n + inv - 1` strictly between, all to different places. With `p` passes that happens `p - 1` times in each round
/// of the outer loop. From the last pass of a round to the first of the next it is the whole round, `total`, minus
/// the `p - 1` passes between; all arrays and the shared one lie between. Each store to the shared array finds its
/// place invalidated by the other thread's store, except for the very first.
fn check(parameters: &Parameters, threads: u32) {
    let cells = run(parameters, threads);
    let (threads, inv) = (u64::from(threads), parameters.inv);
    let total: u64 = parameters.arrays.iter().map(|(passes, length)| passes * (length + inv)).sum();
    let elements: u64 = parameters.arrays.iter().filter(|(passes, _)| *passes > 0).map(|array| array.1).sum();
    let passes: u64 = parameters.arrays.iter().map(|array| array.0).sum();
    let (mut time, mut stack) = (BTreeMap::new(), BTreeMap::new());
    for (passes, length) in parameters.arrays {
        let within = threads * parameters.outer * (passes - 1) * length;
        let across = threads * (parameters.outer - 1) * length;
        let round = total - (passes - 1) * (length + inv);
        for (counts, across_distance) in [(&mut time, round - 1), (&mut stack, elements + inv - 1)] {
            for (distance, count) in [(length + inv - 1, within), (across_distance, across)] {
                if count > 0 {
                    *counts.entry(low(distance)).or_default() += count;
                }
            }
        }
    }
    assert_eq!(reuses(&cells, DistanceKind::Time), time);
    assert_eq!(reuses(&cells, DistanceKind::Stack), stack);
    assert_eq!(count(&cells, CellClass::First), threads * (elements + inv));
    assert_eq!(count(&cells, CellClass::Invalidated), threads * inv * (parameters.outer * passes - 1));
}

#[test]
fn short_bell() {
    // The preset, at a tenth of its lengths and two rounds.
    let arrays = [(50, 100), (40, 200), (40, 400), (10, 800), (3, 1600)];
    check(&Parameters { outer: 2, arrays, inv: 0 }, 2);
}

#[test]
fn short_decreasing_with_invalidation() {
    let arrays = [(200, 50), (60, 150), (15, 350), (4, 750), (2, 1550)];
    check(&Parameters { outer: 2, arrays, inv: 100 }, 2);
}

#[test]
fn invalidation_among_five_threads_and_an_empty_array() {
    let arrays = [(5, 0), (4, 100), (4, 300), (2, 700), (3, 1500)];
    check(&Parameters { outer: 3, arrays, inv: 200 }, 5);
}
