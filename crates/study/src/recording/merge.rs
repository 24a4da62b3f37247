use std::collections::BTreeMap;

use carom_base::{Addr, Cpu, Ip, Line, ProcessId, StackId, ThreadId};

use super::{Input, Losses, NamedBytes, Names, NoNames, Offsets, ThreadEntry};
use crate::symbols::{ArrayObject, DataObject, Frame, Loop, Preceding};

/// How several recordings become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Combine {
    /// The ranks of one program.
    Ranks,
    /// Runs of the same program: rows of threads of equal numbers are added up, as if these did the same work. A report on
    /// them has the threads of the first.
    Runs,
}

/// Several recordings as one: the ranks of an MPI program, or runs one after the other.
///
/// Processes and threads are numbered through: those of each recording follow those of the recordings before it,
/// so they never mix: addresses differ from run to run, and each has to be looked up where it comes from. Processors
/// are numbered through from machine to machine.
pub struct Merged<'a, I: ?Sized> {
    pub(crate) inputs: Vec<(&'a I, Offsets)>,
    threads: Vec<ThreadEntry>,
    combine: Combine,
}

impl<'a, I: Input + ?Sized> Merged<'a, I> {
    /// Puts recordings together in this order.
    pub fn new(inputs: impl IntoIterator<Item = &'a I>, combine: Combine) -> Self {
        let mut next = Offsets::default();
        let mut machines: BTreeMap<&str, u32> = BTreeMap::new();
        let mut merged = Self { inputs: Vec::new(), threads: Vec::new(), combine };
        for input in inputs {
            let known = input.machine().and_then(|name| machines.get(name).copied());
            let this = Offsets { cpu: known.unwrap_or(next.cpu), ..next };
            if let Some(name) = input.machine() {
                machines.insert(name, this.cpu);
            }
            merged.threads.extend(input.threads().iter().map(|t| this.entry(*t)));
            merged.inputs.push((input, this));
            next.process = next.process.saturating_add(input.processes());
            next.thread = next.thread.saturating_add(input.threads().len() as u32);
            // Recordings of one machine may know different numbers of its processors.
            next.cpu = next.cpu.max(this.cpu.saturating_add(input.cpus()));
        }
        merged
    }

    /// The offsets of each recording. A list of the processes and threads of all recordings uses the same ones.
    pub fn offsets(&self) -> Vec<Offsets> {
        self.inputs.iter().map(|(_, offsets)| *offsets).collect()
    }

    /// Asks the recording that a thread belongs to, by the thread's number there.
    pub(crate) fn of_thread<R>(&self, thread: ThreadId, question: impl Fn(&I, ThreadId) -> R) -> Option<R> {
        let after = self.inputs.partition_point(|(_, offsets)| offsets.thread <= thread.0);
        let (input, offsets) = self.inputs.get(after.checked_sub(1)?)?;
        Some(question(input, ThreadId(thread.0 - offsets.thread)))
    }

    /// Asks the recording that a processor belongs to, by the processor's number there. Each machine's core numbers
    /// move with its processor numbers, so they keep apart as well.
    pub(crate) fn core(&self, cpu: Cpu, core_of: impl Fn(&I, Cpu) -> Option<u32>) -> Option<u32> {
        self.inputs.iter().find_map(|(input, offsets)| {
            let own = cpu.0.checked_sub(offsets.cpu).filter(|own| *own < input.cpus())?;
            Some(core_of(input, Cpu(own))?.saturating_add(offsets.cpu))
        })
    }

    /// The thread of the first run that this thread of any run is added to.
    pub(crate) fn in_first_run(&self, thread: ThreadId) -> ThreadId {
        match self.combine {
            Combine::Ranks => thread,
            Combine::Runs => self.of_thread(thread, |_, id| id).unwrap_or(thread),
        }
    }
}

impl<I: Input + ?Sized> Input for Merged<'_, I> {
    fn threads(&self) -> &[ThreadEntry] {
        &self.threads
    }

    fn processes(&self) -> u32 {
        self.inputs.iter().fold(0, |sum, (input, _)| sum.saturating_add(input.processes()))
    }

    fn cpus(&self) -> u32 {
        self.inputs.iter().map(|(input, o)| o.cpu.saturating_add(input.cpus())).max().unwrap_or(0)
    }

    fn machine(&self) -> Option<&str> {
        None
    }

    /// Ranks run at the same time, so the longest counts; runs follow each other.
    fn seconds(&self) -> f64 {
        let seconds = self.inputs.iter().map(|(input, _)| input.seconds());
        match self.combine {
            Combine::Ranks => seconds.fold(0.0, f64::max),
            Combine::Runs => seconds.sum(),
        }
    }

    fn losses(&self) -> Losses {
        let mut losses = Losses::default();
        for (input, _) in &self.inputs {
            losses += input.losses();
        }
        losses
    }
}

/// The names of several recordings; belongs to a [`Merged`] of the same recordings in the same order.
pub struct MergedNames<'a> {
    /// With the first process of each.
    parts: Vec<(u32, &'a mut dyn Names)>,
}

impl<'a> MergedNames<'a> {
    /// Puts names together in this order.
    pub fn new<I: Input + ?Sized>(
        merged: &Merged<'_, I>,
        names: impl IntoIterator<Item = &'a mut dyn Names>,
    ) -> Self {
        let first = merged.offsets().into_iter().map(|offsets| offsets.process);
        Self { parts: first.zip(names).collect() }
    }

    /// Asks the recording that a process belongs to, by the process's number there.
    fn ask<R>(&mut self, process: ProcessId, question: impl Fn(&mut dyn Names, ProcessId) -> R) -> R {
        match self.parts.iter_mut().rev().find(|(first, _)| *first <= process.0) {
            Some((first, names)) => question(*names, ProcessId(process.0 - *first)),
            None => question(&mut NoNames, process),
        }
    }
}

impl Names for MergedNames<'_> {
    fn call_path(&mut self, process: ProcessId, ip: Ip, stack: StackId) -> Vec<Frame> {
        self.ask(process, |names, process| names.call_path(process, ip, stack))
    }

    fn object(&mut self, process: ProcessId, at: Addr) -> DataObject {
        self.ask(process, |names, process| names.object(process, at))
    }

    fn field(&mut self, process: ProcessId, at: Addr, width: u32) -> Option<String> {
        self.ask(process, |names, process| names.field(process, at, width))
    }

    fn array(&mut self, process: ProcessId, at: Addr) -> Option<ArrayObject> {
        self.ask(process, |names, process| names.array(process, at))
    }

    fn loop_around(&mut self, process: ProcessId, ip: Ip) -> Option<Loop> {
        self.ask(process, |names, process| names.loop_around(process, ip))
    }

    fn preceding(&mut self, process: ProcessId, ip: Ip) -> Vec<Preceding> {
        self.ask(process, |names, process| names.preceding(process, ip))
    }

    fn local(&mut self, process: ProcessId, shared: Addr) -> Option<Addr> {
        self.ask(process, |names, process| names.local(process, shared))
    }

    fn layout(&mut self, process: ProcessId, line: Line) -> Vec<NamedBytes> {
        self.ask(process, |names, process| names.layout(process, line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A recording without rows.
    struct Synthetic {
        threads: Vec<ThreadEntry>,
        machine: Option<&'static str>,
    }

    impl Synthetic {
        fn new(threads: u32) -> Self {
            let threads = (0..threads).map(|id| ThreadEntry::new(ThreadId(id), ProcessId(0))).collect();
            Self { threads, machine: None }
        }
    }

    impl Input for Synthetic {
        fn threads(&self) -> &[ThreadEntry] {
            &self.threads
        }
        fn processes(&self) -> u32 {
            1
        }
        fn cpus(&self) -> u32 {
            8
        }
        fn machine(&self) -> Option<&str> {
            self.machine
        }
        fn seconds(&self) -> f64 {
            2.0
        }
        fn losses(&self) -> Losses {
            Losses { unprofiled_threads: 1, ..Losses::default() }
        }
    }

    fn merged<'a>(inputs: impl IntoIterator<Item = &'a Synthetic>) -> Merged<'a, Synthetic> {
        Merged::new(inputs, Combine::Ranks)
    }

    #[test]
    fn threads_and_processes_are_numbered_through() {
        let two = Synthetic::new(2);
        let three = Synthetic::new(3);
        let m = merged([&two, &three]);
        let threads: Vec<_> = m.threads().iter().map(|t| (t.id.0, t.process.0)).collect();
        assert_eq!(threads, [(0, 0), (1, 0), (2, 1), (3, 1), (4, 1)]);
        assert_eq!(m.processes(), 2);
    }

    #[test]
    fn ranks_run_at_one_time_and_runs_one_after_the_other() {
        let (a, b) = (Synthetic::new(2), Synthetic::new(1));
        let runs = Merged::new([&a, &b], Combine::Runs);
        assert_eq!((merged([&a, &b]).seconds(), runs.seconds()), (2.0, 4.0));
        assert_eq!((runs.in_first_run(ThreadId(2)), runs.losses().unprofiled_threads), (ThreadId(0), 2));
        assert_eq!(merged([&a, &b]).in_first_run(ThreadId(2)), ThreadId(2));
    }

    #[test]
    fn recordings_of_one_machine_share_its_processors() {
        let on = |machine| Synthetic { machine: Some(machine), ..Synthetic::new(1) };
        let (a, b, c) = (on("a"), on("b"), on("a"));
        let cpus: Vec<u32> = merged([&a, &b, &c]).offsets().iter().map(|o| o.cpu).collect();
        assert_eq!(cpus, [0, 8, 0]);
    }

    #[test]
    fn names_come_from_the_recording_of_the_process() {
        struct Says(&'static str);
        impl Names for Says {
            fn call_path(&mut self, _: ProcessId, _: Ip, _: StackId) -> Vec<Frame> {
                Vec::new()
            }
            fn object(&mut self, process: ProcessId, at: Addr) -> DataObject {
                NoNames.object(process, at)
            }
            fn field(&mut self, process: ProcessId, _: Addr, _: u32) -> Option<String> {
                Some(format!("{} {}", self.0, process.0))
            }
            fn layout(&mut self, _: ProcessId, _: Line) -> Vec<NamedBytes> {
                Vec::new()
            }
        }
        let (a, b) = (Synthetic::new(1), Synthetic::new(1));
        let (mut x, mut y) = (Says("x"), Says("y"));
        let parts: [&mut dyn Names; 2] = [&mut x, &mut y];
        let mut names = MergedNames::new(&merged([&a, &b]), parts);
        assert_eq!(names.field(ProcessId(0), Addr(0), 8).as_deref(), Some("x 0"));
        assert_eq!(names.field(ProcessId(1), Addr(0), 8).as_deref(), Some("y 0"));
    }
}
