//! Samples behind branches: every access has the same odds, whichever way the branches around it go.

use std::collections::BTreeMap;

use carom_base::AccessKind::{self, Load, ReadModifyWrite, Store};

use super::{
    branches::{STACK, WORDS, branches, of_round},
    recorder::{Run, Sampled, sample_changing, sample_when},
    statistics::ChiSquare,
    support::Function,
};

const ROUNDS: u64 = 200_000;
const PERIODS: [u64; 2] = [101, 103];

const LOOPS: [Function; 16] = [
    branches::<0>,
    branches::<1>,
    branches::<2>,
    branches::<3>,
    branches::<4>,
    branches::<5>,
    branches::<6>,
    branches::<7>,
    branches::<8>,
    branches::<9>,
    branches::<10>,
    branches::<11>,
    branches::<12>,
    branches::<13>,
    branches::<14>,
    branches::<15>,
];

/// An access of the loop: its offset, and as what it may be drawn.
type Which = (u64, bool);

/// What is known of a run.
struct Known {
    /// The loads and stores of all rounds before each.
    before: Vec<u64>,
    /// How often each access happens.
    times: BTreeMap<Which, u64>,
}

fn ways(kind: AccessKind) -> impl Iterator<Item = bool> {
    [(kind.reads(), false), (kind.writes(), true)].into_iter().filter_map(|(is, store)| is.then_some(store))
}

impl Known {
    fn new() -> Self {
        let (mut before, mut all, mut times) = (Vec::new(), 0, BTreeMap::new());
        for round in 0..ROUNDS {
            before.push(all);
            for (offset, kind) in of_round(round) {
                for store in ways(kind) {
                    *times.entry((offset, store)).or_default() += 1;
                    all += 1;
                }
            }
        }
        Self { before, times }
    }

    /// Which access was sampled; `None`: the return behind the loop. Where it lies among all accesses must be right.
    fn which(&self, found: &Sampled, base: u64) -> Option<Which> {
        let offset = found.access.addr.0.wrapping_sub(base);
        let offset = if offset < 8 * WORDS as u64 { offset } else { STACK };
        let round = found.registers[2];
        if round == ROUNDS {
            assert_eq!((offset, found.drawn_as), (STACK, Load));
            return None;
        }
        let all = of_round(round);
        let is_it = |&(at, kind): &(u64, AccessKind)| at == offset && kind == found.access.kind;
        let nth = all.iter().position(is_it).unwrap_or_else(|| panic!("{found:x?} of {all:?}"));
        let earlier = all[..nth].iter().flat_map(|(_, kind)| ways(*kind)).count() as u64;
        assert_eq!(found.position, self.before[round as usize] + earlier, "{found:x?}");
        Some((offset, found.drawn_as == Store))
    }

    /// The samples of each access, each as often as it weighs.
    fn weigh(&self, run: &Run, base: u64, weight: impl Fn(&Sampled) -> u64) -> BTreeMap<Which, u64> {
        let mut met = BTreeMap::new();
        for found in &run.samples {
            if let Some(which) = self.which(found, base) {
                *met.entry(which).or_default() += weight(found);
            }
        }
        met
    }
}

fn expect_counts(run: &Run, known: &Known) {
    let of = |wanted: bool| {
        known.times.iter().filter(move |((_, store), _)| *store == wanted).map(|(_, n)| *n as i64)
    };
    // And the return address.
    assert_eq!((run.totals.loads, run.totals.stores), (of(false).sum::<i64>() + 1, of(true).sum()));
}

fn calls(buffer: &[u64; WORDS]) -> Vec<(Function, u64, u64)> {
    LOOPS.map(|function| (function, buffer.as_ptr() as u64, ROUNDS)).to_vec()
}

/// Each access is sampled once in its period, also behind branches that go the other way as often as not.
#[test]
fn accesses_are_sampled_equally_behind_all_branches() {
    let (known, buffer) = (Known::new(), [0; WORDS]);
    let base = buffer.as_ptr() as u64;
    let (mut met, mut runs) = (BTreeMap::new(), 0);
    for early in [false, true] {
        for run in sample_when(early, 1, PERIODS, &calls(&buffer)) {
            expect_counts(&run, &known);
            known
                .weigh(&run, base, |_| 1)
                .into_iter()
                .for_each(|(which, n)| *met.entry(which).or_default() += n);
            runs += 1;
        }
    }
    // All together: so a hundredth more or less would show.
    let expected =
        |&(_, store): &Which, times: u64| (runs * times) as f64 / PERIODS[usize::from(store)] as f64;
    let expected = known.times.iter().map(|(which, times)| (*which, expected(which, *times))).collect();
    let all = ChiSquare::against(&met, &expected);
    assert!(all.is_likely(), "{all:?}: {met:?} instead of {expected:?}");
}

/// The same while the periods change, and what is sampled has its part in it: what the samples weigh adds up to the number of each
/// access in all loops. Strata of length L add at most L times what they stand for to the variance.
#[test]
fn weights_stand_for_accesses_behind_all_branches() {
    let (known, buffer) = (Known::new(), [0; WORDS]);
    let base = buffer.as_ptr() as u64;
    let mut met = BTreeMap::<Which, u64>::new();
    for run in sample_changing(true, PERIODS, &calls(&buffer)) {
        expect_counts(&run, &known);
        let period = |found: &Sampled| PERIODS[usize::from(found.drawn_as == Store)] << found.doublings;
        let weighed = known.weigh(&run, base, period);
        weighed.into_iter().for_each(|(which, weight)| *met.entry(which).or_default() += weight);
    }
    for (which, times) in &known.times {
        let (sum, times) = (met.get(which).copied().unwrap_or_default(), LOOPS.len() as u64 * times);
        let longest = (PERIODS[usize::from(which.1)] << 3) as f64;
        let off = (sum as f64 - times as f64).abs();
        assert!(off < 5.0 * (longest * times as f64).sqrt(), "{which:?}: {sum} of {times}");
    }
}

/// The loop has accesses of all kinds.
#[test]
fn the_loop_has_all_kinds() {
    let kinds: Vec<_> = (0..100).flat_map(of_round).map(|(_, kind)| kind).collect();
    assert!([Load, Store, ReadModifyWrite].iter().all(|kind| kinds.contains(kind)));
}
