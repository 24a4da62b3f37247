//! What an event stands for.

use carom_base::{Locality, ReuseEvent, Scope};

use super::ReuseInput;

/// How much of the sampled uses was watched in which way. Those of one way stand for all accesses, whether each use is
/// watched in a way that is drawn for it, or in every way.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Weights {
    by: [[f64; 3]; 2],
    accesses: f64,
}

impl Weights {
    /// Of all events of a recording.
    pub fn of(input: &dyn ReuseInput) -> Self {
        let mut weights = Self::default();
        let mut estimated = 0.0;
        for event in input.events() {
            let weight = f64::from(event.weight);
            estimated += weight * input.period();
            if let Some(sum) = weights.of_way(event.scope, event.locality) {
                *sum += weight;
            }
        }
        let counted = input.threads().iter().map(|thread| input.accesses(thread.id));
        let counted = counted.sum::<Option<u64>>().filter(|counted| *counted > 0);
        weights.accesses = counted.map_or(estimated, |counted| counted as f64);
        weights
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
