//! Counts by distance and kind.

use carom_base::{LogBin, ReuseKind};

/// Counts are kept in fractions of an access, because a sampled access may stand for any number of accesses.
pub(super) const UNIT: u64 = 1 << 16;

/// Kinds of reuse, of own uses and of another thread's.
pub(super) const COLUMNS: usize = 2 * HALF;

pub(super) const HALF: usize = ReuseKind::ALL.len();

/// The kind of a reuse, and whose use it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Column(u8);

impl Column {
    #[inline(always)]
    pub fn new(wrote: bool, writes: bool, from_other: bool) -> Self {
        Self(u8::from(wrote) | u8::from(writes) << 1 | u8::from(from_other) << 2)
    }

    pub fn all() -> impl Iterator<Item = Self> {
        (0..COLUMNS as u8).map(Self)
    }

    #[inline(always)]
    pub fn index(self) -> usize {
        usize::from(self.0) % COLUMNS
    }

    /// 0 for own uses, 1 for another thread's.
    #[inline(always)]
    fn half(self) -> usize {
        self.index() / HALF
    }

    #[inline(always)]
    pub fn in_half(self) -> usize {
        self.index() % HALF
    }

    pub fn kind(self) -> ReuseKind {
        match (self.0 & 1 != 0, self.0 & 2 != 0) {
            (false, false) => ReuseKind::Rar,
            (true, false) => ReuseKind::Raw,
            (true, true) => ReuseKind::Waw,
            (false, true) => ReuseKind::War,
        }
    }

    pub fn others_use(self) -> bool {
        self.0 & 4 != 0
    }
}

/// The number of counts of own uses; those of another thread's uses follow. A single thread needs only the former,
/// and the counts in constant use should stay in a nearby cache.
const OF_HALF: usize = LogBin::COUNT * HALF;

/// Counts up to the largest distance.
#[derive(Clone, Debug, Default)]
pub(super) struct Histogram {
    /// By half, by bin, and by column in the half.
    counts: Vec<u64>,
}

impl Histogram {
    pub const EMPTY: Self = Self { counts: Vec::new() };

    /// Adds all counts of own uses to another histogram, each with this weight.
    pub fn give(&self, to: &mut Self, weight: u64) {
        let own = self.counts.get(..OF_HALF).unwrap_or(&self.counts);
        if to.counts.len() < own.len() {
            to.counts.resize(own.len(), 0);
        }
        to.counts.iter_mut().zip(own).for_each(|(sum, count)| *sum += count * weight);
    }

    #[inline(always)]
    pub fn add(&mut self, distance: u64, column: Column, weight: u64) {
        let bin = usize::from(LogBin::of(distance).0);
        let at = column.half() * OF_HALF + bin * HALF + column.in_half();
        match self.counts.get_mut(at) {
            Some(count) => *count += weight,
            None => self.extend(at, weight),
        }
    }

    #[cold]
    #[inline(never)]
    fn extend(&mut self, at: usize, weight: u64) {
        // Another thread's counts lie far away; they are not accessed to add 0.
        if weight > 0 {
            self.counts.resize((at / HALF + 1) * HALF, 0);
            self.counts[at] = weight;
        }
    }

    /// All counts that may not be 0, by bin and then by column.
    fn counts(&mut self) -> impl Iterator<Item = (usize, Column, &mut u64)> {
        let own = OF_HALF.min(self.counts.len());
        let (own, others) = self.counts.split_at_mut(own);
        let bins = own.len().max(others.len()) / HALF;
        let [own, others] = [own, others].map(|counts| {
            let rows = counts.chunks_mut(HALF).map(Some);
            rows.chain(std::iter::repeat_with(|| None)).take(bins)
        });
        own.zip(others).enumerate().flat_map(|(bin, (own, others))| {
            let counts = own.into_iter().flatten().enumerate();
            let further =
                others.into_iter().flatten().enumerate().map(|(index, count)| (index + HALF, count));
            counts.chain(further).map(move |(index, count)| (bin, Column(index as u8), count))
        })
    }

    /// Takes whole counts out; fractions stay.
    pub fn drain(&mut self, mut taken: impl FnMut(LogBin, Column, u64)) {
        for (bin, column, count) in self.counts() {
            let count = take_whole(count);
            if count > 0 {
                taken(LogBin(bin as u16), column, count);
            }
        }
    }

    /// Adds `difference` to the smallest distance, or subtracts it from the smallest distances that have counts,
    /// among reuses by writes, or by reads; returns what could not be subtracted.
    pub fn correct(&mut self, writes: bool, difference: i64) -> i64 {
        if difference >= 0 {
            self.add(0, Column::new(writes, writes, false), difference as u64);
            return 0;
        }
        let mut left = difference.unsigned_abs();
        for (_, _, count) in self.counts().filter(|(_, column, _)| column.kind_writes() == writes) {
            let taken = left.min(*count);
            *count -= taken;
            left -= taken;
            if left == 0 {
                return 0;
            }
        }
        -(left as i64)
    }
}

impl Column {
    fn kind_writes(self) -> bool {
        self.0 & 2 != 0
    }
}

/// Takes the whole accesses out of a count, which keeps the fraction.
pub(super) fn take_whole(count: &mut u64) -> u64 {
    let whole = *count / UNIT;
    *count %= UNIT;
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drained(histogram: &mut Histogram) -> Vec<(u64, ReuseKind, u64)> {
        let mut all = Vec::new();
        histogram.drain(|bin, column, count| all.push((bin.low(), column.kind(), count)));
        all
    }

    #[test]
    fn parts_of_a_count_wait_for_the_rest() {
        let mut histogram = Histogram::default();
        let column = Column::new(true, false, true);
        assert!(column.others_use());
        histogram.add(40, column, UNIT * 3 / 2);
        assert_eq!(drained(&mut histogram), [(40, ReuseKind::Raw, 1)]);
        histogram.add(40, column, UNIT / 2);
        assert_eq!(drained(&mut histogram), [(40, ReuseKind::Raw, 1)]);
        assert_eq!(drained(&mut histogram), []);
    }

    #[test]
    fn no_count_needs_no_room() {
        let mut histogram = Histogram::default();
        Column::all().for_each(|column| histogram.add(0, column, 0));
        assert_eq!(histogram.correct(true, 0), 0);
        assert!(histogram.counts.is_empty());
        histogram.add(0, Column::new(false, false, false), UNIT);
        assert_eq!(histogram.counts.len(), HALF);
    }

    /// Three reads at 5 and three at 9; four too many: none is left at 5 and two at 9. Writes are not changed. Of
    /// four more, two remain.
    #[test]
    fn corrections_begin_at_the_smallest_distance() {
        let mut histogram = Histogram::default();
        for distance in [5, 9] {
            histogram.add(distance, Column::new(false, false, false), 3 * UNIT);
        }
        histogram.add(5, Column::new(true, true, false), UNIT);
        assert_eq!(histogram.correct(false, -4 * UNIT as i64), 0);
        let mut rest = histogram.clone();
        assert_eq!(drained(&mut histogram), [(5, ReuseKind::Waw, 1), (9, ReuseKind::Rar, 2)]);
        assert_eq!(rest.correct(false, -4 * UNIT as i64), -2 * UNIT as i64);
        assert_eq!(rest.correct(true, 2 * UNIT as i64), 0);
        assert_eq!(drained(&mut rest), [(0, ReuseKind::Waw, 2), (5, ReuseKind::Waw, 1)]);
    }
}
