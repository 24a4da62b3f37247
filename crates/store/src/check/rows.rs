use std::collections::HashSet;

use carom_base::{
    Access, Addr, CellClass, Cpu, LogBin, Nanos, ProcessId, ReuseCell, ReuseEvent, ReuseOutcome, Sample,
    SampleOutcome, Scope, SharingClass, SharingEvent, StackId, ThreadId, Touch,
};

use super::{Findings, Rule, Run};
use crate::read::{Recording, Rows};
use crate::rows::{HeapObject, Row, Stack};

/// Checks every row of every kind, stacks first: the others refer to them.
pub(super) fn check(recording: &Recording, run: &Run<'_>, found: &mut Findings) {
    let mut rows = RowRules { run, stacks: HashSet::new() };
    each(recording.stacks(), run, found, |stack, broken| rows.stack(stack, broken));
    each(recording.objects(), run, found, |object, broken| rows.object(object, broken));
    each(recording.samples(), run, found, |sample, broken| rows.sample(sample, broken));
    each(recording.events(), run, found, |event, broken| rows.event(event, broken));
    each(recording.reuse(), run, found, |event, broken| rows.reuse(event, broken));
    each(recording.cells(), run, found, |cell, broken| rows.cell(cell, broken));
}

fn each<R: Row>(
    mut rows: Rows<R>,
    run: &Run<'_>,
    found: &mut Findings,
    mut rule: impl FnMut(&R, &mut dyn FnMut(Rule)),
) {
    let file = R::KIND.file_name();
    let mut number = 0;
    for row in rows.by_ref() {
        if found.is_full() {
            return;
        }
        match row {
            Ok(row) => {
                rule(&row, &mut |rule| found.add(file, Some(number), rule));
                number += 1;
            }
            Err(error) => found.add(file, None, Rule::Unreadable(error.to_string())),
        }
    }
    if run.finished && rows.truncated() {
        found.add(file, None, Rule::Truncated);
    }
}

struct RowRules<'a> {
    run: &'a Run<'a>,
    stacks: HashSet<(ProcessId, StackId)>,
}

type Broken<'a> = &'a mut dyn FnMut(Rule);

impl RowRules<'_> {
    fn stack(&mut self, stack: &Stack, broken: Broken<'_>) {
        self.process(stack.process, broken);
        if stack.id == StackId::NONE {
            broken(Rule::StackIsNone);
        }
        if stack.frames.is_empty() {
            broken(Rule::StackIsEmpty(stack.id));
        }
        if !self.stacks.insert((stack.process, stack.id)) {
            broken(Rule::StackTwice(stack.id));
        }
    }

    fn object(&self, object: &HeapObject, broken: Broken<'_>) {
        self.process(object.process, broken);
        if object.base.0.checked_add(object.size).is_none() {
            broken(Rule::AddressWraps);
        }
        self.time(object.seen, broken);
        self.stack_of(object.process, object.site, broken);
    }

    fn sample(&self, sample: &Sample, broken: Broken<'_>) {
        self.thread(sample.thread, sample.stack, broken);
        self.time(sample.time, broken);
        self.cpu(sample.cpu, broken);
        if let SampleOutcome::Access(access) = sample.outcome {
            check_access(access, broken);
        }
    }

    fn event(&self, event: &SharingEvent, broken: Broken<'_>) {
        let earlier = &event.earlier;
        for (thread, stack, time, cpu, access) in [
            (event.thread, event.stack, event.time, event.cpu, event.later),
            (earlier.thread, earlier.stack, earlier.time, earlier.cpu, earlier.access),
        ] {
            self.thread(thread, stack, broken);
            self.time(time, broken);
            self.cpu(cpu, broken);
            check_access(access, broken);
        }
        if !(event.weight.is_finite() && event.weight > 0.0) {
            broken(Rule::BadWeight(event.weight));
        }
        if event.thread == earlier.thread {
            broken(Rule::SameThread(event.thread));
        }
        if !earlier.access.kind.writes() {
            broken(Rule::EarlierDoesNotWrite);
        }
        if earlier.time > event.time {
            broken(Rule::EarlierIsLater);
        }
        check_sharing(event, broken);
    }

    fn reuse(&self, event: &ReuseEvent, broken: Broken<'_>) {
        self.touch(&event.earlier, broken);
        // A use that was replaced may have passed its weight on.
        let passed_on = event.outcome == ReuseOutcome::Replaced && event.weight == 0.0;
        if !(event.weight.is_finite() && event.weight > 0.0 || passed_on) {
            broken(Rule::BadWeight(event.weight));
        }
        let decided = matches!(event.outcome, ReuseOutcome::Reused | ReuseOutcome::Invalidated);
        if decided != event.later.is_some() {
            broken(Rule::OutcomeAndAccess(event.outcome));
        }
        let Some(later) = &event.later else { return };
        self.touch(later, broken);
        if event.earlier.time > later.time {
            broken(Rule::EarlierIsLater);
        }
        if !share_line(later.access, event.earlier.access) {
            broken(Rule::DifferentLines);
        }
        check_actors(event, later, broken);
    }

    fn touch(&self, touch: &Touch, broken: Broken<'_>) {
        self.thread(touch.thread, touch.stack, broken);
        self.time(touch.time, broken);
        self.cpu(touch.cpu, broken);
        check_access(touch.access, broken);
    }

    fn cell(&self, cell: &ReuseCell, broken: Broken<'_>) {
        self.thread(cell.thread, StackId::NONE, broken);
        if !cell.granularity.is_power_of_two() {
            broken(Rule::BadGranularity(cell.granularity));
        }
        let distant = matches!(cell.class, CellClass::Reuse(_));
        if usize::from(cell.bin.0) >= LogBin::COUNT || (!distant && cell.bin != LogBin(0)) {
            broken(Rule::BadBin(cell.bin));
        }
        if cell.from_other && cell.scope == Scope::Private {
            broken(Rule::OtherThread(cell.thread));
        }
        if cell.count == 0 {
            broken(Rule::EmptyCell);
        }
        if cell.pair == Some(ReuseCell::REST) && cell.at != Addr(0) {
            broken(Rule::AddressOfRest(cell.at));
        }
    }

    fn time(&self, time: Nanos, broken: Broken<'_>) {
        if !self.run.covers(time) {
            broken(Rule::OutsideRun(time));
        }
    }

    fn cpu(&self, cpu: Cpu, broken: Broken<'_>) {
        if !self.run.may_have_cpu(cpu) {
            broken(Rule::UnknownCpu(cpu));
        }
    }

    fn process(&self, process: ProcessId, broken: Broken<'_>) {
        if self.run.finished && !self.run.knows_process(process) {
            broken(Rule::UnknownProcess(process));
        }
    }

    /// The thread, and its stack, which is one of its process.
    fn thread(&self, id: ThreadId, stack: StackId, broken: Broken<'_>) {
        match self.run.thread(id) {
            Some(thread) => self.stack_of(thread.process, stack, broken),
            None if self.run.finished => broken(Rule::UnknownThread(id)),
            None => {}
        }
    }

    fn stack_of(&self, process: ProcessId, stack: StackId, broken: Broken<'_>) {
        if stack != StackId::NONE && !self.stacks.contains(&(process, stack)) {
            broken(Rule::UnknownStack(stack));
        }
    }
}

fn check_access(access: Access, broken: Broken<'_>) {
    if access.width == 0 {
        broken(Rule::ZeroWidth);
    }
    if access.addr.0.checked_add(u64::from(access.width)).is_none() {
        broken(Rule::AddressWraps);
    }
}

/// The accesses meet in a line, and in bytes exactly where the sharing is true.
fn check_sharing(event: &SharingEvent, broken: Broken<'_>) {
    let (later, earlier) = (event.later, event.earlier.access);
    if !share_line(later, earlier) {
        broken(Rule::DifferentLines);
    } else if event.exact && (event.class == SharingClass::True) != later.overlaps(earlier) {
        broken(Rule::WrongClass);
    }
}

/// In its own cache a thread reuses what it used itself; only another's write invalidates.
fn check_actors(event: &ReuseEvent, later: &Touch, broken: Broken<'_>) {
    let same = event.earlier.thread == later.thread;
    if event.outcome == ReuseOutcome::Reused {
        if event.scope == Scope::Private && !same {
            broken(Rule::OtherThread(later.thread));
        }
        return;
    }
    if same {
        broken(Rule::SameThread(later.thread));
    }
    if !later.access.kind.writes() {
        broken(Rule::InvalidatedByLoad);
    }
}

fn share_line(one: Access, other: Access) -> bool {
    let [a, b] = [one, other].map(|access| {
        let last = access.addr.0.saturating_add(u64::from(access.width).saturating_sub(1));
        (access.addr.line(), Addr(last).line())
    });
    a.0 <= b.1 && b.0 <= a.1
}
