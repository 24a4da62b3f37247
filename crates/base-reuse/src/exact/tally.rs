//! The counts of one thread in one layer.

use carom_base::{Addr, CellClass, DistanceKind, Ip, LogBin, ReuseCell, Scope, ThreadId};

use super::{
    error::{RandomGroups, SamplingError},
    histogram::{Column, Histogram, UNIT, take_whole},
    hits::Hits,
    pairs::PairTable,
    sieve::Sieve,
    sites::Sites,
    stack::{Now, Reuse, Seen},
};

/// See the [module](self).
#[derive(Clone, Debug)]
pub(super) struct Tally {
    time: Histogram,
    stack: Histogram,
    first: u64,
    invalidated: u64,
    pairs: Option<PairTable>,
    /// Reuses from this distance on are also counted by pairs, individually; nearer ones when counts are taken out.
    nearest_pair: u64,
    estimate: Option<Estimate>,
}

/// The state for sampled places.
#[derive(Clone, Debug)]
struct Estimate {
    groups: RandomGroups,
    touches: u64,
    /// By distance, for reads and for writes: all touches, minus the number for which the followed ones stood.
    /// SHARDS-adj (the paper's section 3.4): whether a hot place is followed or not shifts all counts.
    owed: [[i64; 2]; 2],
}

impl Tally {
    pub fn new(pairs: Option<PairTable>, sampled: bool) -> Self {
        let estimate =
            sampled.then(|| Estimate { groups: RandomGroups::new(), touches: 0, owed: Default::default() });
        Self {
            time: Histogram::default(),
            stack: Histogram::default(),
            first: 0,
            invalidated: 0,
            nearest_pair: pairs.as_ref().map_or(u64::MAX, PairTable::nearest),
            pairs,
            estimate,
        }
    }

    /// A touch that was not a reuse, and stands for `parts` parts of one.
    pub fn miss(&mut self, seen: Seen, weight: u64) {
        match seen {
            Seen::Reuse(_) => {}
            Seen::First => self.first += weight,
            Seen::Invalidated => self.invalidated += weight,
        }
    }

    /// Accesses that the top has answered: all of them are nearer than the nearest pair.
    pub fn hits(&mut self, hits: &Hits) {
        hits.give(&mut self.time, &mut self.stack, UNIT);
    }

    #[inline(always)]
    pub fn record_reuse(&mut self, reuse: Reuse, now: Now, weight: u64, sites: Option<&Sites>) {
        let column = column(reuse, now);
        self.time.add(reuse.time, column, weight);
        self.stack.add(reuse.stack, column, weight);
        if reuse.stack >= self.nearest_pair
            && let Some(pairs) = &mut self.pairs
        {
            let earlier = sites.map_or(Ip(0), |sites| sites.ip(reuse.site));
            pairs.add((earlier, now.ip), column, reuse.stack, now.addr, weight);
        }
    }

    /// A touch of a place with this hash, which the sieve follows.
    pub fn record_sampled(&mut self, seen: Seen, now: Now, hash: u64, sieve: &Sieve, sites: Option<&Sites>) {
        let (rate, weight) = (sieve.rate(), sieve.weight());
        let scaled = match seen {
            Seen::Reuse(reuse) => Seen::Reuse(Reuse { stack: (reuse.stack as f64 / rate) as u64, ..reuse }),
            other => other,
        };
        match scaled {
            Seen::Reuse(reuse) => self.record_reuse(reuse, now, weight, sites),
            missed => self.miss(missed, weight),
        }
        if let Some(estimate) = &mut self.estimate {
            let distance = if let Seen::Reuse(reuse) = scaled { Some(reuse.stack) } else { None };
            estimate.groups.add(hash, distance, weight);
            for owed in &mut estimate.owed {
                owed[usize::from(now.writes())] -= weight as i64;
            }
        }
    }

    /// Touches of places, followed or not.
    pub fn met(&mut self, touches: u64, writes: u64) {
        if let Some(estimate) = &mut self.estimate {
            estimate.touches += touches;
            for [reads_owed, writes_owed] in &mut estimate.owed {
                *reads_owed += ((touches - writes) * UNIT) as i64;
                *writes_owed += (writes * UNIT) as i64;
            }
        }
    }

    pub fn error(&self, rate: f64) -> Option<SamplingError> {
        self.estimate.as_ref().map(|estimate| estimate.groups.error(rate, estimate.touches))
    }

    /// Takes the counts out.
    pub fn drain(
        &mut self,
        thread: ThreadId,
        (scope, granularity): (Scope, u32),
        cells: &mut Vec<ReuseCell>,
    ) {
        let common = ReuseCell {
            thread,
            scope,
            distance: DistanceKind::Time,
            granularity,
            class: CellClass::First,
            bin: LogBin::default(),
            from_other: false,
            pair: None,
            at: Addr(0),
            count: 0,
        };
        if let Some(estimate) = &mut self.estimate {
            for (histogram, owed) in [&mut self.time, &mut self.stack].into_iter().zip(&mut estimate.owed) {
                for (writes, owed) in [false, true].into_iter().zip(owed) {
                    *owed = histogram.correct(writes, *owed);
                }
            }
        }
        let (first, invalidated) = (take_whole(&mut self.first), take_whole(&mut self.invalidated));
        for (histogram, distance) in
            [(&mut self.time, DistanceKind::Time), (&mut self.stack, DistanceKind::Stack)]
        {
            for (class, count) in [(CellClass::First, first), (CellClass::Invalidated, invalidated)] {
                if count > 0 {
                    cells.push(ReuseCell { distance, class, count, ..common });
                }
            }
            histogram.drain(|bin, column, count| {
                if let Some(pairs) = self.pairs.as_mut().filter(|_| distance == DistanceKind::Stack)
                    && bin.low() < self.nearest_pair
                {
                    pairs.add_near(bin.low(), column, count);
                }
                cells.push(ReuseCell { distance, bin, count, ..of_column(common, column) });
            });
        }
        if let Some(pairs) = &mut self.pairs {
            pairs.drain(|pair, bin, column, count| {
                let (pair, at) = match pair {
                    Some((pair, at)) => (pair, at),
                    None => (ReuseCell::REST, Addr(0)),
                };
                let (distance, pair) = (DistanceKind::Stack, Some(pair));
                cells.push(ReuseCell { distance, bin, pair, at, count, ..of_column(common, column) });
            });
        }
    }
}

#[inline(always)]
fn column(reuse: Reuse, now: Now) -> Column {
    let earlier = reuse.earlier;
    Column::new(earlier.wrote(), now.writes(), !earlier.same_thread(now.stamp))
}

/// The other thread matters in a shared cache only.
fn of_column(cell: ReuseCell, column: Column) -> ReuseCell {
    let from_other = column.others_use() && cell.scope == Scope::Shared;
    ReuseCell { class: CellClass::Reuse(column.kind()), from_other, ..cell }
}
