use carom_base::{Ip, ProcessId};

use super::{Row, collect};
use crate::chunk::{ColumnReader, ColumnWriter, Kind};
use crate::error::Damage;
use crate::rules::{Report, RowContext};

/// What one instruction has executed in all threads of its process, counted exactly as [`ThreadCounts`](crate::ThreadCounts) are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InstructionCounts {
    /// Its process.
    pub process: ProcessId,
    /// Its address.
    pub ip: Ip,
    /// How often it was executed; repeated string instructions once for all iterations.
    pub instructions: u64,
    /// Loads.
    pub loads: u64,
    /// Stores.
    pub stores: u64,
    /// Bytes loaded.
    pub loaded_bytes: u64,
    /// Bytes stored.
    pub stored_bytes: u64,
    /// Branches: jumps, taken or not, calls and returns.
    pub branches: u64,
    /// Branches that did not fall through.
    pub branches_taken: u64,
    /// Calls.
    pub calls: u64,
    /// Returns.
    pub returns: u64,
    /// Atomic instructions.
    pub atomics: u64,
    /// Entries into the kernel.
    pub system_calls: u64,
}

impl InstructionCounts {
    /// Behind process and instruction, in the order of their columns.
    const fn counts(&self) -> [u64; 11] {
        [
            self.instructions,
            self.loads,
            self.stores,
            self.loaded_bytes,
            self.stored_bytes,
            self.branches,
            self.branches_taken,
            self.calls,
            self.returns,
            self.atomics,
            self.system_calls,
        ]
    }
}

impl Row for InstructionCounts {
    const KIND: Kind = Kind::new(17, "instructions.chunks");
    const HAS_STACKS: bool = false;

    fn encode(rows: &[Self], columns: &mut ColumnWriter) {
        columns.integers(rows.iter().map(|row| row.process.0.into()));
        columns.integers(rows.iter().map(|row| row.ip.0));
        for column in 0..Self::default().counts().len() {
            columns.integers(rows.iter().map(|row| row.counts()[column]));
        }
    }

    fn decode(rows: u32, columns: &mut ColumnReader<'_>) -> Result<Vec<Self>, Damage> {
        let mut process = columns.integers()?;
        let mut ip = columns.integers()?;
        let mut instructions = columns.integers()?;
        let mut loads = columns.integers()?;
        let mut stores = columns.integers()?;
        let mut loaded_bytes = columns.integers()?;
        let mut stored_bytes = columns.integers()?;
        let mut branches = columns.integers()?;
        let mut branches_taken = columns.integers()?;
        let mut calls = columns.integers()?;
        let mut returns = columns.integers()?;
        let mut atomics = columns.integers()?;
        let mut system_calls = columns.integers()?;
        collect(rows, |_| {
            Ok(Self {
                process: ProcessId(process.read_u32()?),
                ip: Ip(ip.read()?),
                instructions: instructions.read()?,
                loads: loads.read()?,
                stores: stores.read()?,
                loaded_bytes: loaded_bytes.read()?,
                stored_bytes: stored_bytes.read()?,
                branches: branches.read()?,
                branches_taken: branches_taken.read()?,
                calls: calls.read()?,
                returns: returns.read()?,
                atomics: atomics.read()?,
                system_calls: system_calls.read()?,
            })
        })
    }

    fn check(&self, context: &mut RowContext<'_>, report: Report<'_>) {
        context.process(self.process, report);
    }
}
