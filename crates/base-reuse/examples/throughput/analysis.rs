//! One analysis of one trace: its time, its memory, and its result.

use std::io;

use carom_base::{Access, CellClass, DistanceKind, LINE_BYTES, LogBin, ReuseCell, ThreadId};
use carom_base_reuse::exact::{Config, Domain, Exact, Sampling, Sequence};
use rustix::time::{ClockId, clock_gettime};

use crate::trace::{self, BATCH, Packed};

/// More than the analysis keeps apart as recent.
const WARM_LINES: u64 = 1 << 10;

/// An analysis of one thread's accesses in one cache, and its cost.
pub struct Analysis {
    exact: Exact,
    /// An analysis of a few accesses, so that its code is resident before anything is measured. Kept, so that its
    /// memory is not reused.
    _warm: Exact,
    batch: Vec<Access>,
    sequence: Sequence,
    accesses: u64,
    cpu_s: f64,
    /// The time that it takes to read the clock twice.
    clock_s: f64,
    /// Resident memory before the analysis.
    before: usize,
}

/// The result.
pub struct Outcome {
    pub accesses: u64,
    /// The number of lines that were accessed; an estimate where lines are sampled.
    pub lines: u64,
    /// CPU time of the analysis only.
    pub cpu_s: f64,
    /// The peak of resident memory, without that from before.
    pub peak_bytes: usize,
    /// Miss ratios of fully associative LRU caches, by lines.
    pub curve: Vec<(u64, f64)>,
}

impl Analysis {
    pub fn new(sampling: Sampling) -> Result<Self, Box<dyn std::error::Error>> {
        let config = Config { sampling, ..Config::default() };
        let (exact, mut warm) = (Exact::new(&config)?, Exact::new(&config)?);
        let few: Vec<Access> = trace::make("mixed", WARM_LINES).take(BATCH).map(Packed::access).collect();
        warm.accesses(ThreadId(0), Domain(0), &few);
        // Touched, so that it is not counted as the analyser's.
        let batch = vec![Packed(0).access(); BATCH];
        let mut sequence = Sequence::default();
        sequence.push(ThreadId(0), Domain(0), &batch);
        sequence.clear();
        let clock_s = (0..1000).map(|_| -(cpu_time() - cpu_time())).fold(f64::MAX, f64::min);
        let before = resident("VmRSS")?;
        // Resets the peak to what is resident now (proc_pid_clear_refs(5)).
        std::fs::write("/proc/self/clear_refs", "5")?;
        Ok(Self { exact, _warm: warm, batch, sequence, accesses: 0, cpu_s: 0.0, clock_s, before })
    }

    pub fn take(&mut self, batch: &[Packed]) {
        self.batch.clear();
        self.batch.extend(batch.iter().map(|packed| packed.access()));
        let start = cpu_time();
        self.sequence.push_all(ThreadId(0), Domain(0), &mut self.batch);
        sequence(&mut self.exact, &self.sequence);
        self.sequence.clear();
        self.cpu_s += (cpu_time() - start - self.clock_s).max(0.0);
        self.accesses += batch.len() as u64;
    }

    pub fn finish(mut self) -> io::Result<Outcome> {
        let peak_bytes = resident("VmHWM")?.saturating_sub(self.before);
        let cells = self.exact.drain(ThreadId(0));
        Ok(Outcome {
            accesses: self.accesses,
            lines: touches(&cells, |cell| cell.class == CellClass::First),
            cpu_s: self.cpu_s,
            peak_bytes,
            curve: curve(&cells),
        })
    }
}

/// [`Exact::sequence`], compiled for the instructions that most processors have, as in the agent.
fn sequence(exact: &mut Exact, sequence: &Sequence) {
    if is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("lzcnt")
        && is_x86_feature_detected!("popcnt")
    {
        // SAFETY: the processor has these features.
        unsafe { wide(exact, sequence) }
    } else {
        exact.sequence(sequence);
    }
}

#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn wide(exact: &mut Exact, sequence: &Sequence) {
    exact.sequence(sequence);
}

/// The wanted touches among those with a stack distance.
fn touches(cells: &[ReuseCell], wanted: impl Fn(&ReuseCell) -> bool) -> u64 {
    let of_stack = cells.iter().filter(|cell| cell.distance == DistanceKind::Stack);
    of_stack.filter(|cell| wanted(cell)).map(|cell| cell.count).sum()
}

/// At every size that bounds a bin, from a smallest cache of 16 lines up to where all lines fit in.
fn curve(cells: &[ReuseCell]) -> Vec<(u64, f64)> {
    const SMALLEST: u64 = 1024 / LINE_BYTES;
    let all = touches(cells, |_| true).max(1) as f64;
    let reused = |cell: &ReuseCell| matches!(cell.class, CellClass::Reuse(_));
    let largest = cells.iter().filter(|cell| cell.distance == DistanceKind::Stack && reused(cell));
    let last = largest.map(|cell| cell.bin.0 + 1).max().unwrap_or_default();
    let sizes = (LogBin::of(SMALLEST).0..=last).map(|bin| LogBin(bin).low());
    sizes
        .map(|size| (size, touches(cells, |cell| !reused(cell) || cell.bin.low() >= size) as f64 / all))
        .collect()
}

/// CPU time of this thread in seconds, which other load on the machine affects less.
fn cpu_time() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Resident memory in bytes: `VmRSS`, or its peak, `VmHWM`.
fn resident(field: &str) -> io::Result<usize> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix(field)).unwrap_or_default();
    let kib = line.split_whitespace().nth(1).and_then(|kib| kib.parse::<usize>().ok());
    Ok(kib.unwrap_or_default() * 1024)
}
