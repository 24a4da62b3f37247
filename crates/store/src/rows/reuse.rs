use carom_base::{
    Addr, CellClass, Cpu, DistanceKind, Ip, Locality, LogBin, Nanos, ReuseCell, ReuseEvent, ReuseOutcome,
    Scope, StackId, ThreadId, Touch,
};

use super::{Accesses, Row, collect, encode_accesses};
use crate::chunk::{ColumnReader, ColumnWriter, Integers, Kind, Words};
use crate::error::Damage;

impl Row for ReuseEvent {
    const KIND: Kind = Kind::ReuseEvent;

    fn encode(rows: &[Self], columns: &mut ColumnWriter) {
        columns.bytes(rows.iter().map(|row| row.scope as u8));
        columns.bytes(rows.iter().map(|row| row.locality as u8));
        columns.bytes(rows.iter().map(|row| row.outcome as u8));
        columns.integers(rows.iter().map(|row| row.distance));
        columns.floats(rows.iter().map(|row| row.weight));
        encode_touches(columns, rows.iter().map(|row| &row.earlier));
        columns.bytes(rows.iter().map(|row| u8::from(row.later.is_some())));
        encode_touches(columns, rows.iter().filter_map(|row| row.later.as_ref()));
    }

    fn decode(rows: u32, columns: &mut ColumnReader<'_>) -> Result<Vec<Self>, Damage> {
        let mut scope = columns.bytes()?;
        let mut locality = columns.bytes()?;
        let mut outcome = columns.bytes()?;
        let mut distance = columns.integers()?;
        let mut weight = columns.floats()?;
        let mut earlier = Touches::new(columns)?;
        let mut has_later = columns.bytes()?;
        let mut later = Touches::new(columns)?;
        collect(rows, |_| {
            Ok(Self {
                scope: scope.read_as(Scope::from_u8)?,
                locality: locality.read_as(Locality::from_u8)?,
                outcome: outcome.read_as(ReuseOutcome::from_u8)?,
                distance: distance.read()?,
                weight: weight.read()?,
                earlier: earlier.read()?,
                later: if has_later.read_bool()? { Some(later.read()?) } else { None },
            })
        })
    }
}

/// Columns `thread`, `time`, `cpu`, those of the access, and `stack`.
fn encode_touches<'a>(columns: &mut ColumnWriter, touches: impl Iterator<Item = &'a Touch> + Clone) {
    columns.integers(touches.clone().map(|touch| u64::from(touch.thread.0)));
    columns.integers(touches.clone().map(|touch| touch.time.0));
    columns.integers(touches.clone().map(|touch| u64::from(touch.cpu.0)));
    encode_accesses(columns, touches.clone().map(|touch| &touch.access));
    columns.words(touches.map(|touch| touch.stack.0));
}

/// Cursors over the columns of [`encode_touches`].
struct Touches<'a> {
    thread: Integers<'a>,
    time: Integers<'a>,
    cpu: Integers<'a>,
    access: Accesses<'a>,
    stack: Words<'a>,
}

impl<'a> Touches<'a> {
    fn new(columns: &mut ColumnReader<'a>) -> Result<Self, Damage> {
        Ok(Self {
            thread: columns.integers()?,
            time: columns.integers()?,
            cpu: columns.integers()?,
            access: Accesses::new(columns)?,
            stack: columns.words()?,
        })
    }

    fn read(&mut self) -> Result<Touch, Damage> {
        Ok(Touch {
            thread: ThreadId(self.thread.read_u32()?),
            time: Nanos(self.time.read()?),
            cpu: Cpu(self.cpu.read_u32()?),
            access: self.access.read()?,
            stack: StackId(self.stack.read()?),
        })
    }
}

impl Row for ReuseCell {
    const KIND: Kind = Kind::ReuseCell;

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
}
