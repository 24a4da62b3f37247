use std::collections::{BTreeMap, BTreeSet};

use carom_base::SharingClass;

use super::{MAX_MATRIX_LABELS, Matrix};

/// True and false sharing, in samples (weighted).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Volume {
    pub true_sharing: f64,
    pub false_sharing: f64,
}

impl Volume {
    pub fn add(&mut self, class: SharingClass, weight: f64) {
        match class {
            SharingClass::True => self.true_sharing += weight,
            SharingClass::False => self.false_sharing += weight,
        }
    }

    pub fn all(self) -> f64 {
        self.true_sharing + self.false_sharing
    }
}

/// A directed matrix under construction: only cells with volume take memory.
#[derive(Clone, Debug)]
pub(super) struct Cells<L>(BTreeMap<(L, L), Volume>);

impl<L> Default for Cells<L> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<L: Copy + Ord> Cells<L> {
    /// `weight` samples flow from writer `from` to the later accessor `to`.
    pub fn add(&mut self, from: L, to: L, class: SharingClass, weight: f64) {
        self.0.entry((from, to)).or_default().add(class, weight);
    }

    /// The matrix over `always` and all with volume; only over those with volume, and among them the
    /// busiest, where that would be more than [`MAX_MATRIX_LABELS`].
    pub fn finish(self, always: impl Iterator<Item = L>) -> Matrix<L> {
        let mut busy: BTreeMap<L, f64> = BTreeMap::new();
        for ((from, to), volume) in &self.0 {
            *busy.entry(*from).or_default() += volume.all();
            *busy.entry(*to).or_default() += volume.all();
        }
        let everybody: BTreeSet<L> = busy.keys().copied().chain(always.take(MAX_MATRIX_LABELS + 1)).collect();
        let labels = if everybody.len() <= MAX_MATRIX_LABELS {
            everybody.into_iter().collect()
        } else {
            busiest(busy)
        };
        self.dense(labels)
    }

    /// `labels` in ascending order.
    fn dense(self, labels: Vec<L>) -> Matrix<L> {
        let zeros = vec![vec![0.0; labels.len()]; labels.len()];
        let mut matrix = Matrix {
            labels,
            all: zeros.clone(),
            true_sharing: zeros.clone(),
            false_sharing: zeros,
            unlisted: 0.0,
        };
        for ((from, to), volume) in self.0 {
            let place = (matrix.labels.binary_search(&from), matrix.labels.binary_search(&to));
            if let (Ok(from), Ok(to)) = place {
                matrix.all[from][to] = volume.all();
                matrix.true_sharing[from][to] = volume.true_sharing;
                matrix.false_sharing[from][to] = volume.false_sharing;
            } else {
                matrix.unlisted += volume.all();
            }
        }
        matrix
    }
}

fn busiest<L: Copy + Ord>(volumes: BTreeMap<L, f64>) -> Vec<L> {
    let mut order: Vec<(L, f64)> = volumes.into_iter().collect();
    order.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    order.truncate(MAX_MATRIX_LABELS);
    let mut labels: Vec<L> = order.into_iter().map(|(label, _)| label).collect();
    labels.sort_unstable();
    labels
}

impl<L: Clone> Matrix<L> {
    /// The matrix without direction, as ComDetective prints it: a cell and its mirror image both hold what
    /// flowed between the two in either direction. The diagonal stays as it is.
    pub fn symmetric(&self) -> Self {
        Self {
            labels: self.labels.clone(),
            all: mirrored(&self.all),
            true_sharing: mirrored(&self.true_sharing),
            false_sharing: mirrored(&self.false_sharing),
            unlisted: self.unlisted,
        }
    }

    /// Everything that flowed between those that are listed, in samples (weighted). Of the directed matrix.
    pub fn volume(&self) -> f64 {
        self.all.iter().flatten().sum()
    }
}

fn mirrored(cells: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let cell = |i: usize, j: usize| cells.get(i).and_then(|row| row.get(j)).copied().unwrap_or(0.0);
    (0..cells.len())
        .map(|i| {
            (0..cells.len()).map(|j| if i == j { cell(i, i) } else { cell(i, j) + cell(j, i) }).collect()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use SharingClass::{False, True};

    #[test]
    fn direction_is_kept_until_asked() {
        let mut cells = Cells::default();
        cells.add(0, 2, True, 1.0);
        cells.add(0, 2, False, 2.0);
        cells.add(2, 0, True, 4.0);
        let matrix = cells.finish([0, 1, 2].into_iter());
        assert_eq!(matrix.labels, [0, 1, 2]);
        assert_eq!(matrix.all, [[0., 0., 3.], [0., 0., 0.], [4., 0., 0.]]);
        assert_eq!(matrix.true_sharing, [[0., 0., 1.], [0., 0., 0.], [4., 0., 0.]]);
        assert_eq!(matrix.false_sharing, [[0., 0., 2.], [0., 0., 0.], [0., 0., 0.]]);
        assert_eq!(matrix.symmetric().all, [[0., 0., 7.], [0., 0., 0.], [7., 0., 0.]]);
        assert_eq!(matrix.volume(), 7.0);
    }

    #[test]
    fn the_diagonal_is_not_doubled() {
        let mut cells = Cells::default();
        cells.add(5, 5, True, 3.0);
        assert_eq!(cells.finish(std::iter::empty()).symmetric().all, [[3.0]]);
    }

    #[test]
    fn crowds_leave_the_silent_out_and_then_the_least_busy() {
        // 5,000 silent threads and three that talk.
        let mut cells = Cells::default();
        cells.add(7, 4000, True, 1.0);
        cells.add(4000, 9, True, 1.0);
        assert_eq!(cells.clone().finish(0..5000).labels, [7, 9, 4000]);
        // 2,000 talking pairs: thread i sends i + 1 to its twin, so the last 512 pairs stay. What the other
        // 1,488 said is 1 + 2 + … + 1488 = 1488 · 1489 / 2.
        let mut cells = Cells::default();
        (0..2000).for_each(|i| cells.add(2 * i, 2 * i + 1, False, f64::from(i + 1)));
        let matrix = cells.finish(std::iter::empty());
        assert_eq!(matrix.labels, (2 * 1488..4000).collect::<Vec<_>>());
        assert_eq!(matrix.unlisted, f64::from(1488 * 1489 / 2));
    }
}
