use std::collections::HashSet;

use carom_base::{Cpu, Nanos, ProcessId, StackId, ThreadId};

use super::{Rule, Run};

/// Where a row reports the rules that it breaks.
pub type Report<'a> = &'a mut dyn FnMut(Rule);

/// What rows are held against: the manifest, and the call paths that were read before them.
pub struct RowContext<'a> {
    pub run: &'a Run<'a>,
    stacks: HashSet<(ProcessId, StackId)>,
}

impl<'a> RowContext<'a> {
    pub fn new(run: &'a Run<'a>) -> Self {
        Self { run, stacks: HashSet::new() }
    }

    /// The time lies within the run.
    pub fn time(&self, time: Nanos, report: Report<'_>) {
        if !self.run.covers(time) {
            report(Rule::OutsideRun(time));
        }
    }

    /// The machine has the processor.
    pub fn cpu(&self, cpu: Cpu, report: Report<'_>) {
        if !self.run.may_have_cpu(cpu) {
            report(Rule::UnknownCpu(cpu));
        }
    }

    /// The manifest has the process.
    pub fn process(&self, process: ProcessId, report: Report<'_>) {
        if self.run.finished && !self.run.knows_process(process) {
            report(Rule::UnknownProcess(process));
        }
    }

    /// The manifest has the thread, and its process the call path.
    pub fn thread(&self, id: ThreadId, stack: StackId, report: Report<'_>) {
        match self.run.thread(id) {
            Some(thread) => self.stack_of(thread.process, stack, report),
            None if self.run.finished => report(Rule::UnknownThread(id)),
            None => {}
        }
    }

    /// The process has the call path.
    pub fn stack_of(&self, process: ProcessId, stack: StackId, report: Report<'_>) {
        if stack != StackId::NONE && !self.stacks.contains(&(process, stack)) {
            report(Rule::UnknownStack(stack));
        }
    }

    /// A call path that later rows may name. False where the process had it already.
    pub fn add_stack(&mut self, process: ProcessId, stack: StackId) -> bool {
        self.stacks.insert((process, stack))
    }
}
