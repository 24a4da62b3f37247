//! Findings on pairs of instructions.

use carom_base::{
    AccessKind, Addr, CellClass, Ip, Line, ProcessId, ReuseCell, ReuseEvent, Scope, StackId, ThreadId,
};

use super::{line_reuse, never, study, two_threads};
use crate::recording::{Combine, Merged, NamedBytes, Names, NoNames};
use crate::reuse::{
    CurveScope, Pair, ReuseFindings, ReuseOptions, analyse,
    testing::{Synthetic, cell, reads, touch},
};
use crate::symbols::{DataObject, Frame};

fn pair_cell(thread: u32, (earlier, later): (u64, u64), distance: u64, count: u64) -> ReuseCell {
    ReuseCell { pair: Some((Ip(earlier), Ip(later))), ..reads(thread, distance, count) }
}

#[test]
fn pairs_are_ranked_by_their_misses() {
    let rest = ReuseCell { pair: Some(ReuseCell::REST), ..reads(0, 1 << 15, 999) };
    let input = two_threads().cells([
        pair_cell(0, (0x10, 0x20), 8, 700),
        pair_cell(1, (0x10, 0x20), 8, 2_700),
        pair_cell(0, (0x30, 0x40), 1 << 15, 200),
        rest,
    ]);
    let found = study(&input);
    let shown = |pair: &Pair| (pair.later[0].address, pair.share, pair.share_of_misses, pair.miss_ratio);
    // 200 of 4,000 accesses, all beyond 1 MiB: 200 of 600 misses. The other never misses.
    assert_eq!(
        found.pairs.iter().map(shown).collect::<Vec<_>>(),
        [(0x40, 0.05, 1.0 / 3.0, 1.0), (0x20, 0.85, 0.0, 0.0)]
    );
    assert_eq!(found.pairs[1].threads, [ThreadId(0), ThreadId(1)]);
    // 32,768 lines are 2 MiB, and so are up to 33,791 of the same bin, but for 1/32.
    let stack = found.pairs[0].stack_bytes.unwrap();
    assert!((2.0..2.0 * 33.0 / 32.0).contains(&(stack.median / (1 << 20) as f64)), "{stack:?}");
    // All of its reuses miss, none of the other's.
    assert_eq!((found.pairs[0].missing_bytes, found.pairs[1].missing_bytes), (Some(stack.median), None));
    assert_eq!((found.fits[0].worst_pair, found.fits[0].worst_share), (Some(0), 1.0 / 3.0));
    // Of thread 0's own 300 misses it is two thirds; thread 1 has none of it.
    let of = |id| found.fits.iter().find(|fit| fit.scope == CurveScope::Thread(ThreadId(id))).unwrap();
    assert_eq!((of(0).worst_pair, of(0).worst_share), (Some(0), 2.0 / 3.0));
    assert_eq!(of(1).worst_pair, None);
}

/// A matrix `a` in front of 0x2008, in the middle of a line, and a matrix `b` behind.
struct Matrices;

impl Names for Matrices {
    fn call_path(&mut self, process: ProcessId, ip: Ip, stack: StackId) -> Vec<Frame> {
        NoNames.call_path(process, ip, stack)
    }
    fn object(&mut self, process: ProcessId, at: Addr) -> DataObject {
        let name = if at < Addr(0x2008) { "a" } else { "b" };
        DataObject { name: name.to_owned(), ..NoNames.object(process, at) }
    }
    fn field(&mut self, _: ProcessId, _: Addr, _: u32) -> Option<String> {
        None
    }
    fn layout(&mut self, _: ProcessId, _: Line) -> Vec<NamedBytes> {
        Vec::new()
    }
}

/// The first pair reuses `a` 250 times, in two rows, and `b` 300 times, in a line with the end of `a`; nobody knows where the second pair does.
#[test]
fn pairs_have_the_object_of_most_of_their_reuses() {
    let at = |at, count| ReuseCell { at: Addr(at), ..pair_cell(0, (0x10, 0x20), 8, count) };
    let input = Synthetic::new(1).cells([
        reads(0, 8, 650),
        at(0x1000, 150),
        at(0x2008, 300),
        at(0x1fff, 100),
        pair_cell(0, (0x30, 0x40), 8, 100),
    ]);
    let found = analyse(&input, &mut Matrices, &ReuseOptions::default());
    let named = |pair: &Pair| pair.object.as_ref().map(|object| object.name.clone());
    assert_eq!(found.pairs.iter().map(named).collect::<Vec<_>>(), [Some("b".to_owned()), None]);
}

/// Every process has the program at another multiple of 64 KiB.
struct Relocated;

impl Names for Relocated {
    fn call_path(&mut self, _: ProcessId, ip: Ip, _: StackId) -> Vec<Frame> {
        vec![Frame { address: ip.0 % 0x1_0000, module: Some("app".into()), ..Frame::default() }]
    }
    fn object(&mut self, process: ProcessId, at: Addr) -> DataObject {
        NoNames.object(process, at)
    }
    fn field(&mut self, _: ProcessId, _: Addr, _: u32) -> Option<String> {
        None
    }
    fn layout(&mut self, _: ProcessId, _: Line) -> Vec<NamedBytes> {
        Vec::new()
    }
}

/// The same pair of instructions, 200 times in the first run and 300 times in the second.
#[test]
fn pairs_of_several_runs_are_one_where_their_instructions_are() {
    let run = |base: u64, count| {
        Synthetic::new(1)
            .cells([reads(0, 1 << 15, 1_000), pair_cell(0, (base + 0x30, base + 0x40), 1 << 15, count)])
    };
    let runs = [run(0x1_0000, 200), run(0x5_0000, 300)];
    let merged = Merged::new(&runs, Combine::Runs);
    let found = analyse(&merged, &mut Relocated, &ReuseOptions::default());
    let [pair] = found.pairs.as_slice() else { panic!("{:?}", found.pairs) };
    assert_eq!(
        (pair.share, pair.seen, pair.process, pair.threads.as_slice()),
        (0.25, 500, ProcessId(0), &[ThreadId(0)][..])
    );
}

/// 100 first accesses, 300 reuses of the first pair beyond 1,000 pages, and 600 of the second beyond 10.
fn of_pages() -> Synthetic {
    let cells = [
        cell(0, CellClass::First, 0, 100),
        reads(0, 1_000, 300),
        reads(0, 10, 600),
        pair_cell(0, (0x10, 0x20), 1_000, 300),
        pair_cell(0, (0x30, 0x40), 10, 600),
    ];
    Synthetic::new(1).cells(cells.map(|cell| ReuseCell { granularity: 4096, ..cell }))
}

#[test]
fn pairs_are_counted_in_the_places_that_were_asked_for() {
    let found = study(&of_pages());
    // 1 MiB are 256 pages: the first pair misses, and makes up 300 of 400 misses.
    let shown = |pair: &Pair| (pair.later[0].address, pair.share, pair.share_of_misses, pair.miss_ratio);
    assert_eq!(
        found.pairs.iter().map(shown).collect::<Vec<_>>(),
        [(0x20, 0.3, 0.75, 1.0), (0x40, 0.6, 0.0, 0.0)]
    );
    // The bin of 1,000 is 992 to 1,007.
    let stack = found.pairs[0].stack_bytes.unwrap();
    assert!((992.0..1008.0).contains(&(stack.median / 4096.0)), "{stack:?}");
    assert_eq!((found.pairs[0].missing_bytes, found.pairs[1].missing_bytes), (Some(stack.median), None));
}

/// 10 pages and 10 lines have nothing in common.
#[test]
fn pairs_of_different_places_do_not_add_up() {
    let runs = [of_pages(), Synthetic::new(1).cells([reads(0, 10, 50), pair_cell(0, (0x30, 0x40), 10, 50)])];
    let merged = Merged::new(&runs, Combine::Runs);
    let found = analyse(&merged, &mut Relocated, &ReuseOptions::default());
    let seen: Vec<_> = found.pairs.iter().map(|pair| (pair.later[0].address, pair.seen)).collect();
    assert_eq!(seen, [(0x20, 300), (0x40, 600)]);
}

/// The worst pair of the cache that threads 0 and 1 share, and of that of threads 2 and 3: the reuse, and its share.
fn worst_by_domain(found: &ReuseFindings) -> [(u64, f64); 2] {
    [0, 1].map(|domain| {
        let fit = found.fits.iter().find(|fit| fit.scope == CurveScope::Shared(domain)).unwrap();
        (found.pairs[fit.worst_pair.unwrap()].later[0].address, fit.worst_share)
    })
}

/// In the first cache 100 accesses are first ones and 300 miss between two instructions; in the second 600 and 400. The
/// latter pair has more of the misses of both, and none of those of the first.
#[test]
fn each_shared_cache_has_a_worst_pair_of_its_own() {
    let cells = [(0, 0x10, 100, 300), (2, 0x30, 600, 400)].map(|(thread, ip, first, far)| {
        let others = |cell| ReuseCell { from_other: true, ..cell };
        let pair = others(pair_cell(thread + 1, (ip, ip + 0x10), 30_000, far));
        [cell(thread, CellClass::First, 0, first), others(reads(thread + 1, 30_000, far)), pair]
    });
    let shared = |cell| ReuseCell { scope: Scope::Shared, ..cell };
    let input = Synthetic { domains: vec![0, 0, 1, 1], ..Synthetic::new(4) };
    let found = study(&input.cells(cells.into_iter().flatten().map(shared)));
    assert_eq!(worst_by_domain(&found), [(0x20, 0.75), (0x40, 0.4)]);
}

/// The same of samples, for a cache that holds next to nothing: 60 of 100 uses are reused, and 90 of 100.
#[test]
fn sampled_pairs_are_those_of_their_cache() {
    let used = |thread, ip, reused| {
        let event = ReuseEvent {
            scope: Scope::Shared,
            earlier: touch(thread, AccessKind::Store, 0, ip),
            later: Some(touch(thread + 1, AccessKind::Load, 0, ip + 0x10)),
            ..line_reuse(95)
        };
        (0..100).map(move |index| if index < reused { event } else { never(event) })
    };
    let input = Synthetic { domains: vec![0, 0, 1, 1], ..Synthetic::new(4) };
    let input = input.events(used(0, 0x10, 60)).events(used(2, 0x30, 90));
    let options = ReuseOptions { cache_bytes: Some(64), ..ReuseOptions::default() };
    let found = analyse(&input, &mut NoNames, &options);
    assert_eq!(worst_by_domain(&found), [(0x20, 0.6), (0x40, 0.9)]);
}
