//! Memory and counters of the kernel over time, of a program that runs without the agent: at even intervals.

use std::{
    process::Child,
    time::{Duration, Instant},
};

use carom_base::Nanos;
use carom_base_sys::{
    clock,
    host::{timed_counters::TimedCounters, tracepoints::TracepointError},
};
use carom_store::{CounterRow, EngineInfo, Exit, FootprintRow, FrameTotals, SampleMeans, Warning, Writer};

use crate::{
    error::CollectError,
    launch,
    manifest::{begin, seconds_since},
    readings::MemoryReadings,
    record::{Outcome, Request},
};

/// The engine's name in such profiles.
const FOOTPRINT: &str = "footprint";

/// The warning where counters cannot be had.
const NO_COUNTERS: &str = "counters";

/// Runs the program to its end and leaves a profile of its memory, read once in each `interval`, and of the software events and
/// tracepoints of the kernel that have these names. Where the kernel does not count them, the profile says why. The settings play no
/// part.
///
/// # Errors
/// See [`CollectError`]: the program has not run then, or its profile cannot be written. There is no such tracepoint.
pub fn record_footprint(
    request: &Request,
    interval: Duration,
    events: &[String],
) -> Result<Outcome, CollectError> {
    let (counters, refused) = TimedCounters::for_next_child(events.iter().map(String::as_str));
    if let Some(unknown) = refused.iter().find(|error| matches!(error, TracepointError::Unknown(_))) {
        return Err(unknown.clone().into());
    }
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
    manifest.counters = counters.names().map(str::to_owned).collect();
    // The same reason mostly holds for all of them.
    manifest
        .warnings
        .extend(refused.first().map(|error| Warning { code: NO_COUNTERS.into(), text: format!("{error}.") }));
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
    let mut changes = Changes { last: vec![0; manifest.counters.len()], counters };
    let exit = follow(child, interval, |memory| {
        writer.push(memory.as_slice());
        writer.push(&changes.at(memory.map_or_else(clock::now, |row| row.time)));
    });
    manifest.exit = exit;
    manifest.wall_s = seconds_since(&manifest);
    manifest.complete = true;
    let trouble = writer.finish(manifest).err();
    Ok(Outcome { dir, exit, kept: FrameTotals::default(), trouble })
}

/// Counters, and what they had counted when they were read last.
struct Changes {
    counters: TimedCounters,
    last: Vec<u64>,
}

impl Changes {
    /// Those that have changed by now.
    fn at(&mut self, time: Nanos) -> Vec<CounterRow> {
        let read = (0..).zip(self.counters.read()).zip(&mut self.last);
        read.filter_map(|((counter, count), last)| {
            let count = count.filter(|count| count != last)?;
            *last = count;
            Some(CounterRow { time, counter, count })
        })
        .collect()
    }
}

/// Calls `seen` at every moment, and once more when the program has ended.
fn follow(mut child: Child, interval: Duration, mut seen: impl FnMut(Option<FootprintRow>)) -> Exit {
    let mut readings = MemoryReadings::new(child.id(), interval);
    let mut next = Instant::now();
    loop {
        seen(readings.now());
        match child.try_wait() {
            Ok(Some(status)) => {
                seen(None);
                return launch::exit(status);
            }
            Ok(None) => {}
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => return Exit::Unknown,
        }
        // A moment that was missed is not made up for.
        next = (next + interval).max(Instant::now());
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
    }
}
