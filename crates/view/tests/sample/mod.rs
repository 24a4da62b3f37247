//! Recordings that never took place, with every kind of finding in them: for tests and for looking at the page.
#![allow(dead_code)] // Every user takes its own part.

pub mod compared;
mod counted;
mod crowd;
mod every_nth;
mod few;
mod reused;

use carom_base::{AccessKind, Addr, Cpu, Population, ProcessId, Skip, ThreadId};
use carom_store::{Delivery, EngineInfo, SampleMeans, Watch};
use carom_study::{
    Estimate,
    recording::{Losses, ThreadCounters},
    share::{
        ByteRange, Distance, Kinds, LineFinding, Matrix, NotEnough, ObjectFinding, Quality, Remedy,
        ShareFindings, Site, Unit,
    },
    symbols::{DataObject, Frame, ObjectKind},
};
use carom_view::{
    RunInfo,
    model::{Exit, Machine, Process, ProcessCoverage, Program, Real, Thread, Warning},
};

pub use counted::counted;
pub use crowd::crowd;
pub use every_nth::every_nth;
pub use few::{eight, two};
pub use reused::{hardly_reused, relaxed, sampled_reuse};

/// A run of `argv` with threads of these names.
pub fn run(argv: &[&str], threads: &[String]) -> RunInfo {
    let argv: Vec<String> = argv.iter().map(|&each| each.to_owned()).collect();
    RunInfo {
        program: Program {
            argv: argv.clone(),
            runs: 1,
            exit: Some(Exit::Code(0)),
            wall_s: Real(4.02),
            complete: true,
            cut_short: None,
        },
        processes: vec![Process {
            id: 0,
            pid: 4711,
            parent: None,
            host: Some("node17".into()),
            argv,
            exit: Some(Exit::Code(0)),
            coverage: ProcessCoverage { profiled: true, reason: None },
        }],
        threads: threads.iter().zip(0..).map(|(name, id)| thread(id, name)).collect(),
        engine: EngineInfo {
            name: "burst".into(),
            reason: "no PMU in this virtual machine (KVM)".into(),
            sample_means: SampleMeans::ThreadTime,
            period_ns: 2_500_000,
            delivery: Delivery::Sigtrap,
            budget_percent: 5.0,
            watch: Watch::Registers,
            watchpoints: 4,
            board_slots: 127,
            trace: None,
            objects: false,
            ..EngineInfo::default()
        },
        machine: Machine {
            cpu_model: "Example Processor 8-Core".into(),
            logical_cpus: 8,
            kernel: "6.18.0".into(),
            hypervisor: Some("KVM".into()),
        },
        warnings: Vec::new(),
    }
}

fn thread(id: u32, name: &str) -> Thread {
    let cpu_ns = if id == 0 { 12_000_000 } else { 3_900_000_000 - u64::from(id) * 3_000_000 };
    Thread { id, process: 0, tid: 4711 + id, name: name.into(), cpu_ns }
}

/// A run in which nothing was found.
pub fn nothing(threads: usize) -> ShareFindings {
    ShareFindings {
        unit: Unit::Samples,
        communication: None,
        quality: Quality {
            last_instruction: 3_180,
            step: 3_204,
            skipped: vec![
                (Skip::NotAnAccess, 1_930),
                (Skip::UnknownPredecessor, 96),
                (Skip::AddressLost, 61),
            ],
            losses: Losses {
                counters: ThreadCounters {
                    budget_skipped: 2_100,
                    collisions: 14,
                    armed: 870,
                    ..ThreadCounters::default()
                },
                unprofiled_threads: 0,
            },
            ..Quality::default()
        },
        false_fraction: None,
        contended_share: estimate(0.0, 0.0),
        kinds: Kinds::default(),
        threads: matrix(threads, ThreadId),
        cpus: matrix(8, Cpu),
        distance: Distance::default(),
        last_writer: matrix(threads, ThreadId),
        pattern: None,
        objects: Vec::new(),
        lines: Vec::new(),
        other_lines: 0,
        not_enough: Some(NotEnough { events: 0, run_seconds: None, moving: None }),
    }
}

/// `value` with an interval of `half` to either side.
pub fn estimate(value: f64, half: f64) -> Estimate {
    Estimate { value, low: (value - half).max(0.0), high: (value + half).min(1.0) }
}

/// An empty matrix.
pub fn matrix<L>(size: usize, label: impl Fn(u32) -> L) -> Matrix<L> {
    let zero = || vec![vec![0.0; size]; size];
    Matrix {
        labels: (0..size as u32).map(label).collect(),
        all: zero(),
        true_sharing: zero(),
        false_sharing: zero(),
        unlisted: 0.0,
    }
}

/// Adds a flow from one label to another.
pub fn flow<L>(matrix: &mut Matrix<L>, from: usize, to: usize, true_sharing: f64, false_sharing: f64) {
    matrix.all[from][to] += true_sharing + false_sharing;
    matrix.true_sharing[from][to] += true_sharing;
    matrix.false_sharing[from][to] += false_sharing;
}

/// One finding for each line.
pub fn find_each(findings: &mut ShareFindings) {
    findings.objects = (0..)
        .zip(&findings.lines)
        .map(|(number, line)| ObjectFinding {
            object: line.object.clone(),
            share: line.share,
            true_sharing: line.true_sharing,
            false_sharing: line.false_sharing,
            events: line.events,
            following: None,
            remedy: line.remedy.clone(),
            check: None,
            spread: false,
            lines: vec![number],
            other_lines: 0,
        })
        .collect();
}

pub fn frame(function: &str, file: &str, line: u32) -> Frame {
    Frame {
        function: Some(function.into()),
        file: Some(file.into()),
        line: Some(line),
        module: Some("/usr/local/bin/app".into()),
        address: 0x1100 + u64::from(line) * 4,
        inlined: false,
        source: None,
    }
}

pub fn global(name: &str, offset: i64, size: u64, file: &str, line: u32) -> DataObject {
    DataObject {
        kind: ObjectKind::Global,
        name: name.into(),
        offset,
        size: Some(size),
        declared: Some(Frame { function: None, ..frame("", file, line) }),
        allocation: Vec::new(),
    }
}

pub fn site(
    thread: u32,
    kind: AccessKind,
    (offset, width): (u32, u32),
    field: &str,
    frames: Vec<Frame>,
    share: f64,
) -> Site {
    let field = (!field.is_empty()).then(|| field.into());
    Site {
        thread: ThreadId(thread),
        kind,
        offset,
        width,
        splits_line: false,
        field,
        frames,
        share,
        seen: (share * 3000.0) as u64 + 1,
    }
}

pub fn range((offset, width): (u32, u32), field: &str, readers: &[u32], writers: &[u32]) -> ByteRange {
    let ids = |threads: &[u32]| threads.iter().copied().map(ThreadId).collect();
    let field = (!field.is_empty()).then(|| field.into());
    ByteRange { offset, width, field, readers: ids(readers), writers: ids(writers) }
}

pub fn line(
    address: u64,
    share: Estimate,
    (true_sharing, false_sharing): (f64, f64),
    object: DataObject,
    remedy: Remedy,
) -> LineFinding {
    LineFinding {
        process: ProcessId(0),
        address: Addr(address),
        shared: None,
        share,
        true_sharing,
        false_sharing,
        false_fraction: Some(estimate(false_sharing / (true_sharing + false_sharing), 0.03)),
        basis: Population::Step,
        events: ((true_sharing + false_sharing) / 4.0) as u64,
        pair: None,
        object,
        sites: Vec::new(),
        layout: Vec::new(),
        remedy,
    }
}
