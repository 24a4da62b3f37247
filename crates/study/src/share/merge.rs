use std::collections::BTreeMap;

use carom_base::{Addr, Cpu, Ip, Line, ProcessId, Sample, SharingEvent, StackId, ThreadId};

use super::{Losses, NamedBytes, Names, NoNames, Periods, ShareInput, ThreadEntry};
use crate::symbols::{DataObject, Frame};

/// What is added to the numbers of one of several recordings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offsets {
    /// To its processes.
    pub process: u32,
    /// To its threads.
    pub thread: u32,
    /// To its processors and its cores.
    pub cpu: u32,
}

/// Several recordings as one: the ranks of an MPI program, or runs one after the other.
///
/// Processes and threads are numbered through: those of each recording follow those of the recordings before it,
/// so they never mix. Processors are numbered through from machine to machine.
pub struct Merged<'a> {
    inputs: Vec<(&'a dyn ShareInput, Offsets)>,
    threads: Vec<ThreadEntry>,
}

impl<'a> Merged<'a> {
    /// Puts recordings together in this order.
    pub fn new(inputs: impl IntoIterator<Item = &'a dyn ShareInput>) -> Self {
        let mut next = Offsets::default();
        let mut machines: BTreeMap<&str, u32> = BTreeMap::new();
        let mut merged = Self { inputs: Vec::new(), threads: Vec::new() };
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

    /// What was added to the numbers of each recording. Whoever lists the processes and threads of all of them
    /// adds the same.
    pub fn offsets(&self) -> Vec<Offsets> {
        self.inputs.iter().map(|(_, offsets)| *offsets).collect()
    }
}

impl ShareInput for Merged<'_> {
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

    /// Each machine's core numbers move with its processor numbers, so they keep apart as well.
    fn core_of(&self, cpu: Cpu) -> Option<u32> {
        self.inputs.iter().find_map(|(input, offsets)| {
            let own = cpu.0.checked_sub(offsets.cpu).filter(|own| *own < input.cpus())?;
            Some(input.core_of(Cpu(own))?.saturating_add(offsets.cpu))
        })
    }

    /// Ranks run at the same time, so the longest counts.
    fn seconds(&self) -> f64 {
        self.inputs.iter().map(|(input, _)| input.seconds()).fold(0.0, f64::max)
    }

    fn periods(&self, thread: ThreadId) -> Option<Periods> {
        let after = self.inputs.partition_point(|(_, offsets)| offsets.thread <= thread.0);
        let (input, offsets) = self.inputs.get(after.checked_sub(1)?)?;
        input.periods(ThreadId(thread.0 - offsets.thread))
    }

    /// That of the first: ranks run on equal machines.
    fn transfer_ns(&self) -> Option<f64> {
        self.inputs.iter().find_map(|(input, _)| input.transfer_ns())
    }

    fn losses(&self) -> Losses {
        self.inputs.iter().map(|(input, _)| input.losses()).fold(Losses::default(), Losses::plus)
    }

    fn events(&self) -> Box<dyn Iterator<Item = SharingEvent> + '_> {
        Box::new(self.inputs.iter().flat_map(|(input, offsets)| input.events().map(|e| offsets.event(e))))
    }

    fn samples(&self) -> Box<dyn Iterator<Item = Sample> + '_> {
        Box::new(self.inputs.iter().flat_map(|(input, offsets)| input.samples().map(|s| offsets.sample(s))))
    }
}

impl Offsets {
    fn thread(self, id: ThreadId) -> ThreadId {
        ThreadId(id.0.saturating_add(self.thread))
    }

    fn cpu(self, cpu: Cpu) -> Cpu {
        Cpu(cpu.0.saturating_add(self.cpu))
    }

    fn entry(self, entry: ThreadEntry) -> ThreadEntry {
        let moved = |process: ProcessId| ProcessId(process.0.saturating_add(self.process));
        let ThreadEntry { id, process, recording } = entry;
        ThreadEntry { id: self.thread(id), process: moved(process), recording: moved(recording) }
    }

    fn sample(self, sample: Sample) -> Sample {
        Sample { thread: self.thread(sample.thread), cpu: self.cpu(sample.cpu), ..sample }
    }

    fn event(self, mut event: SharingEvent) -> SharingEvent {
        event.thread = self.thread(event.thread);
        event.cpu = self.cpu(event.cpu);
        event.earlier.thread = self.thread(event.earlier.thread);
        event.earlier.cpu = self.cpu(event.earlier.cpu);
        event
    }
}

/// The names of several recordings; belongs to a [`Merged`] of the same recordings in the same order.
pub struct MergedNames<'a> {
    /// With the first process of each.
    parts: Vec<(u32, &'a mut dyn Names)>,
}

impl<'a> MergedNames<'a> {
    /// Puts names together in this order.
    pub fn new(merged: &Merged<'_>, names: impl IntoIterator<Item = &'a mut dyn Names>) -> Self {
        let first = merged.inputs.iter().map(|(_, offsets)| offsets.process);
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

    fn local(&mut self, process: ProcessId, shared: Addr) -> Option<Addr> {
        self.ask(process, |names, process| names.local(process, shared))
    }

    fn layout(&mut self, process: ProcessId, line: Line) -> Vec<NamedBytes> {
        self.ask(process, |names, process| names.layout(process, line))
    }
}

#[cfg(test)]
mod tests {
    use carom_base::AccessKind;

    use super::*;
    use crate::share::testing::{Event, Synthetic, TestSample};

    fn merged<'a>(inputs: impl IntoIterator<Item = &'a Synthetic>) -> Merged<'a> {
        Merged::new(inputs.into_iter().map(|i| i as &dyn ShareInput))
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
    fn rows_get_the_numbers_of_their_recording() {
        let one = Synthetic::new(2);
        let other = Synthetic::new(2).events([Event::new(0, 1).cpus(2, 3)]).samples([TestSample::new(
            1,
            AccessKind::Load,
            0,
            8,
        )]);
        let m = merged([&one, &other]);
        let event = m.events().next().unwrap();
        assert_eq!((event.earlier.thread, event.thread), (ThreadId(2), ThreadId(3)));
        // Machines without names are different ones, of 8 processors each.
        assert_eq!((event.earlier.cpu, event.cpu), (Cpu(10), Cpu(11)));
        assert_eq!(m.core_of(event.cpu), m.core_of(event.earlier.cpu));
        assert_ne!(m.core_of(Cpu(3)), m.core_of(event.cpu));
        assert_eq!(m.samples().next().unwrap().thread, ThreadId(3));
    }

    #[test]
    fn periods_are_those_of_the_threads_recording() {
        let periods = |loads| Some(Periods { loads, stores: 7 });
        let by = |n, periods| Synthetic { periods, ..Synthetic::new(n) };
        // The second has no threads: the numbers 2 and 3 are the third's.
        let (a, b, c, d) = (by(2, periods(10)), by(0, periods(99)), by(2, None), by(1, periods(30)));
        let m = merged([&a, &b, &c, &d]);
        let found: Vec<_> = (0..5).map(|id| m.periods(ThreadId(id))).collect();
        assert_eq!(found, [periods(10), periods(10), None, None, periods(30)]);
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
