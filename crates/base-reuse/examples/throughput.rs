//! How many accesses per second the exact analyser takes, on one core, and how much memory per place.
//!
//! `throughput [FOOTPRINT_MIB | KIND ...]` prints a line per footprint (default: 1, 64 and 1024), kind of trace (default:
//! all) and sampling.
//! The time for making the accesses is taken off, and others' use of the machine by counting CPU time and taking the best
//! of several passes. Kinds: `stream` passes over all lines again and again, 8 loads of 8 bytes to each; `random`
//! loads from uniformly random lines; `mixed` has, of 16 accesses, 12 to a stack frame, 3 to a random line near a
//! position that moves on, and 1 to a random line.

use carom_base::{Access, AccessKind, Addr, CellClass, DistanceKind, Ip, LINE_BYTES, ThreadId};
use carom_base_reuse::exact::{Config, Domain, Exact, Sampling};

/// CPU time of this thread in seconds: what others do on the machine matters less.
fn cpu_time() -> std::io::Result<f64> {
    let times = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    let nanoseconds = times.split_whitespace().next().and_then(|running| running.parse::<f64>().ok());
    Ok(nanoseconds.unwrap_or_default() / 1e9)
}

/// Resident memory in bytes: `VmRSS`, or its peak, `VmHWM`.
fn resident(field: &str) -> std::io::Result<usize> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix(field)).unwrap_or_default();
    let kib = line.split_whitespace().nth(1).and_then(|kib| kib.parse::<usize>().ok());
    Ok(kib.unwrap_or_default() * 1024)
}

/// Makes the peak what is resident now (proc_pid_clear_refs(5)).
fn reset_peak() -> std::io::Result<()> {
    std::fs::write("/proc/self/clear_refs", "5")
}

const KINDS: [&str; 3] = ["stream", "random", "mixed"];

/// Accesses handed over at once, as many as fit in a core's caches.
const BATCH: usize = 4096;

/// Accesses of a trace.
const LENGTH: usize = 1 << 24;

/// How often the trace is repeated after the first time. The best is reported.
const REPEATS: usize = 5;

const BASE: u64 = 0x7000_0000_0000;

/// Offsets in units of 8 bytes.
type Trace = Vec<u32>;

fn access(nth: usize, offset: u32) -> Access {
    let kind = if nth.is_multiple_of(4) { AccessKind::Store } else { AccessKind::Load };
    let addr = Addr(BASE + u64::from(offset) * 8);
    Access { ip: Ip(0x40_0000 + (nth as u64 % 64) * 4), addr, width: 8, kind }
}

/// Marsaglia's xorshift64.
fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

fn trace(kind: &str, lines: u64, state: &mut u64) -> Trace {
    let words_per_line = LINE_BYTES / 8;
    let mut position = 0;
    let word = |nth: usize| match kind {
        "stream" => nth as u64 % (lines * words_per_line),
        "random" => random(state) % lines * words_per_line,
        _ => match nth % 16 {
            0..12 => lines * words_per_line + nth as u64 * 7 % 24,
            12..15 => {
                position += random(state) % 3;
                (position + random(state) % 64) % lines * words_per_line
            }
            _ => random(state) % lines * words_per_line,
        },
    };
    (0..LENGTH).map(word).map(|word| word as u32).collect()
}

/// CPU seconds that one pass over a trace takes.
fn pass(trace: &Trace, batch: &mut Vec<Access>, mut take: impl FnMut(&[Access])) -> std::io::Result<f64> {
    let start = cpu_time()?;
    for offsets in trace.chunks(BATCH) {
        batch.clear();
        batch.extend(offsets.iter().enumerate().map(|(nth, offset)| access(nth, *offset)));
        take(batch);
    }
    Ok(cpu_time()? - start)
}

/// The best of several passes after the first, and the first.
fn passes(
    trace: &Trace,
    batch: &mut Vec<Access>,
    mut take: impl FnMut(&[Access]),
) -> std::io::Result<(f64, f64)> {
    let first = pass(trace, batch, &mut take)?;
    let mut best = f64::MAX;
    for _ in 0..REPEATS {
        best = best.min(pass(trace, batch, &mut take)?);
    }
    Ok((best, first))
}

/// Accesses per second.
fn measure(name: &str, mib: u64, trace: &Trace, config: &Config) -> Result<f64, Box<dyn std::error::Error>> {
    let mut batch = Vec::with_capacity(BATCH);
    let (alone, _) = passes(trace, &mut batch, |batch| {
        std::hint::black_box(batch);
    })?;
    let before = resident("VmRSS")?;
    reset_peak()?;
    let mut exact = Exact::new(config)?;
    let (best, first) = passes(trace, &mut batch, |batch| exact.accesses(ThreadId(0), Domain(0), batch))?;
    let peak = resident("VmHWM")?.saturating_sub(before);
    let cells = exact.drain(ThreadId(0));
    let places: u64 = cells
        .iter()
        .filter(|cell| (cell.class, cell.distance) == (CellClass::First, DistanceKind::Time))
        .map(|cell| cell.count)
        .sum();
    let rate = |seconds: f64| LENGTH as f64 / (seconds - alone).max(f64::MIN_POSITIVE) / 1e6;
    println!(
        "{name:8} {mib:5} MiB {:12} {:8.1} M/s (first pass {:.1} M/s), {places} places, {:.1} bytes each",
        format!("{:?}", config.sampling),
        rate(best),
        rate(first),
        peak as f64 / places.max(1) as f64
    );
    Ok(rate(best))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut footprints: Vec<u64> = arguments.iter().filter_map(|mib| mib.parse().ok()).collect();
    let mut kinds: Vec<&str> =
        arguments.iter().map(String::as_str).filter(|kind| KINDS.contains(kind)).collect();
    if kinds.is_empty() {
        kinds = KINDS.into();
    }
    if footprints.is_empty() {
        footprints = vec![1, 64, 1024];
    }
    let mut state = 0x1234_5678_9ABC_DEF1;
    for mib in footprints {
        for &name in &kinds {
            let trace = trace(name, mib << 20 >> LINE_BYTES.ilog2(), &mut state);
            let exact = measure(name, mib, &trace, &Config::default())?;
            let config = Config { sampling: Sampling::Rate(0.01), ..Config::default() };
            let sampled = measure(name, mib, &trace, &config)?;
            println!("{:24}sampled / exact: {:.1}", "", sampled / exact);
        }
    }
    Ok(())
}
