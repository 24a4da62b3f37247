use carom_base::{Cpu, EarlierWrite, Nanos, Population, SharingClass, SharingEvent, StackId, ThreadId, Via};

use super::{Accesses, Row, check_access, collect, encode_accesses, share_line};
use crate::chunk::{ColumnReader, ColumnWriter, Kind};
use crate::error::Damage;
use crate::rules::{Report, RowContext, Rule};

impl Row for SharingEvent {
    const KIND: Kind = Kind::new(2, "events.chunks");
    const HAS_STACKS: bool = true;

    fn encode(rows: &[Self], columns: &mut ColumnWriter) {
        columns.integers(rows.iter().map(|row| u64::from(row.thread.0)));
        columns.integers(rows.iter().map(|row| row.time.0));
        columns.integers(rows.iter().map(|row| u64::from(row.cpu.0)));
        columns.bytes(rows.iter().map(|row| row.population as u8));
        columns.bytes(rows.iter().map(|row| row.via as u8));
        columns.bytes(rows.iter().map(|row| row.class as u8));
        columns.floats(rows.iter().map(|row| row.weight));
        encode_accesses(columns, rows.iter().map(|row| &row.later));
        columns.bytes(rows.iter().map(|row| u8::from(row.exact)));
        columns.words(rows.iter().map(|row| row.stack.0));

        columns.integers(rows.iter().map(|row| u64::from(row.earlier.thread.0)));
        columns.integers(rows.iter().map(|row| row.earlier.time.0));
        columns.integers(rows.iter().map(|row| u64::from(row.earlier.cpu.0)));
        encode_accesses(columns, rows.iter().map(|row| &row.earlier.access));
        columns.words(rows.iter().map(|row| row.earlier.stack.0));
    }

    fn decode(rows: u32, columns: &mut ColumnReader<'_>) -> Result<Vec<Self>, Damage> {
        let mut thread = columns.integers()?;
        let mut time = columns.integers()?;
        let mut cpu = columns.integers()?;
        let mut population = columns.bytes()?;
        let mut via = columns.bytes()?;
        let mut class = columns.bytes()?;
        let mut weight = columns.floats()?;
        let mut later = Accesses::new(columns)?;
        let mut exact = columns.bytes()?;
        let mut stack = columns.words()?;

        let mut earlier_thread = columns.integers()?;
        let mut earlier_time = columns.integers()?;
        let mut earlier_cpu = columns.integers()?;
        let mut earlier_access = Accesses::new(columns)?;
        let mut earlier_stack = columns.words()?;
        collect(rows, |_| {
            Ok(Self {
                thread: ThreadId(thread.read_u32()?),
                time: Nanos(time.read()?),
                cpu: Cpu(cpu.read_u32()?),
                population: population.read_as(Population::from_u8)?,
                via: via.read_as(Via::from_u8)?,
                class: class.read_as(SharingClass::from_u8)?,
                weight: weight.read()?,
                later: later.read()?,
                exact: exact.read_bool()?,
                stack: StackId(stack.read()?),
                earlier: EarlierWrite {
                    thread: ThreadId(earlier_thread.read_u32()?),
                    time: Nanos(earlier_time.read()?),
                    cpu: Cpu(earlier_cpu.read_u32()?),
                    access: earlier_access.read()?,
                    stack: StackId(earlier_stack.read()?),
                },
            })
        })
    }

    fn check(&self, context: &mut RowContext<'_>, report: Report<'_>) {
        let earlier = &self.earlier;
        for (thread, stack, time, cpu, access) in [
            (self.thread, self.stack, self.time, self.cpu, self.later),
            (earlier.thread, earlier.stack, earlier.time, earlier.cpu, earlier.access),
        ] {
            context.thread(thread, stack, report);
            context.time(time, report);
            context.cpu(cpu, report);
            check_access(access, report);
        }
        if !(self.weight.is_finite() && self.weight > 0.0) {
            report(Rule::BadWeight(self.weight));
        }
        if self.thread == earlier.thread {
            report(Rule::SameThread(self.thread));
        }
        if !earlier.access.kind.writes() {
            report(Rule::EarlierDoesNotWrite);
        }
        if earlier.time > self.time {
            report(Rule::EarlierIsLater);
        }
        check_sharing(self, report);
    }
}

/// The accesses meet in a line, and in bytes exactly where the sharing is true.
fn check_sharing(event: &SharingEvent, report: Report<'_>) {
    let (later, earlier) = (event.later, event.earlier.access);
    if !share_line(later, earlier) {
        report(Rule::DifferentLines);
    } else if event.exact && (event.class == SharingClass::True) != later.overlaps(earlier) {
        report(Rule::WrongClass);
    }
}
