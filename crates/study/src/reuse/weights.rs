//! What an event stands for.

use carom_base::{Locality, ReuseEvent, Scope};

use super::ReuseInput;

/// The weight of the sampled uses by the way in which they were watched. Those of one way stand for all accesses, whether a
/// use is watched in one way, drawn for it, or in every way.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Weights {
    by: [[f64; 3]; 2],
    /// Accesses of all threads.
    accesses: f64,
    period: f64,
}

impl Weights {
    /// Of all events of a recording.
    pub fn of(input: &dyn ReuseInput) -> Self {
        let mut weights = Self { period: input.period(), ..Self::default() };
        for event in input.events() {
            if let Some(sum) = weights.of_way(event.scope, event.locality) {
                *sum += f64::from(event.weight);
            }
        }
        let counted = input.threads().iter().map(|thread| input.accesses(thread.id));
        let counted = counted.sum::<Option<u64>>().filter(|counted| *counted > 0);
        let all = weights.by.as_flattened().iter().sum();
        weights.accesses = counted.map_or_else(|| weights.estimate(all), |counted| counted as f64);
        weights
    }

    /// Accesses that uses of this weight stand for together, however they were watched: the mean over the ways of watching.
    /// It varies less than the estimate by one way, since only the sum over all ways does not depend on the way drawn for
    /// each use. A way counts even if none of these uses was watched in it: few uses are not watched in every way.
    pub fn estimate(&self, weight: f64) -> f64 {
        let ways = self.by.as_flattened().iter().filter(|sum| **sum > 0.0).count();
        weight * self.period / (ways as f64).max(1.0)
    }

    fn of_way(&mut self, scope: Scope, locality: Locality) -> Option<&mut f64> {
        self.by.get_mut(scope as usize)?.get_mut(locality as usize)
    }

    /// Uses of one scope, watched in one way.
    pub fn total(&self, scope: Scope, locality: Locality) -> f64 {
        self.by.get(scope as usize).and_then(|by| by.get(locality as usize)).copied().unwrap_or(0.0)
    }

    /// Which watches tell of lines: those of whole lines, where there are any, else those of other bytes than the used.
    pub fn tells_of_lines(&self, scope: Scope) -> Locality {
        if self.total(scope, Locality::Line) > 0.0 { Locality::Line } else { Locality::Spatial }
    }

    /// Accesses of all threads.
    pub fn all(&self) -> f64 {
        self.accesses
    }

    /// Accesses that an event stands for.
    pub fn accesses(&self, event: &ReuseEvent) -> f64 {
        let total = self.total(event.scope, event.locality);
        if total > 0.0 { f64::from(event.weight) / total * self.accesses } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reuse::testing::{Synthetic, reuse};

    /// Each of six samples of 1,000 accesses was watched in one of six ways, drawn with equal odds, so that it weighs six:
    /// with 36 in all, they stand for 6,000 accesses, and one of them alone for 1,000.
    #[test]
    fn weights_that_make_up_for_a_draw_count_once() {
        let ways = [Scope::Private, Scope::Shared].into_iter().flat_map(|scope| {
            let localities = [Locality::Temporal, Locality::Spatial, Locality::Line];
            localities.map(|locality| ReuseEvent { scope, locality, weight: 6.0, ..reuse(10) })
        });
        let input = Synthetic { period: 1000.0, ..Synthetic::new(1).events(ways) };
        let weights = Weights::of(&input);
        assert_eq!((weights.all(), weights.estimate(6.0)), (6_000.0, 1_000.0));
        // Those of one way stand for all, as where accesses were counted.
        assert_eq!(input.events.first().map(|event| weights.accesses(event)), Some(6_000.0));
    }
}
