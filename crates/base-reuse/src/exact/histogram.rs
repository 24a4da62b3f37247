//! Counts by distance and kind.

use carom_base::{LogBin, ReuseKind};

/// Counts are kept in parts of an access, as a sampled one may stand for any number of them.
pub(super) const UNIT: u64 = 1 << 16;

/// Kinds of reuse, of own uses and of another thread's.
pub(super) const COLUMNS: usize = 2 * ReuseKind::ALL.len();

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

    pub fn index(self) -> usize {
        usize::from(self.0) % COLUMNS
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

/// As long as the largest distance so far needs.
#[derive(Clone, Debug, Default)]
pub(super) struct Histogram {
    rows: Vec<[u64; COLUMNS]>,
}

impl Histogram {
    #[inline(always)]
    pub fn add(&mut self, distance: u64, column: Column, weight: u64) {
        let bin = usize::from(LogBin::of(distance).0);
        match self.rows.get_mut(bin) {
            Some(row) => row[column.index()] += weight,
            None => self.extend(bin, column, weight),
        }
    }

    #[cold]
    #[inline(never)]
    fn extend(&mut self, bin: usize, column: Column, weight: u64) {
        self.rows.resize(bin + 1, [0; COLUMNS]);
        self.rows[bin][column.index()] = weight;
    }

    /// Takes out whole counts; what is less than one stays.
    pub fn drain(&mut self, mut taken: impl FnMut(LogBin, Column, u64)) {
        for (bin, row) in self.rows.iter_mut().enumerate() {
            for column in Column::all() {
                let count = take_whole(&mut row[column.index()]);
                if count > 0 {
                    taken(LogBin(bin as u16), column, count);
                }
            }
        }
    }

    /// Adds so much to the smallest distance, or takes it away from the smallest distances that there are, among reuses
    /// by writes, or by reads; returns what could not be taken.
    pub fn correct(&mut self, writes: bool, difference: i64) -> i64 {
        if difference >= 0 {
            self.add(0, Column::new(writes, writes, false), difference as u64);
            return 0;
        }
        let mut left = difference.unsigned_abs();
        for row in &mut self.rows {
            for column in Column::all().filter(|column| column.kind_writes() == writes) {
                let taken = row[column.index()].min(left);
                row[column.index()] -= taken;
                left -= taken;
            }
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

/// The whole accesses in a count, which keeps the rest.
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

    /// Three reads at 5 and three at 9; four too many: none is left at 5 and two at 9. Writes are not touched. Of another
    /// four too many two remain.
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
