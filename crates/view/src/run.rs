//! What a report says about the run, out of the manifests.

use carom_base::{ProcessId, ThreadId};
use carom_store::{self as store, EngineInfo, Manifest};
use carom_study::recording::Offsets;

use crate::model::{Exit, Machine, Process, ProcessCoverage, Program, Real, Thread, Warning};

/// What a report needs to know about a run besides the findings.
#[derive(Clone, Debug)]
pub struct RunInfo {
    /// The program and how it ended.
    pub program: Program,
    /// Every process that was met, in order of id.
    pub processes: Vec<Process>,
    /// Every thread that was met, in order of id.
    pub threads: Vec<Thread>,
    /// What observed the accesses.
    pub engine: EngineInfo,
    /// Where the program ran.
    pub machine: Machine,
    /// What the reader should know before trusting the numbers.
    pub warnings: Vec<Warning>,
}

impl RunInfo {
    /// One run out of all recordings, numbered through by the offsets beside them. Program and engine are the first one's.
    pub fn of(all: &[(&Manifest, Offsets)]) -> Self {
        let first = all.first().map(|(manifest, _)| (*manifest).clone()).unwrap_or_default();
        Self {
            program: Program {
                argv: first.argv.clone(),
                runs: 1,
                exit: exit(Some(first.exit)),
                wall_s: Real(all.iter().map(|(manifest, _)| manifest.wall_s).fold(0.0, f64::max)),
                complete: all.iter().all(|(manifest, _)| manifest.complete),
                cut_short: all.iter().find_map(|(manifest, _)| manifest.cut_short.clone()),
            },
            processes: all.iter().flat_map(|(manifest, by)| processes(manifest, *by)).collect(),
            threads: all.iter().flat_map(|(manifest, by)| threads(manifest, *by)).collect(),
            machine: Machine {
                cpu_model: first.machine.cpu_model.clone(),
                logical_cpus: first.machine.cpus.len() as u32,
                kernel: first.machine.kernel.clone(),
                hypervisor: first.machine.hypervisor.clone(),
            },
            engine: first.engine,
            warnings: each_once(all.iter().flat_map(|(manifest, _)| warnings(manifest))),
        }
    }
}

fn exit(exit: Option<store::Exit>) -> Option<Exit> {
    match exit {
        Some(store::Exit::Code(code)) => Some(Exit::Code(code)),
        Some(store::Exit::Signal(signal)) => Some(Exit::Signal(signal)),
        Some(store::Exit::Unknown) | None => None,
    }
}

fn processes(manifest: &Manifest, by: Offsets) -> impl Iterator<Item = Process> + '_ {
    let number = move |id: ProcessId| by.process(id).0;
    manifest.processes.iter().map(move |process| Process {
        id: number(process.id),
        pid: process.pid,
        parent: process.parent.map(number),
        host: manifest.machine.hostname.clone(),
        argv: process.argv.clone(),
        exit: exit(process.exit),
        coverage: ProcessCoverage {
            profiled: process.unprofiled.is_none(),
            reason: process.unprofiled.clone(),
        },
    })
}

fn threads(manifest: &Manifest, by: Offsets) -> impl Iterator<Item = Thread> + '_ {
    let number = move |id: ThreadId| by.thread(id).0;
    manifest.threads.iter().map(move |thread| Thread {
        id: number(thread.id),
        process: by.process(thread.process).0,
        tid: thread.tid,
        name: thread.name.clone(),
        cpu_ns: thread.cpu_ns,
    })
}

/// Processes and runs often have the same to say.
fn each_once(all: impl Iterator<Item = Warning>) -> Vec<Warning> {
    let mut once = Vec::new();
    for warning in all {
        if !once.contains(&warning) {
            once.push(warning);
        }
    }
    once
}

fn warnings(manifest: &Manifest) -> impl Iterator<Item = Warning> + '_ {
    let own = manifest.processes.iter().flat_map(|process| &process.warnings);
    let all = manifest.warnings.iter().chain(own);
    all.map(|warning| Warning { code: warning.code.clone(), text: warning.text.clone() })
}
