//! Histograms under construction.

use std::collections::BTreeMap;

use carom_base::{LogBin, ReuseKind};

use super::{Bin, Bins, Outcomes, bins::middle};

/// Counts of reuses by distance and kind, and of accesses that are none.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    reuses: BTreeMap<LogBin, [f64; 4]>,
    pub first: f64,
    pub invalidated: f64,
    /// Rows that went in.
    pub observations: u64,
}

impl Tally {
    pub fn reuse(&mut self, bin: LogBin, kind: ReuseKind, count: f64) {
        if let Some(sum) = self.reuses.entry(bin).or_default().get_mut(kind as usize) {
            *sum += count;
        }
    }

    pub fn add(&mut self, other: &Self) {
        for (bin, kinds) in &other.reuses {
            let sums = self.reuses.entry(*bin).or_default();
            sums.iter_mut().zip(kinds).for_each(|(sum, kind)| *sum += kind);
        }
        self.first += other.first;
        self.invalidated += other.invalidated;
        self.observations = self.observations.saturating_add(other.observations);
    }

    pub fn reused(&self) -> f64 {
        self.reuses.values().flatten().fold(0.0, |sum, kind| sum + kind)
    }

    pub fn total(&self) -> f64 {
        self.reused() + self.first + self.invalidated
    }

    /// By kind, all distances together.
    pub fn kinds(&self) -> [f64; 4] {
        let mut sums = [0.0; 4];
        for kinds in self.reuses.values() {
            sums.iter_mut().zip(kinds).for_each(|(sum, kind)| *sum += kind);
        }
        sums
    }

    /// Parts of all accesses; all 0 without any.
    pub fn outcomes(&self) -> Outcomes {
        let total = self.total();
        if total <= 0.0 {
            return Outcomes::default();
        }
        Outcomes {
            reused: self.reused() / total,
            invalidated: self.invalidated / total,
            once: self.first / total,
        }
    }

    /// The reuses in the bins that were asked for. A bin of exact mode goes where its middle is.
    pub fn histogram(&self, bins: Bins) -> Vec<Bin> {
        histogram(self.reuses.iter().map(|(bin, kinds)| (middle(*bin), *kinds)), bins)
    }

    /// Reuses with at least this distance. Where the distance lies within a bin, its reuses are taken to be spread
    /// evenly.
    pub fn at_least(&self, distance: u64) -> f64 {
        let parts = self.reuses.iter().rev().map_while(|(bin, kinds)| part_above(*bin, distance, kinds));
        // The sum of nothing is -0.
        parts.fold(0.0, |sum, part| sum + part)
    }

    /// The largest distance seen.
    pub fn longest(&self) -> Option<u64> {
        self.reuses.last_key_value().map(|(bin, _)| bin.high())
    }

    /// Where a part of the reuses is below, evenly spread within a bin; `None` without any.
    pub fn quantile(&self, part: f64) -> Option<f64> {
        let mut wanted = self.reused() * part;
        let mut last = None;
        for (bin, kinds) in &self.reuses {
            let here: f64 = kinds.iter().sum();
            let (low, high) = (bin.low() as f64, bin.high() as f64);
            if here > 0.0 && wanted <= here {
                return Some(low + (high - low) * (wanted / here).clamp(0.0, 1.0));
            }
            wanted -= here;
            last = Some(high);
        }
        last
    }
}

/// How many of a bin's reuses have at least this distance; `None` where none has.
fn part_above(bin: LogBin, distance: u64, kinds: &[f64; 4]) -> Option<f64> {
    let all: f64 = kinds.iter().sum();
    if bin.high() < distance {
        None
    } else if distance <= bin.low() {
        Some(all)
    } else {
        let width = (bin.high() - bin.low()) as f64 + 1.0;
        Some(all * ((bin.high() - distance) as f64 + 1.0) / width)
    }
}

/// Fractions by bin of weights at distances.
pub(super) fn histogram(reuses: impl Iterator<Item = (u64, [f64; 4])>, bins: Bins) -> Vec<Bin> {
    let mut sums: BTreeMap<u32, [f64; 4]> = BTreeMap::new();
    for (distance, kinds) in reuses {
        let sum = sums.entry(bins.index(distance)).or_default();
        sum.iter_mut().zip(kinds).for_each(|(sum, kind)| *sum += kind);
    }
    let total: f64 = sums.values().flatten().sum();
    let bin = |(index, kinds): (&u32, &[f64; 4])| {
        let (low, high) = bins.edges(*index);
        let by_kind = kinds.map(|kind| kind / total);
        Bin { low, high, fraction: by_kind.iter().sum(), by_kind }
    };
    sums.iter().filter(|(_, kinds)| kinds.iter().sum::<f64>() > 0.0).map(bin).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reuses_from_a_distance_on() {
        let mut tally = Tally::default();
        tally.reuse(LogBin::of(10), ReuseKind::Rar, 4.0);
        // The bin of 64 to 65, both inclusive, and that of 1024 to 1055.
        tally.reuse(LogBin::of(64), ReuseKind::Waw, 6.0);
        tally.reuse(LogBin::of(1024), ReuseKind::Raw, 32.0);
        let found: Vec<_> =
            [0, 10, 11, 64, 65, 66, 1040, 2000].map(|distance| tally.at_least(distance)).into();
        // Half of 64 and 65 is from 65 on, half of 1024 to 1055 is from 1040 on.
        assert_eq!(found, [42.0, 42.0, 38.0, 38.0, 35.0, 32.0, 16.0, 0.0]);
    }

    #[test]
    fn fractions_are_of_the_reuses_and_outcomes_of_all() {
        let mut tally = Tally { first: 5.0, invalidated: 15.0, ..Tally::default() };
        tally.reuse(LogBin::of(8), ReuseKind::Rar, 20.0);
        tally.reuse(LogBin::of(9), ReuseKind::Raw, 40.0);
        tally.reuse(LogBin::of(100), ReuseKind::War, 20.0);
        let bins = tally.histogram(Bins::Geometric { start: 8, ratio: 2.0 });
        // 8 and 9 are in one bin: 60 of 80; 100 lies in 64 to 127.
        assert_eq!(
            bins,
            [
                Bin { low: 8, high: 16, fraction: 0.75, by_kind: [0.25, 0.5, 0.0, 0.0] },
                Bin { low: 64, high: 128, fraction: 0.25, by_kind: [0.0, 0.0, 0.0, 0.25] },
            ]
        );
        assert_eq!(tally.outcomes(), Outcomes { reused: 0.8, invalidated: 0.15, once: 0.05 });
        assert_eq!(tally.quantile(0.5), Some(9.0));
        assert_eq!(Tally::default().quantile(0.5), None);
    }
}
