use crate::{
    counts::{Counts, Sharing},
    history::History,
    invalidated::Invalidated,
    matrix::Matrix,
};

/// What a simulation has counted so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Results {
    /// By reference: index `n` is `Reference(n)`.
    pub references: Vec<Counts>,
    /// Invalidations: row, the core that stored; column, the core that lost its copy.
    pub invalidations: Matrix<Sharing>,
    /// The same by line and by reference, in this order.
    pub invalidated: Vec<Invalidated>,
    /// Lines sent from cache to cache: row, the core that had it; column, the core that got it.
    pub transfers: Matrix<u64>,
    /// Of the lines that were asked for, by line.
    pub histories: Vec<History>,
}

impl Results {
    /// The sum over all references.
    pub fn total(&self) -> Counts {
        self.references.iter().fold(Counts::default(), |total, counts| total + *counts)
    }

    /// Adds what another part of the same machine's lines has counted.
    pub fn add(&mut self, other: Self) {
        if self.references.len() < other.references.len() {
            self.references.resize(other.references.len(), Counts::default());
        }
        self.references.iter_mut().zip(other.references).for_each(|(counts, other)| *counts += other);
        self.invalidations += &other.invalidations;
        self.transfers += &other.transfers;
        self.invalidated.extend(other.invalidated);
        self.invalidated.sort_unstable_by_key(|each| (each.line, each.by, each.of));
        self.histories.extend(other.histories);
        self.histories.sort_by_key(|history| history.line);
    }
}
