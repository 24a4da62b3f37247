//! Loads are timed: exactly those that should be, and nothing else changes.
#![allow(clippy::unwrap_used)] // What a test cannot have fails it.

#[path = "timing/chase.rs"]
mod chase;
#[path = "timing/recorder.rs"]
mod recorder;
mod support;
#[path = "sampling/zoo.rs"]
#[allow(dead_code)]
mod zoo;

use std::collections::BTreeMap;

use carom_base::{Access, AccessKind};
use carom_collect_translate::{Coverage, IpSet, Mode, Timed, Totals, calibrate};

use self::{
    recorder::{run, turn},
    zoo::{KNOWN, Known, NODES, Node, Place},
};
use crate::support::unsignalled;

/// The accesses of [`zoo::walk`] by instructions that make only one, a load; except for the bit test, whose address
/// depends on a register.
fn timable() -> Vec<Known> {
    const BIT_TEST: usize = 18;
    let alone = |known: &&Known| KNOWN.iter().filter(|other| other.0 == known.0).count() == 1;
    let wanted = |known: &&Known| known.3.reads() && known.0 != BIT_TEST;
    let known: Vec<_> = KNOWN.iter().filter(alone).filter(wanted).copied().collect();
    assert_eq!(known.len(), 11);
    known
}

/// The call of [`zoo::walk`], whose return address is not recorded.
const CALL: usize = 25;

type What = (u64, u64, u32, AccessKind);

fn what(load: &Timed) -> What {
    (load.access.ip.0, load.access.addr.0, load.access.width, load.access.kind)
}

/// The loads of [`zoo::walk`] in `visits` that can be timed, if the popped word is at `popped`.
fn walked(nodes: &[Node; NODES], visits: usize, popped: u64) -> Vec<What> {
    let places = zoo::instructions();
    let visited = (0..visits).map(|visit| std::ptr::from_ref(&nodes[5 * visit % NODES]) as u64);
    let known = timable();
    let of = |base: u64| {
        let address = move |place| match place {
            Place::Node(offset) => base + offset,
            Place::Stack(_) => popped,
        };
        known.iter().map(move |&(at, place, width, kind)| (at, address(place), width, kind))
    };
    visited.flat_map(of).map(|(at, address, width, kind)| (places[at], address, width, kind)).collect()
}

fn popped(timed: &[Timed]) -> u64 {
    let pop = zoo::instructions()[14];
    timed.iter().find(|load| load.access.ip.0 == pop).unwrap().access.addr.0
}

fn counts(totals: Totals) -> Totals {
    Totals { coverage: Coverage::default(), ..totals }
}

/// 11 loads in each of 20,000 visits: the buffer is handed over again and again.
#[test]
fn every_load_is_timed_where_all_are() {
    const VISITS: u64 = 20_000;
    let _turn = turn();
    let nodes = zoo::ring();
    let start = nodes.as_ptr() as u64;
    let (_, plain, nothing) = run(Mode::Count, None, 1, zoo::walk, start, VISITS);
    assert_eq!(nothing.timed.len(), 0);
    let (_, totals, told) = run(Mode::Time { period: 1 }, None, 1, zoo::walk, start, VISITS);
    assert_eq!(counts(totals), counts(plain));
    let found: Vec<_> = told.timed.iter().map(what).collect();
    let expected = walked(&nodes, VISITS as usize, popped(&told.timed));
    let different = found.iter().zip(&expected).position(|(found, expected)| found != expected);
    assert_eq!(different.map(|at| (at, found[at], expected[at])), None);
    assert_eq!((found.len(), told.streamed.len()), (expected.len(), 0));
}

/// One execution in each stretch of 50, drawn anew by each thread; the second thread finds copies that the first has
/// made.
#[test]
fn loads_are_timed_once_a_period() {
    const VISITS: u64 = 100_000;
    const PERIOD: u64 = 50;
    /// chi-square with 15 degrees of freedom, p = 0.0001.
    const MOST: f64 = 44.3;
    let _turn = turn();
    let nodes = zoo::ring();
    let start = nodes.as_ptr() as u64;
    let (_, plain, _) = run(Mode::Count, None, 1, zoo::walk, start, VISITS);
    for name in [1, 2] {
        let (_, totals, told) = run(Mode::Time { period: PERIOD }, None, name, zoo::walk, start, VISITS);
        assert_eq!(counts(totals), counts(plain));
        assert_eq!(told.with_registers, told.timed.len());
        let possible = walked(&nodes, NODES, popped(&told.timed));
        let mut times = BTreeMap::new();
        for load in &told.timed {
            *times.entry(what(load)).or_insert(0u64) += 1;
        }
        assert!(times.keys().all(|what| possible.contains(what)));
        for &(instruction, ..) in &timable() {
            let ip = zoo::instructions()[instruction];
            let by_node: Vec<u64> =
                times.iter().filter(|(what, _)| what.0 == ip).map(|(_, times)| *times).collect();
            // The first visit is part of another block, with a countdown of its own; so the last stretch is
            // incomplete.
            let timed = by_node.iter().sum::<u64>();
            assert!(timed.abs_diff(VISITS / PERIOD) <= 1, "instruction {instruction}: {timed}");
            if by_node.len() == NODES {
                let expected = (VISITS / PERIOD) as f64 / NODES as f64;
                let distance = |times: &u64| (*times as f64 - expected).powi(2) / expected;
                assert!(by_node.iter().map(distance).sum::<f64>() < MOST, "{by_node:?}");
            }
        }
    }
}

#[test]
fn no_period_no_times() {
    let _turn = turn();
    let nodes = zoo::ring();
    let (.., told) = run(Mode::Time { period: 0 }, None, 1, zoo::walk, nodes.as_ptr() as u64, 1000);
    assert_eq!(told.timed.len(), 0);
}

/// Two loads by their addresses, in the middle of a block and in another; one load and its neighbours.
#[test]
fn what_is_not_in_the_filter_is_left_alone() {
    const VISITS: u64 = 10_000;
    const PERIOD: u64 = 100;
    let _turn = turn();
    let nodes = zoo::ring();
    let start = nodes.as_ptr() as u64;
    let places = zoo::instructions();
    let chosen = [places[4], places[26]];
    let set: IpSet = chosen.into_iter().collect();
    let (_, plain, _) = run(Mode::Count, None, 1, zoo::walk, start, VISITS);

    let (_, totals, told) = run(Mode::Time { period: 1 }, Some(set.clone()), 1, zoo::walk, start, VISITS);
    assert_eq!(counts(totals), counts(plain));
    let ips: Vec<u64> = told.timed.iter().map(|load| load.access.ip.0).collect();
    assert_eq!(ips, chosen.repeat(VISITS as usize));

    let (_, totals, told) = run(Mode::Stream, Some(set.clone()), 1, zoo::walk, start, VISITS);
    assert_eq!(counts(totals), counts(plain));
    let ips: Vec<u64> = told.streamed.iter().map(|access| access.ip.0).collect();
    assert_eq!(ips, chosen.repeat(VISITS as usize));

    let sampling = Mode::Sample { loads: PERIOD, stores: PERIOD };
    let (_, totals, told) = run(sampling, Some(set), 1, zoo::walk, start, VISITS);
    assert_eq!(counts(totals), counts(plain));
    let times = |ip| told.sampled.iter().filter(|access| access.ip.0 == ip).count() as u64;
    assert_eq!(chosen.map(times), [VISITS / PERIOD; 2]);
    assert_eq!(told.sampled.len() as u64, 2 * VISITS / PERIOD);

    // From the first push to the bit test, and string instructions after it: the pops and the pushes from memory.
    let range: IpSet = std::iter::once(places[13]..places[17]).collect();
    let (_, totals, told) = run(Mode::Stream, Some(range), 1, zoo::walk, start, VISITS);
    assert_eq!(counts(totals), counts(plain));
    let expected = [13, 14, 15, 15, 16, 16].map(|instruction| places[instruction]);
    let ips: Vec<u64> = told.streamed.iter().map(|access| access.ip.0).collect();
    assert_eq!(ips, expected.repeat(VISITS as usize));
}

/// A certain hit costs more than nothing, and a certain miss far more. Quartiles, because other programs use the
/// machine.
#[test]
fn near_loads_take_less_than_far_ones() {
    let _turn = turn();
    let [near, far] = [chase::NEAR_LINES, chase::FAR_LINES].map(|lines| {
        let chain = chase::chain(lines);
        let (.., told) = run(Mode::Time { period: 1 }, None, 1, chase::walk, chain.first(), chase::VISITS);
        let chased = told.timed.iter().filter(|load| load.access.ip.0 == chase::load());
        let mut ticks: Vec<u32> = chased.map(|load| load.ticks).collect();
        assert_eq!(ticks.len() as u64, chase::VISITS);
        ticks.sort_unstable();
        [1, 2, 3].map(|quarter| ticks[ticks.len() * quarter / 4])
    });
    let calibration = unsignalled(calibrate).unwrap();
    println!("near {near:?}, far {far:?}, {calibration:?}");
    assert!(far[0] > near[2], "near {near:?}, far {far:?}");
    // Medians of two that differ by a few of the counter's steps may be the other way round on a busy machine.
    assert!(calibration.nothing.least <= calibration.hit.median, "{calibration:?}");
    // The same load takes the same number of the counter's steps in at least half of the cases.
    assert!(far[0] > calibration.hit.median, "{calibration:?}, far {far:?}");
}

/// Everything that a stream has of stores, except the return addresses of calls.
fn stores(streamed: &[Access]) -> Vec<What> {
    let calls = [zoo::instructions()[CALL]];
    let of = |access: &Access| (access.ip.0, access.addr.0, access.width, access.kind);
    let stores = streamed.iter().filter(|access| access.kind.writes() && !calls.contains(&access.ip.0));
    stores.map(of).collect()
}

/// The loads that are timed alone, and every store of a stream: those that are timed as well (read-modify-writes), those
/// recorded singly, and those of string instructions and lanes.
#[test]
fn a_trace_has_all_stores_and_the_loads_that_can_be_timed() {
    const VISITS: u64 = 20_000;
    let _turn = turn();
    let nodes = zoo::ring();
    let start = nodes.as_ptr() as u64;
    let (_, plain, _) = run(Mode::Count, None, 1, zoo::walk, start, VISITS);
    let (.., streamed) = run(Mode::Stream, None, 1, zoo::walk, start, VISITS);
    let (_, totals, told) = run(Mode::Trace { loads: true }, None, 1, zoo::walk, start, VISITS);
    assert_eq!(counts(totals), counts(plain));
    let found: Vec<_> = told.timed.iter().map(what).collect();
    assert!(found == walked(&nodes, VISITS as usize, popped(&told.timed)));
    let timed: Vec<u64> = timable().iter().map(|known| zoo::instructions()[known.0]).collect();
    let mut expected = stores(&streamed.streamed);
    expected.retain(|store| !timed.contains(&store.0));
    assert!(!expected.is_empty());
    let found = stores(&told.streamed);
    let different = found.iter().zip(&expected).position(|(found, expected)| found != expected);
    assert_eq!(different.map(|at| (at, found[at], expected[at])), None);
    assert_eq!(found.len(), expected.len());

    // Where the filter has no load, all stores are recorded still.
    let chosen = zoo::instructions()[4];
    let only: IpSet = [chosen].into_iter().collect();
    let (_, totals, told) = run(Mode::Trace { loads: true }, Some(only), 1, zoo::walk, start, VISITS);
    assert_eq!(counts(totals), counts(plain));
    assert_eq!(told.timed.len() as u64, VISITS);
    assert!(told.timed.iter().all(|load| load.access.ip.0 == chosen));
    assert!(stores(&told.streamed) == stores(&streamed.streamed));
}
