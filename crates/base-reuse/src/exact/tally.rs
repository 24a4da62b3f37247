//! What is counted for one thread in one layer.

use carom_base::{Addr, CellClass, DistanceKind, LogBin, ReuseCell, Scope, ThreadId};

use super::{
    error::{RandomGroups, SamplingError},
    histogram::{Column, Histogram, UNIT, take_whole},
    pairs::{PairTable, What},
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
    /// Reuses from this distance on are counted by pairs too, one by one; nearer ones when counts are taken out.
    nearest_pair: u64,
    estimate: Option<Estimate>,
}

/// Where only some places are followed.
#[derive(Clone, Debug)]
struct Estimate {
    groups: RandomGroups,
    touches: u64,
    /// By distance, for reads and for writes: touches in all, less what those that were followed stood for. SHARDS-adj
    /// (the paper's section 3.4): a hot place that is followed, or is not, shifts them all.
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

    /// A touch that stands for so many parts of one.
    #[inline(always)]
    pub fn record(&mut self, seen: &Seen, now: &Now, weight: u64) {
        match seen {
            Seen::Reuse(reuse) => self.record_reuse(reuse, now, weight),
            Seen::First => self.first += weight,
            Seen::Invalidated => self.invalidated += weight,
        }
    }

    #[inline(always)]
    pub fn record_reuse(&mut self, reuse: &Reuse, now: &Now, weight: u64) {
        let earlier = reuse.earlier;
        let from_other = !earlier.stamp.same_thread(now.last.stamp);
        let column = Column::new(earlier.stamp.wrote(), now.writes(), from_other);
        self.time.add(reuse.time, column, weight);
        self.stack.add(reuse.stack, column, weight);
        if reuse.stack >= self.nearest_pair
            && let Some(pairs) = &mut self.pairs
        {
            let what = What::new(earlier.ip, now.last.ip, column, reuse.stack);
            pairs.add(what, now.at, weight);
        }
    }

    /// A touch of a place with this hash, one of those that are followed, which are this part of all.
    pub fn record_sampled(&mut self, seen: Seen, now: &Now, hash: u64, rate: f64, weight: u64) {
        let scaled = match seen {
            Seen::Reuse(reuse) => Seen::Reuse(Reuse { stack: (reuse.stack as f64 / rate) as u64, ..reuse }),
            other => other,
        };
        self.record(&scaled, now, weight);
        if let Some(estimate) = &mut self.estimate {
            let distance = if let Seen::Reuse(reuse) = scaled { Some(reuse.stack) } else { None };
            estimate.groups.add(hash, distance, weight);
            for owed in &mut estimate.owed {
                owed[usize::from(now.writes())] -= weight as i64;
            }
        }
    }

    /// Touches of places that are followed or not.
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

/// The other thread matters in a shared cache only.
fn of_column(cell: ReuseCell, column: Column) -> ReuseCell {
    let from_other = column.others_use() && cell.scope == Scope::Shared;
    ReuseCell { class: CellClass::Reuse(column.kind()), from_other, ..cell }
}
