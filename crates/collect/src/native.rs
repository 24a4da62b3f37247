//! Runs without the agent: how long the program takes, and what it uses, when nobody looks inside.

use std::time::Instant;

use carom_base_sys::{
    child::{self, Usage},
    host::{
        kernel_counters::{InOutMark, KernelCounters, KernelEvent},
        pmu::{PmuCounters, PmuEvent, PmuReading},
        tracepoints::Tracepoints,
    },
};
use carom_store::{EngineInfo, Exit, FrameTotals, PmuCount, SampleMeans, StoreError, UsageInfo, Writer};

use crate::{
    error::CollectError,
    launch::{self, Streams},
    manifest::{begin, seconds_since},
    record::{Outcome, Request},
};

/// The engine's name in profiles of such runs.
const NATIVE: &str = "native";

/// What the kernel counts of a run beside what it counts of every one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KernelEvents {
    /// Tracepoints, as `subsystem:event`.
    pub tracepoints: Vec<String>,
    /// Events of PMUs.
    pub pmu: Vec<PmuEvent>,
    /// Whether those take turns where there are more of them than counters. Else they must fit.
    pub multiplex: bool,
}

/// Those that are open, for the next program.
#[derive(Debug, Default)]
struct Opened {
    tracepoints: Tracepoints,
    pmu: PmuCounters,
}

impl Opened {
    fn for_next_child(events: &KernelEvents) -> Result<Self, CollectError> {
        let open = if events.multiplex { PmuCounters::in_turns } else { PmuCounters::group };
        Ok(Self {
            tracepoints: Tracepoints::for_next_child(events.tracepoints.iter().map(String::as_str))?,
            pmu: open(&events.pmu)?,
        })
    }
}

/// Runs the program to its end. Leaves no profile.
///
/// # Errors
/// It cannot be started.
pub fn run_natively(argv: &[String], streams: Streams) -> Result<Exit, CollectError> {
    used(argv, streams, Opened::default()).map(|(exit, _)| exit)
}

/// Runs the program to its end, without the agent, and leaves a profile of what it used, and of these events. The
/// settings play no part.
///
/// # Errors
/// See [`CollectError`]: the program has not run then, or its profile cannot be written.
pub fn record_natively(request: &Request, events: &KernelEvents) -> Result<Outcome, CollectError> {
    let program = request.argv.first().map_or("", String::as_str);
    let opened = Opened::for_next_child(events)?;
    let name = program.rsplit('/').next().unwrap_or(program).to_owned();
    let dir = request.profile_dir(&name)?;
    let mut manifest = begin(request, name);
    manifest.engine = EngineInfo {
        name: NATIVE.into(),
        reason: request.reason.clone(),
        sample_means: SampleMeans::Nothing,
        ..EngineInfo::default()
    };
    let writer = Writer::create(&dir, manifest.clone())?;
    let (exit, usage) = match used(&request.argv, request.streams, opened) {
        Ok(done) => done,
        Err(error) => {
            // Nothing ran: leave nothing behind that we made.
            drop(writer);
            let _ = std::fs::remove_dir_all(&dir);
            return Err(error);
        }
    };
    manifest.usage = Some(usage);
    manifest.exit = exit;
    manifest.wall_s = seconds_since(&manifest);
    manifest.complete = true;
    let trouble: Option<StoreError> = writer.finish(manifest).err();
    Ok(Outcome { dir, exit, kept: FrameTotals::default(), trouble })
}

fn used(argv: &[String], streams: Streams, mut opened: Opened) -> Result<(Exit, UsageInfo), CollectError> {
    let before = Before { peak_resident: child::own_peak_resident(), in_out: InOutMark::now() };
    let counters = KernelCounters::for_next_child();
    opened.pmu.begin();
    let begun = Instant::now();
    let child = launch::start_natively(argv, streams)?;
    let program = || argv.first().cloned().unwrap_or_default();
    let (status, usage) =
        child::wait(child).map_err(|source| CollectError::NotExecutable { program: program(), source })?;
    let elapsed_ns = begun.elapsed().as_nanos() as u64;
    let pmu = opened
        .pmu
        .read()
        .into_iter()
        .map(|(event, found)| (event.name.clone(), counted(event, found)))
        .collect();
    let usage = info(&usage, elapsed_ns, &before, counters);
    Ok((launch::exit(status), UsageInfo { tracepoints: opened.tracepoints.read(), pmu, ..usage }))
}

fn counted(event: PmuEvent, found: PmuReading) -> PmuCount {
    PmuCount {
        count: found.count,
        enabled_ns: found.enabled_ns,
        running_ns: found.running_ns,
        scale: event.scale,
        of_machine: event.is_of_machine(),
        unit: event.unit,
    }
}

/// What is known of carom itself before the program starts, which the kernel counts into it.
struct Before {
    peak_resident: u64,
    in_out: Option<InOutMark>,
}

fn info(usage: &Usage, elapsed_ns: u64, before: &Before, mut counters: KernelCounters) -> UsageInfo {
    let in_out = before.in_out.and_then(|before| before.since());
    UsageInfo {
        elapsed_ns,
        user_ns: usage.user_ns,
        system_ns: usage.system_ns,
        peak_resident_bytes: Some(usage.peak_resident_bytes).filter(|peak| *peak > before.peak_resident),
        minor_faults: usage.minor_faults,
        major_faults: usage.major_faults,
        voluntary_switches: usage.voluntary_switches,
        involuntary_switches: usage.involuntary_switches,
        blocks_read: usage.blocks_read,
        blocks_written: usage.blocks_written,
        task_clock_ns: counters.read(KernelEvent::TaskClock),
        migrations: counters.read(KernelEvent::Migrations),
        alignment_faults: counters.read(KernelEvent::AlignmentFaults),
        emulation_faults: counters.read(KernelEvent::EmulationFaults),
        read_calls: in_out.map(|used| used.read_calls),
        write_calls: in_out.map(|used| used.write_calls),
        call_bytes_read: in_out.map(|used| used.bytes_read),
        call_bytes_written: in_out.map(|used| used.bytes_written),
        ..UsageInfo::default()
    }
}
