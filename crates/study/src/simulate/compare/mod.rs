//! How far a reduced trace can be trusted: its references against those of the full trace (Marathe, Mueller and de Supinski,
//! *Analysis of Cache Coherence Bottlenecks with Hybrid Hardware/Software Techniques*, sections 4.1 and 8).
//!
//! The paper looks at one processor of two; here the references of all cores count together.

mod references;

use std::{cmp::Reverse, sync::Arc};

pub use references::{Coherence, Place, References, Volume};

/// What a trace is compared with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Against {
    /// The full trace.
    pub full: Arc<References>,
    /// The most references of each metric; the paper's are 10.
    pub top: usize,
}

/// A reduced trace beside the full one.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Accesses of the full trace.
    pub full: Volume,
    /// Accesses of the reduced one.
    pub reduced: Volume,
    /// The most references of each metric.
    pub top: usize,
    /// One for each metric.
    pub metrics: Vec<Compared>,
    /// Whether true and false sharing can be told apart.
    pub split: Split,
}

/// What references are ranked by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    /// Coherence misses of loads.
    LoadMisses,
    /// Invalidations caused.
    Invalidations,
    /// Invalidations caused by true sharing.
    TrueSharing,
    /// Invalidations caused by false sharing.
    FalseSharing,
}

/// The references that a reduced trace ranks first, by one metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// The metric.
    pub metric: Metric,
    /// In the full trace, all references together.
    pub full: u64,
    /// In the reduced trace, all references together.
    pub reduced: u64,
    /// What the selected references have in the full trace, as a part of what its own top references have; `None` where these
    /// have nothing (section 4.1: coverage fraction).
    pub coverage: Option<f64>,
    /// Those selected from the reduced trace, its largest first.
    pub selected: Vec<Selected>,
}

/// A reference that was selected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selected {
    /// Where.
    pub place: Place,
    /// In the reduced trace.
    pub reduced: u64,
    /// In the full trace; with 0 it is a false positive.
    pub full: u64,
}

/// Table III: false sharing of the references that are selected for it, as a part of all invalidations.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Split {
    /// In the reduced trace.
    pub reduced: f64,
    /// In the full trace.
    pub full: f64,
    /// Of all references in the full trace (table II): the degree of false sharing that the program has.
    pub inherent: f64,
}

/// References are selected by a kind of sharing from this part of the trace's invalidations of that kind on (section 8.1).
const LEAST: f64 = 0.02;

/// A reference is selected for false sharing if it has at least so many times as much of it as of true sharing (section 8.2).
const OUTWEIGHS: u64 = 2;

/// With a smaller part of false sharing than this a program has inherently little: those of table II with up to 18% were
/// exaggerated by reduced traces, those with 69% and more were not.
pub const INHERENTLY_LOW: f64 = 0.2;

/// The two ratios of table III are alike within this factor. (The paper calls 61.7% and 48.1% similar, and 16.2% and 1.8% not.)
const ALIKE: f64 = 2.0;

impl Metric {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::LoadMisses, Self::Invalidations, Self::TrueSharing, Self::FalseSharing];

    /// What a reference has of it.
    pub const fn of(self, coherence: &Coherence) -> u64 {
        match self {
            Self::LoadMisses => coherence.load_misses,
            Self::Invalidations => coherence.invalidations(),
            Self::TrueSharing => coherence.true_sharing,
            Self::FalseSharing => coherence.false_sharing,
        }
    }

    /// Whether a reference of a reduced trace with this total may be selected.
    fn selects(self, coherence: &Coherence, total: &Coherence) -> bool {
        let at_least = |part: u64, whole: u64| part as f64 >= LEAST * whole as f64;
        let enough = at_least(self.of(coherence), self.of(total));
        let value = self.of(coherence) > 0;
        match self {
            Self::LoadMisses | Self::Invalidations => value,
            Self::TrueSharing => value && enough,
            Self::FalseSharing => {
                value
                    && enough
                    && coherence.false_sharing >= OUTWEIGHS * coherence.true_sharing
                    && at_least(coherence.false_sharing, total.invalidations())
            }
        }
    }
}

impl Compared {
    /// Selected references that have nothing in the full trace (section 4.1).
    pub fn false_positives(&self) -> usize {
        self.selected.iter().filter(|each| each.full == 0).count()
    }

    fn new(metric: Metric, full: &References, reduced: &References, top: usize) -> Self {
        let in_full = |place| full.by_place.get(place).map_or(0, |coherence| metric.of(coherence));
        let candidates = reduced.by_place.iter().filter(|(_, each)| metric.selects(each, &reduced.total));
        let mut selected: Vec<Selected> = candidates
            .map(|(place, each)| Selected {
                place: place.clone(),
                reduced: metric.of(each),
                full: in_full(place),
            })
            .collect();
        selected.sort_by_key(|each| Reverse(each.reduced));
        selected.truncate(top);
        let mut best: Vec<u64> = full.by_place.values().map(|each| metric.of(each)).collect();
        best.sort_unstable_by_key(|value| Reverse(*value));
        let best: u64 = best.iter().take(top).sum();
        let found: u64 = selected.iter().map(|each| each.full).sum();
        Self {
            metric,
            full: metric.of(&full.total),
            reduced: metric.of(&reduced.total),
            coverage: (best > 0).then(|| found as f64 / best as f64),
            selected,
        }
    }
}

impl Comparison {
    /// Compares the references of a reduced trace with those of the full one.
    pub(super) fn new(against: &Against, reduced: &References) -> Self {
        let Against { full, top } = against;
        let metrics = Metric::ALL.map(|metric| Compared::new(metric, full, reduced, *top));
        let [.., by_false_sharing] = &metrics;
        let part = |part: u64, whole: u64| if whole > 0 { part as f64 / whole as f64 } else { 0.0 };
        let sum = |of: fn(&Selected) -> u64| by_false_sharing.selected.iter().map(of).sum();
        let split = Split {
            reduced: part(sum(|each| each.reduced), reduced.total.invalidations()),
            full: part(sum(|each| each.full), full.total.invalidations()),
            inherent: part(full.total.false_sharing, full.total.invalidations()),
        };
        Self { full: full.volume, reduced: reduced.volume, top: *top, metrics: metrics.to_vec(), split }
    }

    /// Whether the two traces have any reference in common: names of one kind, at least.
    pub fn has_common_references(&self) -> bool {
        self.metrics.iter().any(|each| each.selected.iter().any(|selected| selected.full > 0))
    }
}

impl Split {
    /// Whether the program has too little false sharing for a reduced trace to tell it from true sharing (section 8.3).
    pub fn is_inherently_low(&self) -> bool {
        self.inherent < INHERENTLY_LOW
    }

    /// Whether the reduced trace makes about as much of false sharing as the full one.
    pub fn is_similar(&self) -> bool {
        let (one, other) = (self.reduced.max(self.full), self.reduced.min(self.full));
        one <= ALIKE * other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// References at lines 1, 2, … of a file with these load misses, and invalidations by true and by false sharing.
    fn references(each: &[(u64, u64, u64)]) -> References {
        let mut found = References::default();
        for (line, &(load_misses, true_sharing, false_sharing)) in (1..).zip(each) {
            let coherence = Coherence { load_misses, true_sharing, false_sharing };
            found.by_place.insert(Place::Line("a.c".into(), line), coherence);
            found.total.load_misses += load_misses;
            found.total.true_sharing += true_sharing;
            found.total.false_sharing += false_sharing;
        }
        found
    }

    fn compared(full: &[(u64, u64, u64)], reduced: &[(u64, u64, u64)], top: usize) -> Comparison {
        Comparison::new(&Against { full: Arc::new(references(full)), top }, &references(reduced))
    }

    fn lines(compared: &Compared) -> Vec<u32> {
        let line = |place: &Place| match place {
            Place::Line(_, line) => *line,
            Place::Instruction(..) => 0,
        };
        compared.selected.iter().map(|each| line(&each.place)).collect()
    }

    /// The best two of the full trace have 100 + 60; those that the reduced trace ranks first have 100 + 0.
    #[test]
    fn coverage_is_a_part_of_the_best_and_false_positives_have_nothing() {
        let found = compared(
            &[(100, 0, 0), (60, 0, 0), (40, 0, 0), (0, 0, 0)],
            &[(9, 0, 0), (2, 0, 0), (1, 0, 0), (5, 0, 0)],
            2,
        );
        let [misses, invalidations, ..] = &found.metrics[..] else { panic!("{found:?}") };
        assert_eq!((misses.coverage, misses.false_positives()), (Some(100.0 / 160.0), 1));
        assert_eq!((lines(misses), misses.full, misses.reduced), (vec![1, 4], 200, 17));
        assert_eq!((invalidations.coverage, invalidations.selected.len()), (None, 0));
        assert!(found.has_common_references());
    }

    /// Line 1 has less than 2% of the true sharing; of false sharing, line 2 has less than twice its true sharing, line 3 less
    /// than 2% of all invalidations, and line 4 is what remains.
    #[test]
    fn kinds_of_sharing_are_selected_by_their_own_rules() {
        let each = [(0, 19, 0), (0, 1000, 1999), (0, 0, 60), (0, 10, 500)];
        let found = compared(&each, &each, 10);
        let [_, all, true_sharing, false_sharing] = &found.metrics[..] else { panic!("{found:?}") };
        assert_eq!(lines(all), [2, 4, 3, 1]);
        assert_eq!(lines(true_sharing), [2]);
        assert_eq!(lines(false_sharing), [4]);
        assert_eq!((all.coverage, true_sharing.coverage), (Some(1.0), Some(1000.0 / 1029.0)));
    }

    /// As with CG in table III: what is true sharing in the full trace looks like false sharing in the reduced one.
    #[test]
    fn exaggerated_false_sharing_is_told() {
        let found = compared(&[(0, 90, 10), (0, 80, 0)], &[(0, 1, 9), (0, 1, 0)], 10);
        assert_eq!(found.split, Split { reduced: 9.0 / 11.0, full: 10.0 / 180.0, inherent: 10.0 / 180.0 });
        assert!(found.split.is_inherently_low() && !found.split.is_similar());
        let alike = compared(&[(0, 24, 76)], &[(0, 2, 8)], 10).split;
        assert!(!alike.is_inherently_low() && alike.is_similar());
        assert!(Split::default().is_similar());
    }
}
