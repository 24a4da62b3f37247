//! A small recording that breaks no rule, and rows of every value for property tests.
#![allow(dead_code, reason = "each test file uses its part")]

use std::path::{Path, PathBuf};

use carom_base::{
    Access, AccessKind, Addr, CellClass, Cpu, DistanceKind, Domain, EarlierWrite, Ip, Locality, LogBin,
    Nanos, Population, ProcessId, ReuseCell, ReuseEvent, ReuseKind, ReuseOutcome, Sample, SampleOutcome,
    Scope, SharingClass, SharingEvent, Skip, StackId, ThreadId, Touch, Via,
};
use carom_base_stream::{
    Stamp, Streamed,
    frame::{BatchHead, Encoder, split},
};
use carom_store::{
    About, CounterRow, CpuInfo, Exit, FootprintRow, HeapObject, InstructionCounts, Manifest, MappingInfo,
    ModuleInfo, Name, PlaceCounts, ProcessInfo, Question, Stack, StreamFrame, ThreadInfo, Writer,
    store_instructions, store_names, store_places,
};
use proptest::collection::vec;
use proptest::prelude::*;
use tempfile::TempDir;

/// A recording in memory, to be changed and then written.
#[derive(Clone, Debug)]
pub struct Small {
    pub manifest: Manifest,
    pub samples: Vec<Sample>,
    pub events: Vec<SharingEvent>,
    pub stacks: Vec<Stack>,
    pub objects: Vec<HeapObject>,
    pub reuse: Vec<ReuseEvent>,
    pub cells: Vec<ReuseCell>,
    pub accesses: Vec<StreamFrame>,
    pub memory: Vec<FootprintRow>,
    pub counters: Vec<CounterRow>,
    pub names: Vec<Name>,
    pub places: Vec<PlaceCounts>,
    pub instructions: Vec<InstructionCounts>,
}

/// One second from 1000 s on, one process, two threads, two processors. Thread 0 writes bytes 0 to 7 of a
/// line and thread 1 reads bytes 8 to 15 of it: false sharing, and reuse in the cache that they share.
pub fn small() -> Small {
    let started = Nanos(1_000_000_000_000);
    let at = |ns: u64| Nanos(started.0 + ns);
    let process = ProcessId(0);
    let thread = |id: u32| ThreadInfo {
        id: ThreadId(id),
        process,
        tid: 100 + id,
        serial: id,
        name: format!("worker-{id}"),
        main: id == 0,
        started: at(10),
        ended: Some(at(900_000_000)),
        stack_low: 0x7000_0000,
        stack_high: 0x7010_0000,
        ..ThreadInfo::default()
    };
    let path =
        Stack { process, id: StackId(0xfeed), frames: vec![Ip(0x40_1234), Ip(0x40_1000)], truncated: false };
    let write = Access { ip: Ip(0x40_1234), addr: Addr(0x5000), width: 8, kind: AccessKind::Store };
    let read = Access { ip: Ip(0x40_2000), addr: Addr(0x5008), width: 8, kind: AccessKind::Load };
    let sample = |id: u32, ns: u64, outcome| Sample {
        thread: ThreadId(id),
        time: at(ns),
        cpu: Cpu(id),
        population: Population::LastInstruction,
        part: 0,
        outcome,
        stack: path.id,
        doublings: 0,
    };
    let touch = |id: u32, ns: u64, access| Touch {
        thread: ThreadId(id),
        time: at(ns),
        cpu: Cpu(id),
        access,
        stack: path.id,
    };
    Small {
        manifest: Manifest {
            command: "share".to_owned(),
            counters: ["page-faults", "context-switches"].map(str::to_owned).into(),
            argv: vec!["./app".to_owned()],
            program: "app".to_owned(),
            started_unix_s: 1.7e9,
            started,
            wall_s: 1.0,
            exit: Exit::Code(0),
            complete: true,
            processes: vec![ProcessInfo {
                pid: 100,
                exit: Some(Exit::Signal(9)),
                modules: vec![ModuleInfo {
                    path: "/usr/bin/app".to_owned(),
                    build_id: Some("0123456789abcdef".to_owned()),
                    low: 0x40_0000,
                    high: 0x41_0000,
                    loaded: at(5),
                    ..ModuleInfo::default()
                }],
                mappings: vec![MappingInfo { low: 0x5000, high: 0x6000, path: "[heap]".to_owned() }],
                ..ProcessInfo::default()
            }],
            threads: vec![thread(0), thread(1)],
            machine: carom_store::MachineInfo {
                cpus: [0, 1].map(|cpu| CpuInfo { cpu: Cpu(cpu), core: cpu, package: 0, node: 0 }).to_vec(),
                ..Default::default()
            },
            ..Manifest::default()
        },
        samples: vec![
            sample(0, 100, SampleOutcome::Access(write)),
            sample(1, 200, SampleOutcome::Skipped(Ip(0x40_2000), Skip::AddressLost)),
            sample(1, 300, SampleOutcome::Access(read)),
        ],
        events: vec![SharingEvent {
            thread: ThreadId(1),
            time: at(300),
            cpu: Cpu(1),
            population: Population::Step,
            via: Via::Lookup,
            class: SharingClass::False,
            weight: 1.0,
            later: read,
            exact: true,
            stack: path.id,
            earlier: EarlierWrite {
                thread: ThreadId(0),
                time: at(100),
                cpu: Cpu(0),
                access: write,
                stack: StackId::NONE,
            },
        }],
        objects: vec![HeapObject { process, base: Addr(0x5000), size: 64, site: path.id, seen: at(50) }],
        reuse: vec![
            ReuseEvent {
                scope: Scope::Shared,
                locality: Locality::Spatial,
                outcome: ReuseOutcome::Reused,
                earlier: touch(0, 100, write),
                later: Some(touch(1, 300, read)),
                distance: 1,
                weight: 1.0,
            },
            ReuseEvent {
                scope: Scope::Private,
                locality: Locality::Temporal,
                outcome: ReuseOutcome::Ended,
                earlier: touch(1, 300, read),
                later: None,
                distance: 40,
                weight: 2.0,
            },
        ],
        cells: vec![ReuseCell {
            thread: ThreadId(1),
            scope: Scope::Shared,
            distance: DistanceKind::Time,
            granularity: 64,
            class: CellClass::Reuse(ReuseKind::Raw),
            bin: LogBin(1),
            from_other: true,
            pair: Some((write.ip, read.ip)),
            at: read.addr,
            count: 1,
        }],
        accesses: vec![
            batch(0, at(30).0, &[], [Streamed { access: write, atomic: false }]),
            frame(0, at(40).0, true),
        ],
        names: vec![Name {
            question: Question { process, about: About::Object, at: write.addr, of: 0 },
            answer: r#"{"name":"counter"}"#.to_owned(),
        }],
        places: vec![PlaceCounts {
            process,
            ip: write.ip,
            stores: 3,
            stored_bytes: 24,
            ..PlaceCounts::default()
        }],
        instructions: vec![InstructionCounts {
            process,
            ip: write.ip,
            instructions: 3,
            stores: 3,
            stored_bytes: 24,
            ..InstructionCounts::default()
        }],
        stacks: vec![path],
        memory: vec![
            FootprintRow { time: at(500_000), resident: 1 << 20, reserved: 5 << 20 },
            FootprintRow { time: at(900_000), resident: 2 << 20, reserved: 5 << 20 },
        ],
        counters: vec![
            CounterRow { time: at(500_000), counter: 0, count: 70 },
            CounterRow { time: at(500_000), counter: 1, count: 3 },
        ],
    }
}

impl Small {
    /// Writes every row in a chunk of its own, so that there are boundaries to hit.
    pub fn write(&self) -> (TempDir, PathBuf) {
        let parent = tempfile::tempdir().unwrap();
        let dir = parent.path().join("app.1.carom");
        let mut writer = Writer::create(&dir, self.manifest.clone()).unwrap();
        for row in self.stacks.chunks(1) {
            writer.push(row);
            writer.flush();
        }
        for row in self.objects.chunks(1) {
            writer.push(row);
            writer.flush();
        }
        for row in self.samples.chunks(1) {
            writer.push(row);
            writer.flush();
        }
        for row in self.events.chunks(1) {
            writer.push(row);
            writer.flush();
        }
        for row in self.reuse.chunks(1) {
            writer.push(row);
            writer.flush();
        }
        for row in self.cells.chunks(1) {
            writer.push(row);
            writer.flush();
        }
        for row in self.accesses.chunks(1) {
            writer.push(row);
            writer.flush();
        }
        for row in self.memory.chunks(1) {
            writer.push(row);
            writer.flush();
        }
        for row in self.counters.chunks(1) {
            writer.push(row);
            writer.flush();
        }
        writer.finish(self.manifest.clone()).unwrap();
        store_names(&dir, &self.names).unwrap();
        store_places(&dir, &self.places).unwrap();
        store_instructions(&dir, &self.instructions).unwrap();
        (parent, dir)
    }
}

/// The only frame that is written.
fn written(write: impl FnOnce(&mut Encoder, &mut Vec<u8>)) -> StreamFrame {
    let mut bytes = Vec::new();
    write(&mut Encoder::default(), &mut bytes);
    let (frame, _) = split(&bytes).unwrap().unwrap();
    StreamFrame::new(frame.to_vec())
}

/// A thread begins, or ends.
pub fn frame(thread: u32, at: u64, ends: bool) -> StreamFrame {
    let (thread, at) = (ThreadId(thread), Nanos(at));
    written(|encoder, out| match ends {
        false => encoder.begin(thread, at, out),
        true => encoder.end(thread, at, out),
    })
}

/// A batch of a thread that goes on.
pub fn batch(
    thread: u32,
    at: u64,
    stamps: &[Stamp],
    accesses: impl IntoIterator<Item = Streamed>,
) -> StreamFrame {
    let (thread, at, domain) = (ThreadId(thread), Nanos(at), Domain(0));
    let head = BatchHead { thread, domain, at, pauses: false, stamps, marks: &[] };
    written(|encoder, out| {
        accesses.into_iter().for_each(|access| encoder.accesses().push(&access));
        encoder.batch(&head, out);
    })
}

/// Changes one byte of a file.
pub fn change(path: &Path, at: usize, to: impl FnOnce(u8) -> u8) {
    let mut bytes = std::fs::read(path).unwrap();
    bytes[at] = to(bytes[at]);
    std::fs::write(path, bytes).unwrap();
}

pub fn any_access() -> impl Strategy<Value = Access> {
    (any::<u64>(), any::<u64>(), any::<u32>(), 0_u8..3).prop_map(|(ip, addr, width, kind)| Access {
        ip: Ip(ip),
        addr: Addr(addr),
        width,
        kind: AccessKind::from_u8(kind).unwrap(),
    })
}

pub fn any_sample() -> impl Strategy<Value = Sample> {
    let outcome = prop_oneof![
        any_access().prop_map(SampleOutcome::Access),
        (any::<u64>(), 0_u8..10)
            .prop_map(|(ip, skip)| SampleOutcome::Skipped(Ip(ip), Skip::from_u8(skip).unwrap())),
    ];
    let place = (any::<u32>(), any::<u64>(), any::<u32>(), any::<u64>());
    let doublings = 0..=Sample::MOST_DOUBLINGS;
    (place, any::<bool>(), any::<u8>(), outcome, doublings).prop_map(
        |(place, step, part, outcome, doublings)| {
            let (thread, time, cpu, stack) = place;
            Sample {
                thread: ThreadId(thread),
                time: Nanos(time),
                cpu: Cpu(cpu),
                population: if step { Population::Step } else { Population::LastInstruction },
                part,
                outcome,
                stack: StackId(stack),
                doublings,
            }
        },
    )
}

pub fn any_event() -> impl Strategy<Value = SharingEvent> {
    // The weight is finite here only because NaN is not equal to itself.
    (any_sample(), any_access(), any_sample(), any_access(), any::<[bool; 3]>(), -1e30_f32..1e30).prop_map(
        |(late, later, early, access, [via, class, exact], weight)| SharingEvent {
            thread: late.thread,
            time: late.time,
            cpu: late.cpu,
            population: late.population,
            via: if via { Via::Lookup } else { Via::Watchpoint },
            class: if class { SharingClass::True } else { SharingClass::False },
            weight,
            later,
            exact,
            stack: late.stack,
            earlier: EarlierWrite {
                thread: early.thread,
                time: early.time,
                cpu: early.cpu,
                access,
                stack: early.stack,
            },
        },
    )
}

pub fn any_touch() -> impl Strategy<Value = Touch> {
    (any::<(u32, u64, u32, u64)>(), any_access()).prop_map(|((thread, time, cpu, stack), access)| Touch {
        thread: ThreadId(thread),
        time: Nanos(time),
        cpu: Cpu(cpu),
        access,
        stack: StackId(stack),
    })
}

pub fn any_reuse() -> impl Strategy<Value = ReuseEvent> {
    let codes = (0_u8..2, 0_u8..3, 0_u8..4);
    // The weight is finite here only because NaN is not equal to itself.
    let numbers = (any::<u64>(), -1e30_f32..1e30);
    (codes, any_touch(), proptest::option::of(any_touch()), numbers).prop_map(
        |((scope, locality, outcome), earlier, later, (distance, weight))| ReuseEvent {
            scope: Scope::from_u8(scope).unwrap(),
            locality: Locality::from_u8(locality).unwrap(),
            outcome: ReuseOutcome::from_u8(outcome).unwrap(),
            earlier,
            later,
            distance,
            weight,
        },
    )
}

pub fn any_cell() -> impl Strategy<Value = ReuseCell> {
    let codes = (any::<[bool; 3]>(), 0_u8..6);
    let pair = proptest::option::of(any::<(u64, u64, u64)>());
    (codes, any::<(u32, u32, u16, u64)>(), pair).prop_map(
        |(([shared, stack, from_other], class), (thread, granularity, bin, count), pair)| ReuseCell {
            thread: ThreadId(thread),
            scope: if shared { Scope::Shared } else { Scope::Private },
            distance: if stack { DistanceKind::Stack } else { DistanceKind::Time },
            granularity,
            class: CellClass::from_code(class).unwrap(),
            bin: LogBin(bin),
            from_other,
            pair: pair.map(|(earlier, later, _)| (Ip(earlier), Ip(later))),
            at: pair.map_or(Addr(0), |(.., at)| Addr(at)),
            count,
        },
    )
}

pub fn any_stack() -> impl Strategy<Value = Stack> {
    (any::<u32>(), any::<u64>(), vec(any::<u64>().prop_map(Ip), 0..40), any::<bool>()).prop_map(
        |(process, id, frames, truncated)| Stack {
            process: ProcessId(process),
            id: StackId(id),
            frames,
            truncated,
        },
    )
}

pub fn any_name() -> impl Strategy<Value = Name> {
    let about = [About::Code, About::Object, About::Field, About::Layout, About::Array, About::Loop];
    (any::<(u32, u64, u64)>(), proptest::sample::select(about.to_vec()), any::<String>()).prop_map(
        |((process, at, of), about, answer)| Name {
            question: Question { process: ProcessId(process), about, at: Addr(at), of },
            answer,
        },
    )
}

pub fn any_object() -> impl Strategy<Value = HeapObject> {
    any::<(u32, u64, u64, u64, u64)>().prop_map(|(process, base, size, site, seen)| HeapObject {
        process: ProcessId(process),
        base: Addr(base),
        size,
        site: StackId(site),
        seen: Nanos(seen),
    })
}
