use carom_base::{Addr, CellClass, DistanceKind, Ip, LogBin, ReuseCell, Scope, StackId, ThreadId};

use super::{Row, collect};
use crate::chunk::{ColumnReader, ColumnWriter, Kind};
use crate::error::Damage;
use crate::rules::{Report, RowContext, Rule};

impl Row for ReuseCell {
    const KIND: Kind = Kind::new(6, "cells.chunks");
    const HAS_STACKS: bool = false;

    fn encode(rows: &[Self], columns: &mut ColumnWriter) {
        let pairs = || rows.iter().filter_map(|row| Some((row.pair?, row.at)));
        columns.integers(rows.iter().map(|row| u64::from(row.thread.0)));
        columns.bytes(rows.iter().map(|row| row.scope as u8));
        columns.bytes(rows.iter().map(|row| row.distance as u8));
        columns.bytes(rows.iter().map(|row| row.class.code()));
        columns.integers(rows.iter().map(|row| u64::from(row.granularity)));
        columns.integers(rows.iter().map(|row| u64::from(row.bin.0)));
        columns.integers(rows.iter().map(|row| row.count));
        columns.bytes(rows.iter().map(|row| u8::from(row.from_other)));
        columns.bytes(rows.iter().map(|row| u8::from(row.pair.is_some())));
        columns.integers(pairs().map(|((earlier, _), _)| earlier.0));
        columns.integers(pairs().map(|((_, later), _)| later.0));
        columns.integers(pairs().map(|(_, at)| at.0));
    }

    fn decode(rows: u32, columns: &mut ColumnReader<'_>) -> Result<Vec<Self>, Damage> {
        let mut thread = columns.integers()?;
        let mut scope = columns.bytes()?;
        let mut distance = columns.bytes()?;
        let mut class = columns.bytes()?;
        let mut granularity = columns.integers()?;
        let mut bin = columns.integers()?;
        let mut count = columns.integers()?;
        let mut from_other = columns.bytes()?;
        let mut has_pair = columns.bytes()?;
        let mut earlier = columns.integers()?;
        let mut later = columns.integers()?;
        let mut at = columns.integers()?;
        collect(rows, |_| {
            let is_pair = has_pair.read_bool()?;
            Ok(Self {
                thread: ThreadId(thread.read_u32()?),
                scope: scope.read_as(Scope::from_u8)?,
                distance: distance.read_as(DistanceKind::from_u8)?,
                class: class.read_as(CellClass::from_code)?,
                granularity: granularity.read_u32()?,
                bin: LogBin(u16::try_from(bin.read()?).map_err(|_| Damage::Value)?),
                count: count.read()?,
                from_other: from_other.read_bool()?,
                pair: if is_pair { Some((Ip(earlier.read()?), Ip(later.read()?))) } else { None },
                at: if is_pair { Addr(at.read()?) } else { Addr(0) },
            })
        })
    }

    fn check(&self, context: &mut RowContext<'_>, report: Report<'_>) {
        context.thread(self.thread, StackId::NONE, report);
        if !self.granularity.is_power_of_two() {
            report(Rule::BadGranularity(self.granularity));
        }
        let distant = matches!(self.class, CellClass::Reuse(_));
        if usize::from(self.bin.0) >= LogBin::COUNT || (!distant && self.bin != LogBin(0)) {
            report(Rule::BadBin(self.bin));
        }
        if self.from_other && self.scope == Scope::Private {
            report(Rule::OtherThread(self.thread));
        }
        if self.count == 0 {
            report(Rule::EmptyCell);
        }
        if self.pair == Some(Self::REST) && self.at != Addr(0) {
            report(Rule::AddressOfRest(self.at));
        }
    }
}
