use carom_base::Nanos;

use super::{Row, collect};
use crate::chunk::{ColumnReader, ColumnWriter, Kind};
use crate::error::Damage;
use crate::rules::{Report, RowContext, Rule};

/// What a counter of the kernel had counted at a moment since the program began. Between two rows of a counter it has not changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CounterRow {
    /// When.
    pub time: Nanos,
    /// Which: its place in [`Manifest::counters`](crate::Manifest::counters).
    pub counter: u32,
    /// How much.
    pub count: u64,
}

impl Row for CounterRow {
    const KIND: Kind = Kind::new(18, "counters.chunks");
    const HAS_STACKS: bool = false;

    fn encode(rows: &[Self], columns: &mut ColumnWriter) {
        columns.integers(rows.iter().map(|row| row.time.0));
        columns.integers(rows.iter().map(|row| row.counter.into()));
        columns.integers(rows.iter().map(|row| row.count));
    }

    fn decode(rows: u32, columns: &mut ColumnReader<'_>) -> Result<Vec<Self>, Damage> {
        let mut time = columns.integers()?;
        let mut counter = columns.integers()?;
        let mut count = columns.integers()?;
        collect(rows, |_| {
            Ok(Self { time: Nanos(time.read()?), counter: counter.read_u32()?, count: count.read()? })
        })
    }

    fn check(&self, context: &mut RowContext<'_>, report: Report<'_>) {
        context.time(self.time, report);
        if !context.run.knows_counter(self.counter) {
            report(Rule::UnknownCounter(self.counter));
        }
    }
}
