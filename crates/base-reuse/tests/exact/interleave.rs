//! Batches of several threads, put in order and counted.

use std::collections::BTreeMap;

use carom_base::{Access, AccessKind, Addr, CellClass, DistanceKind, Ip, Nanos, ReuseCell, ThreadId};
use carom_base_reuse::exact::{Config, Domain, Exact};
use carom_base_stream::{Batch, Interleaver, Limits, Sink};
use proptest::prelude::*;

/// The analyser, directly after the interleaver.
struct Analysed(Exact);

impl Sink for Analysed {
    fn accesses(&mut self, thread: ThreadId, domain: Domain, accesses: &[Access], _: Nanos) {
        self.0.accesses(thread, domain, accesses);
    }

    fn ended(&mut self, _: ThreadId) {}
}

fn store(addr: u64) -> Access {
    Access { ip: Ip(1), addr: Addr(addr), width: 8, kind: AccessKind::Store }
}

type Counts = BTreeMap<(u32, CellClass, DistanceKind, u64), u64>;

fn counts(exact: &mut Exact) -> Counts {
    let threads: Vec<ThreadId> = exact.threads().collect();
    let mut counts = Counts::new();
    for ReuseCell { thread, class, distance, bin, count, .. } in
        threads.into_iter().flat_map(|thread| exact.drain(thread))
    {
        *counts.entry((thread.0, class, distance, bin.low())).or_default() += count;
    }
    counts
}

/// The fraction of all touches that is counted differently.
fn difference(one: &Counts, other: &Counts) -> f64 {
    let of = |counts: &Counts, key| counts.get(key).copied().unwrap_or(0);
    let keys: std::collections::BTreeSet<_> = one.keys().chain(other.keys()).collect();
    let moved: u64 = keys.into_iter().map(|key| of(one, key).abs_diff(of(other, key))).sum();
    moved as f64 / (2.0 * one.values().sum::<u64>() as f64)
}

/// A thread's accesses, with their times.
struct Trace {
    accesses: Vec<(u64, Access)>,
    /// How many it hands over at a time.
    batch: usize,
}

/// The counts in the true order, in that of batches as they come, and in that of an [`Interleaver`] whose threads take turns of so many
/// accesses.
fn three_ways(traces: &[Trace], turn: usize) -> [Counts; 3] {
    let exact = || Exact::new(&Config::default()).expect("a valid configuration");
    let mut all: Vec<_> = traces
        .iter()
        .zip(0..)
        .flat_map(|(trace, thread)| trace.accesses.iter().map(move |(time, access)| (*time, thread, *access)))
        .collect();
    all.sort_by_key(|(time, thread, _)| (*time, *thread));
    let mut truth = exact();
    all.iter().for_each(|(_, thread, access)| truth.access(ThreadId(*thread), Domain(0), access));
    let mut batches: Vec<_> = traces
        .iter()
        .zip(0..)
        .flat_map(|(trace, thread)| trace.accesses.chunks(trace.batch).map(move |batch| (thread, batch)))
        .collect();
    batches.sort_by_key(|(_, batch)| batch.last().map(|(time, _)| *time));
    let mut as_they_come = exact();
    let mut sink = Analysed(exact());
    let mut interleaver = Interleaver::new(Nanos(0), Limits { turn, ..Limits::default() });
    (0..traces.len()).for_each(|thread| interleaver.begin(ThreadId(thread as u32), Nanos(0)));
    for (thread, batch) in batches {
        let at = Nanos(batch.last().map_or(0, |(time, _)| *time));
        let mut accesses: Vec<Access> = batch.iter().map(|(_, access)| *access).collect();
        as_they_come.accesses(ThreadId(thread), Domain(0), &accesses);
        let (thread, domain) = (ThreadId(thread), Domain(0));
        interleaver.take(
            Batch { thread, domain, at, pauses: false, stamps: &[], marks: &[], accesses: &mut accesses },
            &mut sink,
        );
    }
    interleaver.flush(&mut sink);
    [truth, as_they_come, sink.0].map(|mut exact| counts(&mut exact))
}

/// Two threads write words of the same line in turn, every 20 ns, and hand over at different times. Except for the
/// first, each write takes the line from the other thread: of 2 x 40,000 touches 2 are first ones, the others are
/// invalidated. In the order of batches, only the first write of each of the 5 and 6 batches is; in turns, the first
/// write of each turn.
#[test]
fn threads_that_alternate_do_so_again() {
    let alternating = |thread: u64, batch| Trace {
        accesses: (1..=40_000).map(|nth| (20 * nth + 10 * thread, store(0x1000 + 8 * thread))).collect(),
        batch,
    };
    let traces = [alternating(0, 8000), alternating(1, 7000)];
    let [truth, as_they_come, interleaved] = three_ways(&traces, 1);
    let invalidated = |counts: &Counts| -> u64 {
        let of = |(_, class, distance, _): &&(u32, CellClass, DistanceKind, u64)| {
            (*class, *distance) == (CellClass::Invalidated, DistanceKind::Time)
        };
        counts.iter().filter(|(key, _)| of(key)).map(|(_, count)| count).sum()
    };
    assert_eq!(invalidated(&truth), 79_998);
    assert!(invalidated(&as_they_come) <= 11, "{}", invalidated(&as_they_come));
    // Where the even pace is rounded, and in the first batch, which begins before the first access.
    assert!(invalidated(&interleaved) > 79_998 * 99 / 100, "{}", invalidated(&interleaved));
    let [_, _, in_turns] = three_ways(&traces, 16);
    assert!((4_950..=5_050).contains(&invalidated(&in_turns)), "{}", invalidated(&in_turns));
}

/// Accesses per batch, hundredths of nanoseconds between accesses for each batch, and the seed.
type Pace = (usize, Vec<u64>, u64);

fn pace() -> impl Strategy<Value = Pace> {
    (prop::sample::select(vec![3000, 5000, 8000]), prop::collection::vec(1000..4000u64, 3..6), 1..1000u64)
}

/// A thread whose pace is even between two hand-overs, and another one then.
fn trace(thread: u64, (batch, paces, seed): Pace) -> Trace {
    let (mut time, mut random) = (0, seed);
    let mut accesses = Vec::new();
    for pace in paces {
        for nth in 1..=batch as u64 {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            // Half of them to two lines that all threads share, the others to eight of the thread's own.
            let addr = if random.is_multiple_of(2) {
                0x1000 + random / 2 % 2 * 64 + 8 * thread
            } else {
                0x10_0000 * (thread + 1) + random / 2 % 8 * 64
            };
            let kind = if (random / 16).is_multiple_of(3) { AccessKind::Store } else { AccessKind::Load };
            accesses.push((time + nth * pace / 100, Access { kind, ..store(addr) }));
        }
        time += batch as u64 * pace / 100;
    }
    Trace { accesses, batch }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20))]

    /// With an even pace in each batch, times are off only by rounding: fewer than one access in a hundred is counted
    /// differently. In the order of batches, it is more than one in twenty.
    #[test]
    fn counts_are_those_of_the_true_order(one in pace(), two in pace(), three in pace()) {
        let traces = [trace(0, one), trace(1, two), trace(2, three)];
        let [truth, as_they_come, interleaved] = three_ways(&traces, 1);
        let (before, now) = (difference(&truth, &as_they_come), difference(&truth, &interleaved));
        prop_assert!(now < 0.01, "{now}");
        prop_assert!(before > 0.05, "{before}");
    }
}
