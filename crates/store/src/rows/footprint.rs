use carom_base::Nanos;

use super::{Row, collect};
use crate::chunk::{ColumnReader, ColumnWriter, Kind};
use crate::error::Damage;
use crate::rules::{Report, RowContext};

/// Memory of the program and its children at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FootprintRow {
    /// When.
    pub time: Nanos,
    /// Resident bytes (VmRSS) of all its processes.
    pub resident: u64,
    /// Reserved bytes (VmSize) of all its processes.
    pub reserved: u64,
}

impl Row for FootprintRow {
    const KIND: Kind = Kind::new(9, "memory.chunks");
    const HAS_STACKS: bool = false;

    fn encode(rows: &[Self], columns: &mut ColumnWriter) {
        columns.integers(rows.iter().map(|row| row.time.0));
        columns.integers(rows.iter().map(|row| row.resident));
        columns.integers(rows.iter().map(|row| row.reserved));
    }

    fn decode(rows: u32, columns: &mut ColumnReader<'_>) -> Result<Vec<Self>, Damage> {
        let mut time = columns.integers()?;
        let mut resident = columns.integers()?;
        let mut reserved = columns.integers()?;
        collect(rows, |_| {
            Ok(Self { time: Nanos(time.read()?), resident: resident.read()?, reserved: reserved.read()? })
        })
    }

    fn check(&self, context: &mut RowContext<'_>, report: Report<'_>) {
        context.time(self.time, report);
    }
}
