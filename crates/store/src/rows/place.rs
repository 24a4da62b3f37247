use carom_base::{Ip, ProcessId};

use super::{Row, collect};
use crate::chunk::{ColumnReader, ColumnWriter, Kind};
use crate::error::Damage;
use crate::rules::{Report, RowContext};

/// What one instruction accessed in all threads of its process, and what simulated caches did with that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlaceCounts {
    /// Its process.
    pub process: ProcessId,
    /// Its address.
    pub ip: Ip,
    /// Loads.
    pub loads: u64,
    /// Stores.
    pub stores: u64,
    /// Bytes loaded.
    pub loaded_bytes: u64,
    /// Bytes stored.
    pub stored_bytes: u64,
    /// Lines that L1 missed. This and what follows: modelled.
    pub l1_misses: u64,
    /// Lines that L1 and L2 missed.
    pub l2_misses: u64,
    /// Lines that nothing in the socket had.
    pub llc_misses: u64,
    /// Lines that were missed because another core's store had taken them away.
    pub coherence_misses: u64,
    /// Copies in other cores that its stores invalidated.
    pub invalidations: u64,
}

impl PlaceCounts {
    /// Behind process and instruction, in the order of their columns.
    const fn counts(&self) -> [u64; 9] {
        [
            self.loads,
            self.stores,
            self.loaded_bytes,
            self.stored_bytes,
            self.l1_misses,
            self.l2_misses,
            self.llc_misses,
            self.coherence_misses,
            self.invalidations,
        ]
    }
}

impl Row for PlaceCounts {
    const KIND: Kind = Kind::new(16, "places.chunks");
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
        let mut loads = columns.integers()?;
        let mut stores = columns.integers()?;
        let mut loaded_bytes = columns.integers()?;
        let mut stored_bytes = columns.integers()?;
        let mut l1_misses = columns.integers()?;
        let mut l2_misses = columns.integers()?;
        let mut llc_misses = columns.integers()?;
        let mut coherence_misses = columns.integers()?;
        let mut invalidations = columns.integers()?;
        collect(rows, |_| {
            Ok(Self {
                process: ProcessId(process.read_u32()?),
                ip: Ip(ip.read()?),
                loads: loads.read()?,
                stores: stores.read()?,
                loaded_bytes: loaded_bytes.read()?,
                stored_bytes: stored_bytes.read()?,
                l1_misses: l1_misses.read()?,
                l2_misses: l2_misses.read()?,
                llc_misses: llc_misses.read()?,
                coherence_misses: coherence_misses.read()?,
                invalidations: invalidations.read()?,
            })
        })
    }

    fn check(&self, context: &mut RowContext<'_>, report: Report<'_>) {
        context.process(self.process, report);
    }
}
