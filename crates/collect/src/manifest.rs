//! Fills in the manifest of a recording, at its beginning and at its end.

use std::{
    collections::BTreeMap,
    time::{SystemTime, UNIX_EPOCH},
};

use carom_base_sys::{clock, machine::Machine};
use carom_base_wire::{Engine, Settings, Trial, WatchChoice};
use carom_store::{
    CacheInfo, Costs, CpuInfo, Delivery, EngineInfo, MachineInfo, Manifest, SampleMeans, Watch,
};

use crate::{
    drain::Drain, memory::memory_ns, modules::BuildIds, record::Request, reuse, session::Results, trace,
    transfer::transfer_ns, warnings,
};

/// Lines that a thread watches at a time in software.
const SOFTWARE_WATCHPOINTS: u32 = 1;

/// How long the recording has been going on.
pub fn seconds_since(manifest: &Manifest) -> f64 {
    clock::now().0.saturating_sub(manifest.started.0) as f64 / 1e9
}

/// The manifest of a recording that begins now, without the machine.
pub fn begin(request: &Request, program: String) -> Manifest {
    let settings = &request.settings;
    Manifest {
        command: request.command.clone(),
        questions: request.questions.clone(),
        argv: request.argv.clone(),
        program,
        started_unix_s: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |d| d.as_secs_f64()),
        started: clock::now(),
        rank: rank(),
        engine: EngineInfo {
            trace: trace::info(settings, &request.targets),
            ..engine_info(settings, request.reason.clone())
        },
        reuse: settings.reuse.as_ref().map(|asked| reuse::info(asked, settings.engine)),
        series: request.series.clone(),
        ..Manifest::default()
    }
}

fn engine_info(settings: &Settings, reason: String) -> EngineInfo {
    let watch = match (settings.engine, settings.share) {
        (Engine::Translate, Some(share)) => share.watch,
        _ => WatchChoice::Registers,
    };
    let watchpoints = match watch {
        WatchChoice::Registers => settings.watchpoints,
        WatchChoice::Software | WatchChoice::Episodes => SOFTWARE_WATCHPOINTS,
    };
    let common = EngineInfo {
        name: settings.engine.name().into(),
        reason,
        watch: match watch {
            _ if watchpoints == 0 => Watch::Nothing,
            WatchChoice::Registers => Watch::Registers,
            WatchChoice::Software | WatchChoice::Episodes => Watch::Software,
        },
        watchpoints,
        objects: settings.objects.is_some(),
        board_slots: settings.share.map_or(0, |share| share.board_slots),
        budget_percent: f64::from(settings.budget_ppm) / 1e4,
        ..EngineInfo::default()
    };
    match settings.engine {
        Engine::Burst => EngineInfo {
            period_ns: settings.period_ns,
            max_steps: settings.max_steps,
            sample_means: SampleMeans::ThreadTime,
            ..common
        },
        Engine::Translate => {
            let (load_period, store_period) = match settings.trial {
                // They are taken, but not kept.
                Some(Trial::Samples) => (0, 0),
                _ => (settings.load_period, settings.store_period),
            };
            let counts_only = load_period == 0 && store_period == 0;
            EngineInfo {
                load_period,
                store_period,
                doublings: settings.doublings,
                delivery: Delivery::Inline,
                sample_means: if counts_only { SampleMeans::Nothing } else { SampleMeans::Accesses },
                ..common
            }
        }
    }
}

/// This machine, as manifests have it.
pub fn machine_here() -> MachineInfo {
    let machine = Machine::here();
    MachineInfo {
        kernel: machine.kernel.release.clone(),
        cpu_model: machine.cpu.name.clone(),
        hostname: machine.hostname.clone(),
        cpus: machine
            .cpus
            .iter()
            .map(|c| CpuInfo { cpu: c.cpu, core: c.core, package: c.package, node: c.node })
            .collect(),
        hypervisor: machine.hypervisor.as_ref().map(|h| h.kind.name().into()),
        caches: machine
            .caches
            .iter()
            .map(|c| CacheInfo {
                level: c.level,
                kind: c.kind.name().into(),
                bytes: c.bytes,
                line_bytes: c.line_bytes,
                ways: c.ways,
                sets: c.sets,
                cpus: c.cpus.clone(),
            })
            .collect(),
    }
}

/// The MPI rank, by the variables of Open MPI, PMI (MPICH, Intel MPI), PMIx and Slurm.
fn rank() -> Option<u32> {
    ["OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"]
        .iter()
        .find_map(|name| std::env::var(name).ok()?.parse().ok())
}

/// Fills in everything known at the end.
pub fn finish(manifest: &mut Manifest, request: &Request, drain: Drain, results: Results) {
    let settings = &request.settings;
    let (garbage, found_sharing) = (drain.nonsense(), drain.found_sharing);
    let Drain { table, .. } = drain;
    let ended: Vec<bool> = table.processes.iter().map(|process| table.is_over(process.id)).collect();
    manifest.processes = table.processes;
    manifest.threads = table.threads;
    manifest.segments = table.segments.into_values().collect();
    for thread in manifest.threads.iter_mut().filter(|thread| thread.tid == 0) {
        // The thread was made but never observed: its process had ended, or it could not be profiled.
        thread.started = manifest.started;
    }
    if let Some((engine, reason)) = table.engine {
        manifest.engine = EngineInfo {
            trace: manifest.engine.trace.take(),
            ..engine_info(&Settings { engine, ..*settings }, manifest.engine.reason.clone())
        };
        add_reason(&mut manifest.engine, &reason);
        manifest.reuse = settings.reuse.as_ref().map(|asked| reuse::info(asked, engine));
    }
    if let Some((delivery, reason)) = table.delivery {
        if delivery == Delivery::PosixTimer && manifest.engine.watch != Watch::Software {
            (manifest.engine.watchpoints, manifest.engine.watch) = (0, Watch::Nothing);
        }
        if manifest.engine.name != Engine::Translate.name() {
            add_reason(&mut manifest.engine, &reason);
            manifest.engine.delivery = delivery;
        }
    }
    manifest.engine.costs_ns = Costs {
        timer: results.timer_ns,
        step: results.step_ns,
        trap: results.trap_ns,
        modify: results.modify_ns,
        // Measured now, so that it delays no program, and only where lines were transferred. Only samples of accesses give a
        // rate to compare it with.
        transfer: if request.time_memory || found_sharing && samples_accesses(&manifest.engine) {
            transfer_ns(&manifest.machine.cpus).unwrap_or(0)
        } else {
            0
        },
        memory: if request.time_memory { memory_ns(&manifest.machine.caches).unwrap_or(0) } else { 0 },
    };
    let mut build_ids = BuildIds::default();
    for module in manifest.processes.iter_mut().flat_map(|process| &mut process.modules) {
        module.build_id = build_ids.of(&module.path);
    }
    let unprofiled_ns = unprofiled_ns(manifest, &results);
    if let Some(first) = manifest.processes.first_mut() {
        first.unprofiled_threads = results.unprofiled_threads;
        first.unprofiled_ns = unprofiled_ns;
        first.exit = Some(manifest.exit);
    }
    warnings::add(manifest, &ended, garbage, results);
    warnings::add_asked(manifest, settings, results);
    manifest.wall_s = seconds_since(manifest);
    manifest.complete = true;
}

/// CPU time of threads and children that could not be profiled. That of children is the kernel's total for all
/// processes without the time of recorded ones.
fn unprofiled_ns(manifest: &Manifest, results: &Results) -> u64 {
    if results.unprofiled_children == 0 {
        return results.unprofiled_ns;
    }
    let mut seen: BTreeMap<u32, u64> = BTreeMap::new();
    for process in &manifest.processes {
        let threads = manifest.threads.iter().filter(|thread| thread.process == process.id);
        let own: u64 = threads.map(|thread| thread.cpu_ns).sum();
        let known = process.aside.as_ref().map_or(own, |aside| own.max(aside.seen_ns + aside.unseen_ns));
        // A program that is executed in another's place continues its CPU time.
        let latest = seen.entry(process.pid).or_default();
        *latest = known.max(*latest);
    }
    results.unprofiled_ns.max(results.cpu_ns.saturating_sub(seen.values().sum()))
}

fn samples_accesses(engine: &EngineInfo) -> bool {
    engine.load_period > 0 || engine.store_period > 0
}

fn add_reason(engine: &mut EngineInfo, reason: &str) {
    if !reason.is_empty() {
        engine.reason = format!("{}; {reason}", engine.reason);
    }
}
