use carom_base::{
    Access, AccessKind, Addr, Cpu, Ip, Nanos, Population, Sample, SampleOutcome, Skip, StackId, ThreadId,
};

use super::{Row, check_access, collect};
use crate::chunk::{ColumnReader, ColumnWriter, Kind};
use crate::error::Damage;
use crate::rules::{Report, RowContext};

/// Set in the `outcome` column where the sample has no address; the low bits are then the [`Skip`].
const SKIPPED: u8 = 0x80;

impl Row for Sample {
    const KIND: Kind = Kind::new(1, "samples.chunks");
    const HAS_STACKS: bool = true;

    fn encode(rows: &[Self], columns: &mut ColumnWriter) {
        let accesses = || {
            rows.iter().filter_map(|row| match row.outcome {
                SampleOutcome::Access(access) => Some(access),
                SampleOutcome::Skipped(..) => None,
            })
        };
        columns.integers(rows.iter().map(|row| u64::from(row.thread.0)));
        columns.integers(rows.iter().map(|row| row.time.0));
        columns.integers(rows.iter().map(|row| u64::from(row.cpu.0)));
        columns.bytes(rows.iter().map(|row| row.population as u8));
        columns.bytes(rows.iter().map(|row| row.part));
        columns.bytes(rows.iter().map(|row| match row.outcome {
            SampleOutcome::Access(access) => access.kind as u8,
            SampleOutcome::Skipped(_, skip) => SKIPPED | skip as u8,
        }));
        columns.integers(rows.iter().map(|row| match row.outcome {
            SampleOutcome::Access(Access { ip, .. }) | SampleOutcome::Skipped(ip, _) => ip.0,
        }));
        columns.integers(accesses().map(|access| access.addr.0));
        columns.integers(accesses().map(|access| u64::from(access.width)));
        columns.words(rows.iter().map(|row| row.stack.0));
        columns.bytes(rows.iter().map(|row| row.doublings));
    }

    fn decode(rows: u32, columns: &mut ColumnReader<'_>) -> Result<Vec<Self>, Damage> {
        let mut thread = columns.integers()?;
        let mut time = columns.integers()?;
        let mut cpu = columns.integers()?;
        let mut population = columns.bytes()?;
        let mut part = columns.bytes()?;
        let mut outcome = columns.bytes()?;
        let mut ip = columns.integers()?;
        let mut addr = columns.integers()?;
        let mut width = columns.integers()?;
        let mut stack = columns.words()?;
        let mut doublings = columns.later_bytes()?;
        collect(rows, |_| {
            let code = outcome.read()?;
            let ip = Ip(ip.read()?);
            Ok(Self {
                thread: ThreadId(thread.read_u32()?),
                time: Nanos(time.read()?),
                cpu: Cpu(cpu.read_u32()?),
                population: population.read_as(Population::from_u8)?,
                part: part.read()?,
                outcome: if code & SKIPPED == 0 {
                    let kind = AccessKind::from_u8(code).ok_or(Damage::Value)?;
                    SampleOutcome::Access(Access {
                        ip,
                        addr: Addr(addr.read()?),
                        width: width.read_u32()?,
                        kind,
                    })
                } else {
                    SampleOutcome::Skipped(ip, Skip::from_u8(code & !SKIPPED).ok_or(Damage::Value)?)
                },
                stack: StackId(stack.read()?),
                doublings: match &mut doublings {
                    Some(column) => column
                        .read_as(|doublings| (doublings <= Self::MOST_DOUBLINGS).then_some(doublings))?,
                    None => 0,
                },
            })
        })
    }

    fn check(&self, context: &mut RowContext<'_>, report: Report<'_>) {
        context.thread(self.thread, self.stack, report);
        context.time(self.time, report);
        context.cpu(self.cpu, report);
        if let SampleOutcome::Access(access) = self.outcome {
            check_access(access, report);
        }
    }
}
