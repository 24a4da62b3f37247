//! Hand-made recordings. Unless told otherwise everything happens in line 0 of process 0.

use std::collections::BTreeMap;

use carom_base::{
    Access, AccessKind, Addr, Cpu, EarlierWrite, Ip, Line, Nanos, Population, ProcessId, Sample,
    SampleOutcome, SharingClass, SharingEvent, Skip, StackId, ThreadId, Via,
};

use super::{Periods, ShareInput};
use crate::recording::{Input, Losses, NamedBytes, Names, NoNames, ThreadEntry};
use crate::symbols::{DataObject, Frame, ObjectKind};

/// Sets one field of the value inside.
macro_rules! setter {
    ($name:ident($($argument:ident: $type:ty),*) $self:ident => $change:expr) => {
        pub fn $name(mut $self, $($argument: $type),*) -> Self {
            $change;
            $self
        }
    };
}

/// Builds a sharing event: a step sample of `later` loads bytes 0 to 7, which `earlier` had stored.
#[derive(Clone, Copy)]
pub(crate) struct Event(SharingEvent);

impl Event {
    pub fn new(earlier: u32, later: u32) -> Self {
        let access = |kind, ip| Access { ip: Ip(ip), addr: Addr(0), width: 8, kind };
        Self(SharingEvent {
            thread: ThreadId(later),
            time: Nanos(0),
            cpu: Cpu(later),
            population: Population::Step,
            via: Via::Lookup,
            class: SharingClass::True,
            weight: 1.0,
            later: access(AccessKind::Load, 0x20),
            exact: true,
            stack: StackId(0x2000),
            earlier: EarlierWrite {
                thread: ThreadId(earlier),
                time: Nanos(0),
                cpu: Cpu(earlier),
                access: access(AccessKind::Store, 0x10),
                stack: StackId(0x1000),
            },
        })
    }

    setter!(weight(weight: f32) self => self.0.weight = weight);
    setter!(last_instruction() self => self.0.population = Population::LastInstruction);
    setter!(inexact() self => self.0.exact = false);
    setter!(at_ms(ms: u64) self => (self.0.time, self.0.earlier.time) = (Nanos(ms * 1_000_000), Nanos(ms * 1_000_000)));
    setter!(written_at_ms(ms: u64) self => self.0.earlier.time = Nanos(ms * 1_000_000));
    setter!(cpus(earlier: u32, later: u32) self => (self.0.earlier.cpu, self.0.cpu) = (Cpu(earlier), Cpu(later)));
    setter!(class_false(is_false: bool) self =>
        self.0.class = if is_false { SharingClass::False } else { SharingClass::True });
    setter!(later(kind: AccessKind, addr: u64, width: u32) self =>
        self.0.later = Access { ip: Ip(0x20), addr: Addr(addr), width, kind });
    setter!(earlier_at(addr: u64, width: u32) self =>
        (self.0.earlier.access.addr, self.0.earlier.access.width) = (Addr(addr), width));

    pub fn build(self) -> SharingEvent {
        self.0
    }
}

/// Builds a sample: a last-instruction sample, part 0, at time 0.
#[derive(Clone, Copy)]
pub(crate) struct TestSample(Sample);

impl TestSample {
    pub fn new(thread: u32, kind: AccessKind, addr: u64, width: u32) -> Self {
        let access = Access { ip: Ip(0x30), addr: Addr(addr), width, kind };
        Self::of(thread, SampleOutcome::Access(access))
    }

    pub fn skipped(thread: u32, why: Skip) -> Self {
        Self::of(thread, SampleOutcome::Skipped(Ip(0x30), why))
    }

    fn of(thread: u32, outcome: SampleOutcome) -> Self {
        Self(Sample {
            thread: ThreadId(thread),
            time: Nanos(0),
            cpu: Cpu(thread),
            population: Population::LastInstruction,
            part: 0,
            outcome,
            stack: StackId(0x3000),
            doublings: 0,
        })
    }

    setter!(doublings(doublings: u8) self => self.0.doublings = doublings);
    setter!(step() self => self.0.population = Population::Step);
    setter!(at_ms(ms: u64) self => self.0.time = Nanos(ms * 1_000_000));
    setter!(at_ns(ns: u64) self => self.0.time = Nanos(ns));
    setter!(on_cpu_of_own() self => self.0.cpu = Cpu(2 * self.0.thread.0));
    setter!(part(part: u8) self => self.0.part = part);

    pub fn build(self) -> Sample {
        self.0
    }
}

/// A recording in memory. Processors 2n and 2n + 1 are one core.
#[derive(Clone, Default)]
pub(crate) struct Synthetic {
    pub threads: Vec<ThreadEntry>,
    pub events: Vec<SharingEvent>,
    pub samples: Vec<Sample>,
    pub seconds: f64,
    pub losses: Losses,
    pub machine: Option<&'static str>,
    pub periods: Option<Periods>,
    pub transfer_ns: Option<f64>,
}

impl Synthetic {
    /// `threads` threads of process 0, for one second.
    pub fn new(threads: u32) -> Self {
        let threads = (0..threads).map(|i| ThreadEntry::new(ThreadId(i), ProcessId(0))).collect();
        Self { threads, seconds: 1.0, ..Self::default() }
    }

    /// Sampled by accesses.
    pub fn every(mut self, loads: u64, stores: u64) -> Self {
        self.periods = Periods::new(loads, stores);
        self
    }

    pub fn events(mut self, events: impl IntoIterator<Item = Event>) -> Self {
        self.events.extend(events.into_iter().map(Event::build));
        self
    }

    pub fn samples(mut self, samples: impl IntoIterator<Item = TestSample>) -> Self {
        self.samples.extend(samples.into_iter().map(TestSample::build));
        self
    }
}

impl Input for Synthetic {
    fn threads(&self) -> &[ThreadEntry] {
        &self.threads
    }

    fn processes(&self) -> u32 {
        self.threads.iter().map(|t| t.process.0 + 1).max().unwrap_or(0)
    }

    fn cpus(&self) -> u32 {
        8
    }

    fn machine(&self) -> Option<&str> {
        self.machine
    }

    fn seconds(&self) -> f64 {
        self.seconds
    }

    fn losses(&self) -> Losses {
        self.losses
    }
}

impl ShareInput for Synthetic {
    fn core_of(&self, cpu: Cpu) -> Option<u32> {
        Some(cpu.0 / 2)
    }

    fn periods(&self, _: ThreadId) -> Option<Periods> {
        self.periods
    }

    fn transfer_ns(&self) -> Option<f64> {
        self.transfer_ns
    }

    fn events(&self) -> Box<dyn Iterator<Item = SharingEvent> + '_> {
        Box::new(self.events.iter().copied())
    }

    fn samples(&self) -> Box<dyn Iterator<Item = Sample> + '_> {
        Box::new(self.samples.iter().copied())
    }
}

/// Fields by address; functions named after their instruction pointer.
#[derive(Clone, Default)]
pub(crate) struct Table(pub BTreeMap<u64, (u32, &'static str)>);

impl Names for Table {
    fn call_path(&mut self, process: ProcessId, ip: Ip, stack: StackId) -> Vec<Frame> {
        let mut frames = NoNames.call_path(process, ip, stack);
        frames[0].function = Some(format!("f{:x}", ip.0));
        frames
    }

    fn object(&mut self, _: ProcessId, at: Addr) -> DataObject {
        DataObject {
            kind: ObjectKind::Global,
            name: format!("object at {:x}", at.0),
            offset: 0,
            size: Some(64),
            declared: None,
            allocation: Vec::new(),
        }
    }

    fn field(&mut self, _: ProcessId, at: Addr, _: u32) -> Option<String> {
        self.0.get(&at.0).map(|(_, name)| (*name).to_owned())
    }

    fn layout(&mut self, _: ProcessId, line: Line) -> Vec<NamedBytes> {
        let start = line.start().0;
        self.0
            .range(start..start + 64)
            .map(|(at, (width, name))| NamedBytes {
                offset: (at - start) as u32,
                width: *width,
                name: (*name).to_owned(),
            })
            .collect()
    }
}
