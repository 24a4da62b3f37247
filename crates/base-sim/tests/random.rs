//! Random accesses on tiny caches: the same counts as the naive simulator, and as all parts together.

mod naive;

use std::collections::BTreeSet;

use carom_base::{AccessKind, Addr};
use carom_base_sim::{
    Counts, Inclusion, Input, Invalidated, Level, Machine, Part, Protocol, Reference, Replacement, Results,
    Settings, Sharing, Simulator,
};
use naive::{Naive, Step};
use proptest::prelude::*;

fn inclusion() -> impl Strategy<Value = Inclusion> {
    prop_oneof![Just(Inclusion::Inclusive), Just(Inclusion::Exclusive), Just(Inclusion::NonInclusive)]
}

/// A level of `sets` sets, of lines of 16 bytes.
fn level(sets: impl Strategy<Value = u64>) -> impl Strategy<Value = Level> {
    let replacement = prop_oneof![Just(Replacement::Lru), Just(Replacement::Plru), Just(Replacement::Random)];
    (sets, 1u32..=9, replacement, inclusion()).prop_map(|(sets, ways, replacement, inclusion)| {
        let ways = if replacement == Replacement::Plru { ways.next_power_of_two().min(8) } else { ways };
        Level { bytes: sets * u64::from(ways) * 16, ways, replacement, inclusion }
    })
}

/// Small enough that everything makes room often.
fn machine() -> impl Strategy<Value = Machine> {
    let topology = prop_oneof![
        Just((1, 2)),
        Just((1, 3)),
        Just((1, 4)),
        Just((2, 1)),
        Just((2, 2)),
        Just((3, 2)),
        Just((2, 4))
    ];
    let protocol =
        prop_oneof![Just(Protocol::Msi), Just(Protocol::Mesi), Just(Protocol::Mesif), Just(Protocol::Moesi)];
    let levels = (
        level(prop_oneof![Just(1u64), Just(2), Just(4)]),
        prop::option::weighted(0.8, level(prop_oneof![Just(1u64), Just(2), Just(3), Just(4)])),
        prop::option::weighted(0.8, level(prop_oneof![Just(1u64), Just(2), Just(4), Just(6)])),
    );
    // The usual lines have a loop of their own.
    let line_bytes = prop_oneof![Just(16u32), Just(64)];
    (topology, protocol, levels, line_bytes, any::<u64>()).prop_map(
        |((sockets, cores_per_socket), protocol, (l1, l2, l3), line_bytes, seed)| {
            let of_lines = |level: Level| Level { bytes: level.bytes / 16 * u64::from(line_bytes), ..level };
            let (l1, l2, l3) = (of_lines(l1), l2.map(of_lines), l3.map(of_lines));
            Machine { sockets, cores_per_socket, line_bytes, protocol, l1, l2, l3, seed }
        },
    )
}

/// Few lines, so that cores meet; some accesses span two or three. Cores take turns of several accesses.
fn steps(cores: usize, line_bytes: u32) -> impl Strategy<Value = Vec<Step>> {
    let kind = prop_oneof![
        3 => Just(AccessKind::Load), 2 => Just(AccessKind::Store), 1 => Just(AccessKind::ReadModifyWrite)
    ];
    let width = prop_oneof![8 => 1u32..=8, 1 => 9u32..=40];
    let access = (0..60 * u64::from(line_bytes), width, kind, 0u32..12);
    let turn = (0..cores, prop::collection::vec(access, 1..12));
    prop::collection::vec(turn, 1..70).prop_map(|turns| {
        let of_core = |(core, accesses): (usize, Vec<_>)| {
            let step = move |(addr, width, kind, reference)| Step { core, addr, width, kind, reference };
            accesses.into_iter().map(step)
        };
        turns.into_iter().flat_map(of_core).collect()
    })
}

fn machine_and_steps() -> impl Strategy<Value = (Machine, Vec<Step>)> {
    machine().prop_flat_map(|machine| {
        let steps = steps(machine.cores(), machine.line_bytes);
        (Just(machine), steps)
    })
}

fn simulate(machine: &Machine, settings: Settings, steps: &[Step]) -> Results {
    let mut simulator = Simulator::new(machine, settings).expect("a simulator");
    for turn in steps.chunk_by(|one, next| one.core == next.core) {
        let input =
            |step: &Step| Input::new(Addr(step.addr), step.width, step.kind, Reference(step.reference));
        simulator.accesses(turn[0].core, &turn.iter().map(input).collect::<Vec<_>>());
    }
    simulator.results()
}

fn assert_equal(naive: &Naive, results: &Results) {
    for (reference, counts) in results.references.iter().enumerate() {
        let expected = naive.counts.get(&(reference as u32)).copied().unwrap_or_default();
        assert_eq!(*counts, expected, "reference {reference}");
    }
    assert!(naive.counts.keys().all(|&reference| (reference as usize) < results.references.len()));
    let bits = |bytes: &BTreeSet<u64>| bytes.iter().fold(0, |bits, byte| bits | 1 << byte);
    let taken = naive.invalidated.iter().map(|(&(line, by, of), taken)| Invalidated {
        line,
        by: Reference(by),
        of: Reference(of),
        sharing: taken.sharing,
        stored: bits(&taken.stored),
        accessed: bits(&taken.accessed),
    });
    assert_eq!(results.invalidated, taken.collect::<Vec<_>>());
    for row in 0..naive.machine.cores() {
        for column in 0..naive.machine.cores() {
            let at = (row, column);
            assert_eq!(results.invalidations[at], naive.invalidations.get(&at).copied().unwrap_or_default());
            assert_eq!(results.transfers[at], naive.transfers.get(&at).copied().unwrap_or_default());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn counts_are_those_of_the_naive_simulator(
        (machine, steps) in machine_and_steps(),
        conflicts: bool,
        mask_bytes in prop_oneof![Just(1u32), Just(4)],
    ) {
        let mut naive = Naive::new(&machine, mask_bytes, conflicts);
        steps.iter().for_each(|&step| naive.step(step));
        let settings = Settings { mask_bytes, conflicts, ..Settings::default() };
        assert_equal(&naive, &simulate(&machine, settings, &steps));
    }

    #[test]
    fn parts_add_up_to_the_whole((machine, steps) in machine_and_steps()) {
        let whole = simulate(&machine, Settings::default(), &steps);
        let of = machine.parts();
        let mut sum: Option<Results> = None;
        for index in 0..of {
            let part = simulate(&machine, Settings { part: Part { index, of }, ..Settings::default() }, &steps);
            match &mut sum {
                Some(sum) => sum.add(part),
                None => sum = Some(part),
            }
        }
        prop_assert_eq!(sum, Some(whole));
    }
}

/// What all random accesses of the first test would miss: that everything that is counted occurs in them.
#[test]
fn random_accesses_make_every_count_occur() {
    use proptest::{strategy::ValueTree, test_runner::TestRunner};
    let mut runner = TestRunner::deterministic();
    let mut total = Counts::default();
    for _ in 0..64 {
        let (machine, steps) = machine_and_steps().new_tree(&mut runner).expect("a tree").current();
        total += simulate(&machine, Settings { conflicts: true, ..Settings::default() }, &steps).total();
    }
    let all = |sharing: Sharing| sharing.true_sharing.min(sharing.false_sharing);
    let misses =
        [total.l1, total.l2, total.socket].map(|m| m.cold.min(m.capacity).min(m.conflict).min(m.coherence));
    let sources = total.sources;
    let rarest = [
        total.loads,
        total.stores,
        total.read_modify_writes,
        misses[0],
        misses[1],
        misses[2],
        total.coherence_load_misses,
        total.upgrades,
        all(total.caused),
        all(total.received),
        sources.core,
        sources.l3,
        sources.remote,
        sources.memory,
        total.back_invalidations,
        total.writebacks,
        total.memory_writebacks,
    ];
    assert!(rarest.iter().all(|count| *count > 0), "{rarest:?}");
}
