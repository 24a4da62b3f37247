//! Which runs a series has, and in which order.

use std::hash::{BuildHasher, Hasher, RandomState};

use carom_store::SeriesInfo;

/// One command of a series.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// Program and arguments.
    pub argv: Vec<String>,
    /// What tells its runs from others.
    pub info: SeriesInfo,
}

/// How a run is observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// From the code cache, which counts exactly.
    Counted,
    /// The same, and it keeps its accesses, with which caches are simulated then.
    Simulated,
    /// Without carom in it, which takes as long as it takes; the kernel counts the events of this group, the only one
    /// or one of those that its counters cannot count at once.
    Native(usize),
}

/// All runs in their order: each round has every subject in every kind once, in an order drawn anew. So a machine that gets
/// slower or faster over time is no difference between subjects, and each order is as likely as any other, which is what the
/// rank-sum test assumes.
pub fn runs(subjects: usize, kinds: &[Kind], rounds: u32) -> Vec<(usize, Kind)> {
    let mut all = Vec::new();
    for _ in 0..rounds {
        let mut round: Vec<(usize, Kind)> =
            (0..subjects).flat_map(|subject| kinds.iter().map(move |kind| (subject, *kind))).collect();
        shuffle(&mut round);
        all.extend(round);
    }
    all
}

/// Fisher and Yates's shuffle. The hash of a new random state is a random number.
fn shuffle<T>(items: &mut [T]) {
    for last in (1..items.len()).rev() {
        let random = RandomState::new().build_hasher().finish();
        items.swap(last, (random % (last as u64 + 1)) as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_round_has_all() {
        let kinds = [Kind::Counted, Kind::Native(0)];
        let mut runs = runs(3, &kinds, 5);
        assert_eq!(runs.len(), 30);
        for round in runs.chunks_mut(6) {
            round.sort_by_key(|(subject, kind)| (*subject, *kind != Kind::Counted));
            let expected: Vec<_> = (0..3).flat_map(|subject| kinds.map(|kind| (subject, kind))).collect();
            assert_eq!(round, expected);
        }
    }

    #[test]
    fn orders_differ() {
        // 40 rounds in one order by chance: 1 in 2 to the 39.
        let runs = runs(2, &[Kind::Native(0)], 40);
        let first = &runs[..2];
        assert!(runs.chunks(2).any(|round| round != first));
    }
}
