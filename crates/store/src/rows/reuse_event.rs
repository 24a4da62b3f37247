use carom_base::{Cpu, Locality, Nanos, ReuseEvent, ReuseOutcome, Scope, StackId, ThreadId, Touch};

use super::{Accesses, Row, check_access, collect, encode_accesses, share_line};
use crate::chunk::{ColumnReader, ColumnWriter, Integers, Kind, Words};
use crate::error::Damage;
use crate::rules::{Report, RowContext, Rule};

impl Row for ReuseEvent {
    const KIND: Kind = Kind::new(5, "reuse.chunks");
    const HAS_STACKS: bool = true;

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

    fn check(&self, context: &mut RowContext<'_>, report: Report<'_>) {
        check_touch(&self.earlier, context, report);
        // A use that was replaced may have passed its weight on.
        let passed_on = self.outcome == ReuseOutcome::Replaced && self.weight == 0.0;
        if !(self.weight.is_finite() && self.weight > 0.0 || passed_on) {
            report(Rule::BadWeight(self.weight));
        }
        let decided = matches!(self.outcome, ReuseOutcome::Reused | ReuseOutcome::Invalidated);
        if decided != self.later.is_some() {
            report(Rule::OutcomeAndAccess(self.outcome));
        }
        let Some(later) = &self.later else { return };
        check_touch(later, context, report);
        if self.earlier.time > later.time {
            report(Rule::EarlierIsLater);
        }
        if !share_line(later.access, self.earlier.access) {
            report(Rule::DifferentLines);
        }
        check_actors(self, later, report);
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

fn check_touch(touch: &Touch, context: &RowContext<'_>, report: Report<'_>) {
    context.thread(touch.thread, touch.stack, report);
    context.time(touch.time, report);
    context.cpu(touch.cpu, report);
    check_access(touch.access, report);
}

/// In its own cache a thread reuses what it used itself; only another's write invalidates.
fn check_actors(event: &ReuseEvent, later: &Touch, report: Report<'_>) {
    let same = event.earlier.thread == later.thread;
    if event.outcome == ReuseOutcome::Reused {
        if event.scope == Scope::Private && !same {
            report(Rule::OtherThread(later.thread));
        }
        return;
    }
    if same {
        report(Rule::SameThread(later.thread));
    }
    if !later.access.kind.writes() {
        report(Rule::InvalidatedByLoad);
    }
}
