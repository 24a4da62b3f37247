//! Memory over time, of a program that runs without the agent: from /proc, at even intervals.

use std::{
    process::Child,
    time::{Duration, Instant},
};

use carom_base_sys::{
    clock,
    memory::{Footprint, MemoryWatch},
};
use carom_store::{EngineInfo, Exit, FootprintRow, SampleMeans, Writer};

use crate::{
    error::CollectError,
    launch,
    manifest::{begin, seconds_since},
    record::{Outcome, Request},
};

/// The engine's name in such profiles.
const FOOTPRINT: &str = "footprint";

/// New descendants are looked for this often: a look costs more than reading all of them.
const CHILDREN: Duration = Duration::from_millis(20);

/// Runs the program to its end and leaves a profile of its memory, read once in each `interval`. The settings play no part.
///
/// # Errors
/// See [`CollectError`]: the program has not run then, or its profile cannot be written.
pub fn record_footprint(request: &Request, interval: Duration) -> Result<Outcome, CollectError> {
    let program = request.argv.first().map_or("", String::as_str);
    let name = program.rsplit('/').next().unwrap_or(program).to_owned();
    let dir = request.profile_dir(&name)?;
    let mut manifest = begin(request, name);
    manifest.engine = EngineInfo {
        name: FOOTPRINT.into(),
        reason: request.reason.clone(),
        sample_means: SampleMeans::Nothing,
        period_ns: interval.as_nanos() as u64,
        ..EngineInfo::default()
    };
    let mut writer = Writer::create(&dir, manifest.clone())?;
    let child = match launch::start_natively(&request.argv, request.streams) {
        Ok(child) => child,
        Err(error) => {
            // Nothing ran: leave nothing behind that we made.
            drop(writer);
            let _ = std::fs::remove_dir_all(&dir);
            return Err(error);
        }
    };
    let exit = follow(child, interval, |memory| {
        let row = FootprintRow { time: clock::now(), resident: memory.resident, reserved: memory.reserved };
        writer.push(&[row]);
    });
    manifest.exit = exit;
    manifest.wall_s = seconds_since(&manifest);
    manifest.complete = true;
    let trouble = writer.finish(manifest).err();
    Ok(Outcome { dir, exit, trouble })
}

fn follow(mut child: Child, interval: Duration, mut seen: impl FnMut(Footprint)) -> Exit {
    let mut watch = MemoryWatch::new(child.id());
    let mut next = Instant::now();
    let mut children_due = next;
    loop {
        if next >= children_due {
            watch.look_for_children();
            children_due = next + CHILDREN;
        }
        if let Some(memory) = watch.now() {
            seen(memory);
        }
        match child.try_wait() {
            Ok(Some(status)) => return launch::exit(status),
            Ok(None) => {}
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => return Exit::Unknown,
        }
        // A moment that was missed is not made up for.
        next = (next + interval).max(Instant::now());
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
    }
}
