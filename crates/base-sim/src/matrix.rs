use std::ops::{AddAssign, Index, IndexMut};

/// A value for each pair of cores.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Matrix<T> {
    cores: usize,
    cells: Vec<T>,
}

impl<T: Copy + Default> Matrix<T> {
    pub(crate) fn new(cores: usize) -> Self {
        Self { cores, cells: vec![T::default(); cores * cores] }
    }

    /// The matrix of these rows, cut or filled up to a square.
    pub fn from_rows(rows: Vec<Vec<T>>) -> Self {
        let mut matrix = Self::new(rows.len());
        for (number, row) in rows.into_iter().enumerate() {
            for (column, cell) in row.into_iter().take(matrix.cores).enumerate() {
                matrix[(number, column)] = cell;
            }
        }
        matrix
    }

    /// The number of cores.
    pub fn cores(&self) -> usize {
        self.cores
    }
}

/// By row and column.
impl<T> Index<(usize, usize)> for Matrix<T> {
    type Output = T;
    fn index(&self, (row, column): (usize, usize)) -> &T {
        &self.cells[row * self.cores + column]
    }
}

impl<T> IndexMut<(usize, usize)> for Matrix<T> {
    fn index_mut(&mut self, (row, column): (usize, usize)) -> &mut T {
        &mut self.cells[row * self.cores + column]
    }
}

/// Both have the same number of cores.
impl<T: Copy + AddAssign> AddAssign<&Self> for Matrix<T> {
    fn add_assign(&mut self, other: &Self) {
        debug_assert_eq!(self.cores, other.cores);
        self.cells.iter_mut().zip(&other.cells).for_each(|(cell, other)| *cell += *other);
    }
}
