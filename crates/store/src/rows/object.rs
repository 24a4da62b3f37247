use carom_base::{Addr, Nanos, ProcessId, StackId};

use super::{Row, collect};
use crate::chunk::{ColumnReader, ColumnWriter, Kind};
use crate::error::Damage;
use crate::rules::{Report, RowContext, Rule};

/// A heap block in which a sampled address lay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeapObject {
    /// Whose block.
    pub process: ProcessId,
    /// Its first byte.
    pub base: Addr,
    /// Bytes, as the program asked for them.
    pub size: u64,
    /// The call path that allocated it.
    pub site: StackId,
    /// When it was known to exist. Later blocks may reuse the address.
    pub seen: Nanos,
}

impl Row for HeapObject {
    const KIND: Kind = Kind::new(4, "objects.chunks");
    const HAS_STACKS: bool = true;

    fn encode(rows: &[Self], columns: &mut ColumnWriter) {
        columns.integers(rows.iter().map(|row| u64::from(row.process.0)));
        columns.integers(rows.iter().map(|row| row.base.0));
        columns.integers(rows.iter().map(|row| row.size));
        columns.words(rows.iter().map(|row| row.site.0));
        columns.integers(rows.iter().map(|row| row.seen.0));
    }

    fn decode(rows: u32, columns: &mut ColumnReader<'_>) -> Result<Vec<Self>, Damage> {
        let mut process = columns.integers()?;
        let mut base = columns.integers()?;
        let mut size = columns.integers()?;
        let mut site = columns.words()?;
        let mut seen = columns.integers()?;
        collect(rows, |_| {
            Ok(Self {
                process: ProcessId(process.read_u32()?),
                base: Addr(base.read()?),
                size: size.read()?,
                site: StackId(site.read()?),
                seen: Nanos(seen.read()?),
            })
        })
    }

    fn check(&self, context: &mut RowContext<'_>, report: Report<'_>) {
        context.process(self.process, report);
        if self.base.0.checked_add(self.size).is_none() {
            report(Rule::AddressWraps);
        }
        context.time(self.seen, report);
        context.stack_of(self.process, self.site, report);
    }
}
