//! The number of line transfers between cores, estimated from the sampled accesses.

use std::collections::{BTreeMap, BTreeSet};

use carom_base::{Nanos, SharingClass, ThreadId};

use super::Matrix;
use super::matrix::Cells;
use super::order::Step;
use super::tally::LineKey;
use crate::estimate::{Estimate, WeightedCount};

/// Fetches of a line that are looked at together, so that their rate is known to a fifth (1 / √32) and still follows
/// the phases of a program.
const GROUP: usize = 32;

/// Fewer than this have no rate.
const SMALLEST_GROUP: usize = 8;

/// A coherence protocol over the sampled accesses of contended lines: a core that touches a line which it has not
/// touched since another core's latest write fetches it from there.
///
/// Each fetch has the weight of its sample in operations. If cores reach a line in random order, each in proportion to its
/// accesses, then so do the samples, and the estimate is unbiased.
/// Cores that contend for a line keep it for runs of accesses, because a line takes its time to travel: see
/// [`part_that_fits`].
pub(super) struct Transfers {
    /// Nanoseconds per transfer; `None` where not measured: nothing limits them then.
    one_takes: Option<f64>,
    lines: BTreeMap<LineKey, Line>,
    count: WeightedCount,
    cells: Cells<ThreadId>,
}

/// Who has a line, among those that were sampled at it.
#[derive(Default)]
struct Line {
    /// The latest write.
    write: Option<Step>,
    /// The cores that have touched it since, the writer's included.
    holders: BTreeSet<u32>,
    /// The latest fetches.
    group: Vec<Fetch>,
}

#[derive(Clone, Copy)]
struct Fetch {
    time: Nanos,
    from: ThreadId,
    to: ThreadId,
    class: SharingClass,
    operations: f64,
}

impl Transfers {
    pub fn new(one_takes: Option<f64>) -> Self {
        let one_takes = one_takes.filter(|ns| ns.is_finite() && *ns > 0.0);
        Self { one_takes, lines: BTreeMap::new(), count: WeightedCount::default(), cells: Cells::default() }
    }

    /// The next access of a contended line in order of time.
    pub fn add(&mut self, step: &Step) {
        let line = self.lines.entry(step.line()).or_default();
        let fetched_from = line.write.filter(|_| !line.holders.contains(&step.core));
        // A thread that has moved to another core takes its lines with it: no communication.
        if let Some(write) = fetched_from.filter(|write| write.thread != step.thread) {
            let overlap = write.access.overlaps(step.access);
            line.group.push(Fetch {
                time: step.time,
                from: write.thread,
                to: step.thread,
                class: if overlap { SharingClass::True } else { SharingClass::False },
                operations: step.operations,
            });
        }
        if step.access.kind.writes() {
            line.write = Some(*step);
            line.holders.clear();
        }
        line.holders.insert(step.core);
        if line.group.len() >= GROUP {
            let group = std::mem::take(&mut line.group);
            self.settle(&group);
        }
    }

    /// Counts fetches, as far as they fit into their time.
    fn settle(&mut self, group: &[Fetch]) {
        let operations: f64 = group.iter().map(|fetch| fetch.operations).sum();
        let fit = self.one_takes.and_then(|one| Some(time_of(group)? / one));
        let part = fit.map_or(1.0, |fit| part_that_fits(operations / fit));
        for fetch in group {
            let transfers = part * fetch.operations;
            self.count.add(transfers);
            self.cells.add(fetch.from, fetch.to, fetch.class, transfers);
        }
    }

    /// Their number in the run, with the error of sampling, and by pair of threads. `None` where none was sampled.
    pub fn finish(mut self, always: impl Iterator<Item = ThreadId>) -> Option<(Estimate, Matrix<ThreadId>)> {
        for line in std::mem::take(&mut self.lines).into_values() {
            self.settle(&line.group);
        }
        Some((self.count.estimate()?, self.cells.finish(always)))
    }
}

/// The part of the fetches in a random order that take place, if they would need `crowding` times the time there is.
///
/// All of them where there is time enough, else as many as fit, and around the knee a little less than either. There the
/// truth depends on the machine. If a line stays where it arrived for as long as a transfer takes (D), and then goes to
/// who waits for it or asks first, a transfer takes the mean of max(D, exponential with a), a being the rate of one
/// core's accesses: D + exp(-aD) / a. The owner makes one access more than that many times a meanwhile, and random
/// order would make every second one a fetch. So the part is 0.91, 0.80 and 0.73 at crowding 0.64, 1 and 1.2, and here
/// 0.99, 0.89 and 0.79. Measured ones lie higher, since cores that wait are served in turn (`docs/algorithms.md`).
fn part_that_fits(crowding: f64) -> f64 {
    const SHARPNESS: f64 = 6.0;
    let crowding = crowding.clamp(0.0, f64::MAX);
    if crowding <= 1.0 {
        (1.0 + crowding.powf(SHARPNESS)).powf(-1.0 / SHARPNESS)
    } else {
        (1.0 + crowding.powf(-SHARPNESS)).powf(-1.0 / SHARPNESS) / crowding
    }
}

/// Nanoseconds that these fetches took: as many mean gaps as there are fetches.
fn time_of(group: &[Fetch]) -> Option<f64> {
    let (first, last) = (group.first()?.time.0, group.last()?.time.0);
    let gaps = group.len().checked_sub(1).filter(|_| group.len() >= SMALLEST_GROUP)?;
    Some(last.saturating_sub(first) as f64 * group.len() as f64 / gaps as f64)
}

#[cfg(test)]
mod tests;
