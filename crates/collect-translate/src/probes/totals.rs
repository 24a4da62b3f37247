//! Exact counts.

use std::ops::{Deref, DerefMut};

use super::coverage::Coverage;
use crate::decode::block::Sums;

/// What a thread, or one instruction, has executed. Signed, because a part may be a correction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Instructions; a repeated string instruction is one.
    pub instructions: i64,
    /// Loads: one per operand read, iteration of a repeated instruction, active lane of a gather or masked load.
    pub loads: i64,
    /// Stores, likewise.
    pub stores: i64,
    /// Bytes that the loads read.
    pub loaded_bytes: i64,
    /// Bytes that the stores wrote.
    pub stored_bytes: i64,
    /// Instructions that may transfer control.
    pub branches: i64,
    /// Those that did not fall through: certainly all but the conditional ones.
    pub branches_taken: i64,
    /// Calls among them.
    pub calls: i64,
    /// Returns among them.
    pub returns: i64,
    /// Instructions that lock a line.
    pub atomics: i64,
    /// System calls.
    pub system_calls: i64,
}

impl Counts {
    /// `sums`, `times` times.
    pub fn of(times: i64, sums: &Sums) -> Self {
        let mut counts = Self::default();
        counts.add(times, sums);
        counts
    }

    /// Adds `sums`, `times` times.
    pub fn add(&mut self, times: i64, sums: &Sums) {
        self.instructions += times * i64::from(sums.instructions);
        self.loads += times * i64::from(sums.loads);
        self.stores += times * i64::from(sums.stores);
        self.loaded_bytes += times * i64::from(sums.loaded_bytes);
        self.stored_bytes += times * i64::from(sums.stored_bytes);
        self.branches += times * i64::from(sums.branches);
        self.branches_taken += times * i64::from(sums.branches_taken);
        self.calls += times * i64::from(sums.calls);
        self.returns += times * i64::from(sums.returns);
        self.atomics += times * i64::from(sums.atomics);
        self.system_calls += times * i64::from(sums.system_calls);
    }

    /// Adds the counts of `other`.
    pub fn join(&mut self, other: &Self) {
        self.instructions += other.instructions;
        self.loads += other.loads;
        self.stores += other.stores;
        self.loaded_bytes += other.loaded_bytes;
        self.stored_bytes += other.stored_bytes;
        self.branches += other.branches;
        self.branches_taken += other.branches_taken;
        self.calls += other.calls;
        self.returns += other.returns;
        self.atomics += other.atomics;
        self.system_calls += other.system_calls;
    }

    /// Subtracts the counts of `other`.
    pub fn subtract(&mut self, other: &Self) {
        self.instructions -= other.instructions;
        self.loads -= other.loads;
        self.stores -= other.stores;
        self.loaded_bytes -= other.loaded_bytes;
        self.stored_bytes -= other.stored_bytes;
        self.branches -= other.branches;
        self.branches_taken -= other.branches_taken;
        self.calls -= other.calls;
        self.returns -= other.returns;
        self.atomics -= other.atomics;
        self.system_calls -= other.system_calls;
    }
}

/// The counts of a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// What it has executed.
    pub counts: Counts,
    /// The part of the thread's time that was counted.
    pub coverage: Coverage,
}

impl Deref for Totals {
    type Target = Counts;

    fn deref(&self) -> &Counts {
        &self.counts
    }
}

impl DerefMut for Totals {
    fn deref_mut(&mut self) -> &mut Counts {
        &mut self.counts
    }
}
