//! Banks: the address space in which lanes and counters lie.
//!
//! ```text
//!          | column 0 | column 1 | column 2 | ...      1 MiB each
//!   row 0  | lane 0   | window   | window   | ...
//!   row 1  | lane 1   | window   | window   | ...
//!   ...      ^ GS base, in the first bank
//! ```
//!
//! A row belongs to a thread, a column to an arena. So all rows of a column are as far from their lanes, and arenas
//! that are near each other share a bank. With a region for each arena, there was room for four within reach of code.

use std::ops::Range;

use super::{
    MemoryError,
    claim::{Claim, Part},
    lanes::LANES,
};

/// The size of a column in one row.
pub const COLUMN_BYTES: u64 = 1 << 20;

/// Columns for the lanes, and for more arenas than most programs need. Two banks have enough for all of two versions.
const COLUMNS: u64 = 16;

/// From one row to the next.
pub const ROW_BYTES: u64 = COLUMNS * COLUMN_BYTES;

/// The size of a bank, with a row for each lane.
pub const BANK_BYTES: u64 = LANES as u64 * ROW_BYTES;

/// One bank.
#[derive(Debug)]
pub struct Bank {
    claim: Claim,
    /// The columns that are free: not those of lanes or windows, nor any in which the program has something.
    free: Vec<u64>,
    /// The columns of arenas.
    windows: Vec<u64>,
}

impl Bank {
    /// The first bank, which has the lanes in column 0.
    pub fn of_lanes(claim: Claim) -> Self {
        Self { claim, free: (1..COLUMNS).collect(), windows: Vec::new() }
    }

    /// A bank for windows only.
    pub fn of_windows(claim: Claim) -> Self {
        Self { free: (0..COLUMNS).collect(), ..Self::of_lanes(claim) }
    }

    /// The address space it lies in, mapped or not.
    pub const fn claim(&self) -> &Claim {
        &self.claim
    }

    /// The same, mutable.
    pub const fn claim_mut(&mut self) -> &mut Claim {
        &mut self.claim
    }

    /// Maps the windows of one more arena in the first `rows` rows. Returns where they begin, which is `within` this
    /// range; `None` where no such column is free.
    ///
    /// # Errors
    /// Limits on memory.
    pub fn open_windows(&mut self, within: &Range<u64>, rows: u64) -> Result<Option<u64>, MemoryError> {
        let start = self.claim.range().start;
        let fits = |column: &u64| within.contains(&(start + column * COLUMN_BYTES));
        while let Some(index) = self.free.iter().position(fits) {
            let column = self.free.remove(index);
            match (0..rows).try_for_each(|row| self.claim.open(cell(row, column))) {
                Ok(()) => {
                    self.windows.push(column);
                    return Ok(Some(start + column * COLUMN_BYTES));
                }
                Err(MemoryError::NoHole { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// Maps the windows of all arenas in one more row.
    ///
    /// # Errors
    /// As [`Claim::open`].
    pub fn open_row(&mut self, row: u64) -> Result<(), MemoryError> {
        self.windows.iter().try_for_each(|&column| self.claim.open(cell(row, column)))
    }

    /// The windows of all arenas in a row, which are open.
    pub fn row(&self, row: u64) -> impl Iterator<Item = Part> {
        self.windows.iter().map(move |&column| self.claim.at(cell(row, column)))
    }

    /// The windows that begin at `start` in the first rows; none if they are not in this bank.
    pub fn windows(&self, start: u64, rows: u64) -> impl Iterator<Item = Part> {
        let begins = move |&&column: &&u64| self.claim.range().start + column * COLUMN_BYTES == start;
        let its = self.windows.iter().find(begins).into_iter();
        its.flat_map(move |&column| (0..rows).map(move |row| self.claim.at(cell(row, column))))
    }
}

/// A column in one row, as an offset.
const fn cell(row: u64, column: u64) -> Range<u64> {
    let at = row * ROW_BYTES + column * COLUMN_BYTES;
    at..at + COLUMN_BYTES
}
