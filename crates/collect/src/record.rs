//! One recording from beginning to end.

use std::{
    io,
    path::PathBuf,
    process::Child,
    sync::mpsc::SyncSender,
    time::{Duration, Instant},
};

use carom_base::ProcessId;
use carom_base_sys::child::{self, ExitWatch};
use carom_base_wire::{Engine, Settings};
use carom_store::{
    Exit, FrameTotals, Manifest, SeriesInfo, StoreError, StreamFrame, Writer, fresh_dir, store_instructions,
};

use crate::{
    drain::Drain,
    error::CollectError,
    generated::Generated,
    launch::{self, Streams},
    manifest::{begin, finish, machine_here, seconds_since},
    outside::Outside,
    readings::MemoryReadings,
    room::Room,
    session::{Results, Session},
    target,
    trace::CodeAddress,
};

/// What to record.
#[derive(Clone, Debug)]
pub struct Request {
    /// The subcommand, for the manifest.
    pub command: String,
    /// The questions that it asks, by the names of their subcommands, where it is several.
    pub questions: Vec<String>,
    /// Program and arguments.
    pub argv: Vec<String>,
    /// Where the profile goes; `None`: `PROGRAM.N.carom` in the current directory.
    pub dir: Option<PathBuf>,
    /// What the agents are to do.
    pub settings: Settings,
    /// Why this engine.
    pub reason: String,
    /// Measure how long a load from memory takes, at the end.
    pub time_memory: bool,
    /// Read how much memory the program has each time this long after the time before, in whole milliseconds.
    pub memory: Option<Duration>,
    /// The program's standard input and output.
    pub streams: Streams,
    /// The instructions whose loads a targeted trace looks at.
    pub targets: Vec<CodeAddress>,
    /// Its place in a series of runs, where it is one of several.
    pub series: Option<SeriesInfo>,
    /// Where accesses go that would be kept in the profile otherwise. A receiver that is slow holds the program up; one that is gone
    /// loses them.
    pub accesses: Option<SyncSender<HandedOn>>,
}

/// Accesses that are handed on instead of kept.
#[derive(Clone, Debug)]
pub struct HandedOn {
    /// The process that made them. Frames of one process are in the order in which it handed them over.
    pub process: ProcessId,
    /// The accesses. Its thread has its number in the manifest.
    pub frame: StreamFrame,
}

impl Request {
    /// Where the profile of a program of this name goes.
    ///
    /// # Errors
    /// The current directory cannot be read.
    pub(crate) fn profile_dir(&self, name: &str) -> Result<PathBuf, CollectError> {
        match &self.dir {
            Some(dir) => Ok(dir.clone()),
            None => fresh_dir(&std::env::current_dir().unwrap_or_default(), name)
                .map_err(|source| CollectError::Session { path: ".".into(), source }),
        }
    }
}

/// The result of a recording.
#[derive(Debug)]
pub struct Outcome {
    /// The profile.
    pub dir: PathBuf,
    /// How the program ended.
    pub exit: Exit,
    /// The accesses that were to be kept.
    pub kept: FrameTotals,
    /// Why the profile could not be finished, where it could not. The program has run all the same.
    pub trouble: Option<StoreError>,
}

/// Pause between two looks into the rings, which hold about a third of a second at the default period: this leaves room
/// for a busy machine.
const TICK: Duration = Duration::from_millis(40);

/// The same where each sample may end several uses, and writes as many records; and where translated
/// code takes as many samples as the program has time for.
const SHORT_TICK: Duration = Duration::from_millis(10);

/// Shorter pauses would cost the program more than they gain.
const SHORTEST_TICK: Duration = Duration::from_millis(1);

/// The manifest is renewed this often, so that a killed host leaves a readable profile.
const CHECKPOINT: Duration = Duration::from_secs(2);

/// Runs the program to its end and leaves a profile.
///
/// # Errors
/// See [`CollectError`]: the program has not run then.
pub fn record(request: &Request) -> Result<Outcome, CollectError> {
    let program = request.argv.first().cloned().unwrap_or_default();
    let path = std::env::var("PATH").ok();
    let engine = request.settings.engine;
    let target = target::examine(&program, path.as_deref(), engine)
        .map_err(|obstacle| CollectError::of(&program, obstacle))?;
    let failed = |path: &PathBuf| {
        let path = path.clone();
        move |source| CollectError::Session { path, source }
    };
    let agent =
        if target.linked_in { None } else { Some(launch::find_agent().map_err(failed(&target.path))?) };
    let name = target.path.file_name().map_or_else(|| program.clone(), |n| n.to_string_lossy().into_owned());
    let dir = request.profile_dir(&name)?;
    let mut manifest = begin(request, name);
    let mut writer = Writer::create(&dir, manifest.clone())?;
    let dir = dir.canonicalize().map_err(failed(&dir))?;
    let session =
        Session::create(&dir.join("session"), &request.settings, &request.targets).map_err(failed(&dir))?;
    let children_ns = child::children_cpu();
    let child = launch::start(&request.argv, agent.as_deref(), session.dir(), request.streams);
    let mut child = match child {
        Ok(child) => child,
        Err(source) => {
            // Nothing ran: leave nothing behind that we made.
            drop(writer);
            let _ = std::fs::remove_dir_all(&dir);
            return Err(CollectError::NotExecutable { program, source });
        }
    };
    // Not before the program starts: it takes tens of milliseconds where there are a hundred processors.
    manifest.machine = machine_here();
    writer.checkpoint(&manifest);
    let mut drain = Drain::new(session.dir(), request.accesses.clone());
    let settings = &request.settings;
    let many = settings.reuse.is_some() || settings.engine == Engine::Translate && settings.share.is_some();
    let longest = if many { SHORT_TICK } else { TICK };
    let mut others = Others {
        outside: Outside::new(session.dir()),
        generated: Generated::default(),
        room: Room::new(&dir, settings),
        memory: request.memory.map(|interval| MemoryReadings::new(child.id(), interval)),
    };
    let exit = follow(&mut child, longest, (&mut drain, &mut others), &session, &mut writer, &mut manifest);
    session.stop();
    drain.last(&mut writer);
    let instructions = drain.instructions();
    others.outside.look(&drain.table);
    manifest.warnings.extend(others.outside.warning(&drain.table));
    manifest.warnings.extend(others.room.warning());
    manifest.exit = exit;
    let results = Results { cpu_ns: child::children_cpu().saturating_sub(children_ns), ..session.results() };
    let kept = std::mem::take(&mut drain.kept);
    finish(&mut manifest, request, drain, results);
    let started = manifest.started_unix_s;
    for process in &mut manifest.processes {
        process.generated = others.generated.of(process, &dir, started);
    }
    let finished = writer.finish(manifest);
    let counted = if instructions.is_empty() { Ok(()) } else { store_instructions(&dir, &instructions) };
    let trouble = finished.and(counted).err();
    session.remove();
    Ok(Outcome { dir, exit, kept, trouble })
}

/// What else is looked at while the program runs.
struct Others {
    outside: Outside,
    generated: Generated,
    room: Room,
    memory: Option<MemoryReadings>,
}

fn follow(
    child: &mut Child,
    longest: Duration,
    (drain, others): (&mut Drain, &mut Others),
    session: &Session,
    writer: &mut Writer,
    manifest: &mut Manifest,
) -> Exit {
    let end = ExitWatch::new(child.id());
    let mut last = Instant::now();
    let mut tick = longest;
    loop {
        tick = next_tick(tick, longest, drain.once(writer));
        // Before it is waited for, which ends its entry in the kernel.
        drain.table.update_aside();
        match child.try_wait() {
            Ok(Some(status)) => return launch::exit(status),
            Ok(None) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return Exit::Unknown,
        }
        others.outside.look_where_new(&drain.table);
        others.generated.look(&drain.table);
        if others.room.is_short() {
            session.stop();
        }
        if last.elapsed() >= CHECKPOINT {
            last = Instant::now();
            manifest.wall_s = seconds_since(manifest);
            manifest.processes.clone_from(&drain.table.processes);
            manifest.threads.clone_from(&drain.table.threads);
            writer.checkpoint(manifest);
        }
        match &mut others.memory {
            Some(memory) => memory.pause(&end, tick, |row| writer.push(&[row])),
            None => _ = end.pause(tick),
        }
    }
}

/// The next pause, after one in which the fullest ring was filled to this part (1: no room was left).
fn next_tick(tick: Duration, longest: Duration, fullness: f64) -> Duration {
    let next = if fullness > 0.5 {
        tick / 2
    } else if fullness < 0.125 {
        tick * 2
    } else {
        tick
    };
    next.clamp(SHORTEST_TICK, longest)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A ring that takes 20 ms to fill is three quarters full after 15 ms: pauses settle at 10 ms, when it is half full,
    /// and go back to the longest when nothing more comes.
    #[test]
    fn pauses_follow_how_fast_rings_fill() {
        let mut tick = TICK;
        for _ in 0..20 {
            tick = next_tick(tick, TICK, (tick.as_secs_f64() / 0.020).min(1.0));
        }
        assert_eq!(tick, Duration::from_millis(10));
        for _ in 0..20 {
            tick = next_tick(tick, TICK, 0.0);
        }
        assert_eq!(tick, TICK);
    }

    #[test]
    fn no_pause_is_too_short() {
        assert_eq!(next_tick(SHORTEST_TICK, TICK, 1.0), SHORTEST_TICK);
    }
}
