//! Whether there is a coherence bottleneck at all, per core, before anything is looked for in the source (Marathe, Mueller and
//! de Supinski, section 5). The bus events of that section are those of simulated caches here.

use carom_store::{Manifest, SimulatedCounts, ThreadInfo};

/// A core is a bottleneck where at least this part of what it asks for comes from other cores. The paper says "a significant
/// portion".
const SIGNIFICANT: f64 = 0.1;

/// And where at least this part of its accesses waits for another core: at some 100 cycles each, they take a tenth of a cycle per
/// access.
const FREQUENT: f64 = 1e-3;

/// What each core asked of the others, in the mean of several runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Coherence {
    /// The cores that accessed something, in the order of their numbers.
    pub cores: Vec<CoreTraffic>,
}

/// What one core asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CoreTraffic {
    /// The core.
    pub core: usize,
    /// Loads and stores of its threads.
    pub accesses: f64,
    /// Lines that it asked for beyond its private caches, and rights to write (event 4).
    pub transactions: f64,
    /// Lines for loads that another core had (events 2 and 3).
    pub load_transfers: f64,
    /// Lines for stores that another core had (event 1).
    pub store_transfers: f64,
    /// Rights to write lines that it had: others may have had copies.
    pub upgrades: f64,
    /// Copies in other cores that its stores invalidated.
    pub invalidations: f64,
    /// Those of them that are false sharing.
    pub false_invalidations: f64,
}

impl CoreTraffic {
    /// The part of what it asked for that other cores had: an upper bound of coherence misses.
    pub fn share(&self) -> f64 {
        if self.transactions > 0.0 { self.transfers() / self.transactions } else { 0.0 }
    }

    /// The part of its accesses for which it waited for another core.
    pub fn rate(&self) -> f64 {
        if self.accesses > 0.0 { (self.transfers() + self.upgrades) / self.accesses } else { 0.0 }
    }

    /// Whether coherence may limit it.
    pub fn is_bottleneck(&self) -> bool {
        self.share() >= SIGNIFICANT && self.rate() >= FREQUENT
    }

    fn transfers(&self) -> f64 {
        self.load_transfers + self.store_transfers
    }

    fn add(&mut self, accesses: u64, counts: &SimulatedCounts) {
        self.accesses += accesses as f64;
        self.transactions += counts.bus_transactions as f64;
        self.load_transfers += counts.load_transfers as f64;
        self.store_transfers += counts.store_transfers as f64;
        self.upgrades += counts.upgrades as f64;
        self.invalidations += counts.invalidations as f64;
        self.false_invalidations += counts.false_invalidations as f64;
    }

    fn divide(&mut self, runs: f64) {
        for value in [
            &mut self.accesses,
            &mut self.transactions,
            &mut self.load_transfers,
            &mut self.store_transfers,
            &mut self.upgrades,
            &mut self.invalidations,
            &mut self.false_invalidations,
        ] {
            *value /= runs;
        }
    }
}

/// Of runs of one command; `None` where no caches were simulated.
pub fn coherence(runs: &[&Manifest]) -> Option<Coherence> {
    let simulated: Vec<&Manifest> = runs.iter().copied().filter(|run| run.simulated.is_some()).collect();
    let most = simulated.iter().filter_map(|run| run.simulated.as_ref()).map(|info| info.cores).max()?;
    let mut cores: Vec<CoreTraffic> =
        (0..most as usize).map(|core| CoreTraffic { core, ..CoreTraffic::default() }).collect();
    for run in &simulated {
        let of = run.simulated.as_ref().map_or(1, |info| info.cores.max(1)) as usize;
        for (number, thread) in run.threads.iter().enumerate() {
            if let (Some(core), Some(counts)) = (cores.get_mut(number % of), &thread.simulated) {
                core.add(accesses(thread), counts);
            }
        }
    }
    cores.retain(|core| core.accesses > 0.0);
    cores.iter_mut().for_each(|core| core.divide(simulated.len() as f64));
    Some(Coherence { cores })
}

fn accesses(thread: &ThreadInfo) -> u64 {
    let counts = thread.counts.unwrap_or_default();
    counts.loads.unwrap_or_default().saturating_add(counts.stores.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use carom_store::{SimulatedInfo, ThreadCounts};

    use super::*;

    fn thread(accesses: u64, simulated: SimulatedCounts) -> ThreadInfo {
        let counts = ThreadCounts { loads: Some(accesses), ..ThreadCounts::default() };
        ThreadInfo { counts: Some(counts), simulated: Some(simulated), ..ThreadInfo::default() }
    }

    fn run(threads: Vec<ThreadInfo>) -> Manifest {
        let simulated = Some(SimulatedInfo { cores: 2, ..SimulatedInfo::default() });
        Manifest { threads, simulated, ..Manifest::default() }
    }

    /// Thread 0 gets 30 of 100 lines from the other core, in 1,000 accesses; thread 1 as many in 100,000. Thread 2 shares core 0.
    #[test]
    fn a_bottleneck_is_frequent_and_a_large_part() {
        let traffic =
            SimulatedCounts { bus_transactions: 100, load_transfers: 30, ..SimulatedCounts::default() };
        let rare = thread(100_000, traffic);
        let busy = run(vec![thread(1000, traffic), rare.clone(), thread(0, SimulatedCounts::default())]);
        let found = coherence(&[&busy, &busy, &Manifest::default()]).unwrap();
        assert_eq!(found.cores.iter().map(|core| core.core).collect::<Vec<_>>(), [0, 1]);
        assert_eq!(
            (found.cores[0].accesses, found.cores[0].share(), found.cores[0].rate()),
            (1000.0, 0.3, 0.03)
        );
        assert!(found.cores[0].is_bottleneck());
        assert!(!found.cores[1].is_bottleneck());
        // Many lines from memory beside it: 30 of 1,000.
        let other = SimulatedCounts { bus_transactions: 1000, ..traffic };
        assert!(!coherence(&[&run(vec![thread(1000, other)])]).unwrap().cores[0].is_bottleneck());
        assert_eq!(coherence(&[&Manifest::default()]), None);
    }
}
