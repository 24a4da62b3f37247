//! What a report says about the run, out of the manifests.

use carom_store::{Exit, Manifest};
use carom_study::recording::Offsets;
use carom_view::{
    Coverage, Delivery, EngineInfo, ExitStatus, MachineInfo, ProcessInfo, RunInfo, SampleMeans, ThreadInfo,
    WarningInfo, Watch,
};

/// One run out of all recordings, numbered through by the offsets beside them. Program and engine are the first one's.
pub fn of(all: &[(&Manifest, Offsets)]) -> RunInfo {
    let first = all.first().map(|(manifest, _)| (*manifest).clone()).unwrap_or_default();
    RunInfo {
        argv: first.argv.clone(),
        runs: 1,
        exit: exit(Some(first.exit)),
        wall_s: all.iter().map(|(manifest, _)| manifest.wall_s).fold(0.0, f64::max),
        complete: all.iter().all(|(manifest, _)| manifest.complete),
        cut_short: all.iter().find_map(|(manifest, _)| manifest.cut_short.clone()),
        processes: all.iter().flat_map(|(manifest, by)| processes(manifest, *by)).collect(),
        threads: all.iter().flat_map(|(manifest, by)| threads(manifest, *by)).collect(),
        engine: engine(&first),
        machine: MachineInfo {
            cpu_model: first.machine.cpu_model.clone(),
            logical_cpus: first.machine.cpus.len() as u32,
            kernel: first.machine.kernel.clone(),
            hypervisor: first.machine.hypervisor.clone(),
        },
        warnings: each_once(all.iter().flat_map(|(manifest, _)| warnings(manifest))),
    }
}

fn exit(exit: Option<Exit>) -> ExitStatus {
    match exit {
        Some(Exit::Code(code)) => ExitStatus::Code(code),
        Some(Exit::Signal(signal)) => ExitStatus::Signal(signal),
        Some(Exit::Unknown) | None => ExitStatus::Unknown,
    }
}

fn processes(manifest: &Manifest, by: Offsets) -> impl Iterator<Item = ProcessInfo> + '_ {
    manifest.processes.iter().map(move |process| ProcessInfo {
        id: by.process(process.id),
        pid: process.pid,
        parent: process.parent.map(|id| by.process(id)),
        host: manifest.machine.hostname.clone(),
        argv: process.argv.clone(),
        exit: exit(process.exit),
        coverage: process.unprofiled.clone().map_or(Coverage::Profiled, Coverage::Unprofiled),
    })
}

fn threads(manifest: &Manifest, by: Offsets) -> impl Iterator<Item = ThreadInfo> + '_ {
    manifest.threads.iter().map(move |thread| ThreadInfo {
        id: by.thread(thread.id),
        process: by.process(thread.process),
        tid: thread.tid,
        name: thread.name.clone(),
        cpu_ns: thread.cpu_ns,
    })
}

fn engine(manifest: &Manifest) -> EngineInfo {
    let engine = &manifest.engine;
    EngineInfo {
        name: engine.name.clone(),
        reason: engine.reason.clone(),
        sample_means: match (engine.sample_means.as_str(), engine.load_period, engine.store_period) {
            ("nothing", ..) => SampleMeans::Nothing,
            (_, 0, 0) => SampleMeans::ThreadTime,
            (_, loads, stores) => SampleMeans::Accesses { loads, stores },
        },
        period_ns: engine.period_ns,
        delivery: match engine.delivery.as_str() {
            "setsig" => Delivery::Setsig,
            "posix-timer" => Delivery::PosixTimer,
            "inline" => Delivery::Inline,
            _ => Delivery::Sigtrap,
        },
        budget_percent: budget(manifest),
        watch: match engine.watch.as_str() {
            "software" => Some(Watch::Software),
            // Older profiles do not say.
            _ => (engine.watchpoints > 0).then_some(Watch::Registers),
        },
        watchpoints: engine.watchpoints,
        board_slots: engine.board_slots,
    }
}

/// Whoever samples keeps to one. More than all of the time is no limit, and older profiles do not say.
fn budget(manifest: &Manifest) -> Option<f64> {
    let engine = &manifest.engine;
    let limit = Some(engine.budget_percent).filter(|percent| *percent > 0.0 && *percent <= 100.0);
    limit.filter(|_| engine.sample_means != "nothing")
}

/// Processes and runs often have the same to say.
fn each_once(all: impl Iterator<Item = WarningInfo>) -> Vec<WarningInfo> {
    let mut once = Vec::new();
    for warning in all {
        if !once.contains(&warning) {
            once.push(warning);
        }
    }
    once
}

fn warnings(manifest: &Manifest) -> impl Iterator<Item = WarningInfo> + '_ {
    let own = manifest.processes.iter().flat_map(|process| &process.warnings);
    manifest
        .warnings
        .iter()
        .chain(own)
        .map(|warning| WarningInfo { code: warning.code.clone(), text: warning.text.clone() })
}
