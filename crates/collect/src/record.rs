//! One recording from beginning to end.

use std::{
    io,
    path::PathBuf,
    process::Child,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use carom_base_sys::{clock, machine::Machine, process::ExitWatch};
use carom_base_wire::ControlSettings;
use carom_store::{
    Costs, CpuInfo, EngineInfo, Exit, MachineInfo, Manifest, StoreError, ThreadCounters, Warning, Writer,
    fresh_dir,
};

use crate::{
    drain::Drain,
    error::CollectError,
    launch,
    modules::BuildIds,
    session::{Results, Session},
    target::{self, Obstacle},
};

/// What to record.
#[derive(Clone, Debug)]
pub struct Request {
    /// The subcommand, for the manifest.
    pub command: String,
    /// Program and arguments.
    pub argv: Vec<String>,
    /// Where the profile goes; `None`: `PROGRAM.N.carom` in the current directory.
    pub dir: Option<PathBuf>,
    /// What the agents are to do.
    pub settings: ControlSettings,
    /// Why this engine.
    pub reason: String,
}

/// What became of it.
#[derive(Debug)]
pub struct Outcome {
    /// The profile.
    pub dir: PathBuf,
    /// How the program ended.
    pub exit: Exit,
    /// Why the profile could not be finished, where it could not. The program has run all the same.
    pub trouble: Option<StoreError>,
}

/// Rings hold about a third of a second at the default period; this leaves room for a busy machine.
const TICK: Duration = Duration::from_millis(40);

/// The manifest is renewed this often, so that a killed host leaves a readable profile.
const CHECKPOINT_TICKS: u32 = 50;

/// Runs the program to its end and leaves a profile.
///
/// # Errors
/// See [`CollectError`]: the program has not run then.
pub fn record(request: &Request) -> Result<Outcome, CollectError> {
    let program = request.argv.first().cloned().unwrap_or_default();
    let path = std::env::var("PATH").ok();
    let target = target::examine(&program, path.as_deref()).map_err(|obstacle| match obstacle {
        Obstacle::NotFound => CollectError::NotFound(program.clone()),
        Obstacle::Io(source) => CollectError::NotExecutable { program: program.clone(), source },
        Obstacle::Refused(refusal) => CollectError::Refused { program: program.clone(), refusal },
    })?;
    let failed = |path: &PathBuf| {
        let path = path.clone();
        move |source| CollectError::Session { path, source }
    };
    let agent =
        if target.linked_in { None } else { Some(launch::find_agent().map_err(failed(&target.path))?) };
    let name = target.path.file_name().map_or_else(|| program.clone(), |n| n.to_string_lossy().into_owned());
    let dir = match &request.dir {
        Some(dir) => dir.clone(),
        None => fresh_dir(&std::env::current_dir().unwrap_or_default(), &name)
            .map_err(failed(&PathBuf::from(".")))?,
    };
    let mut manifest = begin(request, name);
    let mut writer = Writer::create(&dir, manifest.clone())?;
    let dir = dir.canonicalize().map_err(failed(&dir))?;
    let session = Session::create(&dir.join("session"), &request.settings).map_err(failed(&dir))?;
    let child = launch::start(&request.argv, agent.as_deref(), session.dir());
    let mut child = match child {
        Ok(child) => child,
        Err(source) => {
            // Nothing ran: leave nothing behind that we made.
            drop(writer);
            let _ = std::fs::remove_dir_all(&dir);
            return Err(CollectError::NotExecutable { program, source });
        }
    };
    let mut drain = Drain::new(session.dir());
    let exit = follow(&mut child, &mut drain, &mut writer, &mut manifest);
    session.stop();
    drain.once(&mut writer);
    manifest.exit = exit;
    finish(&mut manifest, drain, session.results());
    let trouble = writer.finish(manifest).err();
    session.remove();
    Ok(Outcome { dir, exit, trouble })
}

fn follow(child: &mut Child, drain: &mut Drain, writer: &mut Writer, manifest: &mut Manifest) -> Exit {
    let end = ExitWatch::new(child.id());
    for tick in 1u32.. {
        match child.try_wait() {
            Ok(Some(status)) => return launch::exit(status),
            Ok(None) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return Exit::Unknown,
        }
        drain.once(writer);
        if tick.is_multiple_of(CHECKPOINT_TICKS) {
            manifest.wall_s = seconds_since(manifest);
            manifest.processes.clone_from(&drain.people.processes);
            manifest.threads.clone_from(&drain.people.threads);
            writer.checkpoint(manifest);
        }
        end.pause(TICK);
    }
    Exit::Unknown
}

fn seconds_since(manifest: &Manifest) -> f64 {
    clock::now().0.saturating_sub(manifest.started.0) as f64 / 1e9
}

fn begin(request: &Request, program: String) -> Manifest {
    let settings = &request.settings;
    let machine = Machine::here();
    Manifest {
        command: request.command.clone(),
        argv: request.argv.clone(),
        program,
        started_unix_s: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |d| d.as_secs_f64()),
        started: clock::now(),
        rank: rank(),
        machine: machine_info(&machine),
        engine: EngineInfo {
            name: "burst".into(),
            reason: request.reason.clone(),
            period_ns: settings.period_ns,
            budget_percent: f64::from(settings.budget_ppm) / 1e4,
            max_steps: settings.max_steps,
            watchpoints: settings.watchpoints,
            board_slots: settings.board_slots,
            sample_means: "thread time".into(),
            ..EngineInfo::default()
        },
        ..Manifest::default()
    }
}

fn machine_info(machine: &Machine) -> MachineInfo {
    MachineInfo {
        kernel: machine.kernel.release.clone(),
        cpu_model: machine.cpu.name.clone(),
        hostname: None,
        cpus: machine
            .cpus
            .iter()
            .map(|c| CpuInfo { cpu: c.cpu, core: c.core, package: c.package, node: c.node })
            .collect(),
        hypervisor: machine.hypervisor.as_ref().map(|h| h.kind.name().into()),
    }
}

/// The MPI rank, by the variables of Open MPI, PMI (MPICH, Intel MPI), PMIx and Slurm.
fn rank() -> Option<u32> {
    ["OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"]
        .iter()
        .find_map(|name| std::env::var(name).ok()?.parse().ok())
}

fn finish(manifest: &mut Manifest, drain: Drain, results: Results) {
    let Drain { people, garbage, .. } = drain;
    let ended: Vec<bool> = people.processes.iter().map(|process| people.ended(process.id)).collect();
    manifest.processes = people.processes;
    manifest.threads = people.threads;
    for thread in manifest.threads.iter_mut().filter(|thread| thread.tid == 0) {
        // Made but never met: its process was gone, or it could not be profiled.
        thread.started = manifest.started;
    }
    if let Some((name, reason)) = people.delivery {
        if !reason.is_empty() {
            manifest.engine.reason = format!("{}; {reason}", manifest.engine.reason);
        }
        if name == "posix-timer" {
            manifest.engine.watchpoints = 0;
        }
        manifest.engine.delivery = name;
    }
    manifest.engine.costs_ns = Costs {
        timer: results.timer_ns,
        step: results.step_ns,
        trap: results.trap_ns,
        modify: results.modify_ns,
    };
    let mut build_ids = BuildIds::default();
    for module in manifest.processes.iter_mut().flat_map(|process| &mut process.modules) {
        module.build_id = build_ids.of(&module.path);
    }
    if let Some(first) = manifest.processes.first_mut() {
        first.unprofiled_threads = results.unprofiled_threads;
        first.exit = Some(manifest.exit);
    }
    warn(manifest, &ended, garbage, results);
    manifest.wall_s = seconds_since(manifest);
    manifest.complete = true;
}

fn warn(manifest: &mut Manifest, ended: &[bool], garbage: u64, results: Results) {
    let mut warn = |code: &str, text: String| manifest.warnings.push(Warning { code: code.into(), text });
    if ended.is_empty() {
        warn("no-agent", "The agent did not start in the program, so nothing was recorded.".into());
    }
    let cut = ended.iter().filter(|ended| !**ended).count();
    if let Some(false) = ended.first() {
        let text = "The program ended without running its exit handlers; everything up to that instant is in the profile.";
        warn("cut-short", text.into());
    } else if cut > 0 {
        warn(
            "cut-short",
            format!(
                "Processes that ended without running their exit handlers, by a signal, or that still ran: {cut}."
            ),
        );
    }
    if garbage > 0 {
        warn(
            "garbage",
            format!(
                "{garbage} words in session memory were no records: the program may have written over them."
            ),
        );
    }
    let mut sums = ThreadCounters::default();
    manifest.threads.iter().for_each(|thread| sums += thread.counters);
    let mut warn = |code: &str, text: String| manifest.warnings.push(Warning { code: code.into(), text });
    if sums.sampler_lost > 0 {
        let text = "the program closed carom's file descriptors, so sampling of these threads stopped early";
        warn("sampler-closed", format!("{} threads: {text}.", sums.sampler_lost));
    }
    if sums.calls_interrupted > 0 {
        let text = "system calls of the program failed with EINTR because of carom's timer";
        warn("interrupted-calls", format!("{} {text}.", sums.calls_interrupted));
    }
    if sums.objects_unknown > 0 {
        let text = "look-ups of heap objects found the table in use, so their allocation is not named";
        warn("objects-unknown", format!("{} {text}.", sums.objects_unknown));
    }
    if results.unprofiled_threads > 0 {
        let text = "threads ran unprofiled for want of session memory, debug registers or file descriptors";
        warn("unprofiled-threads", format!("{} {text}.", results.unprofiled_threads));
    }
}
