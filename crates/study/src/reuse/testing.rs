//! Hand-made recordings: process 0, domain 0 for all, unless told otherwise.

use carom_base::{
    Access, AccessKind, Addr, CellClass, Cpu, DistanceKind, Ip, LINE_BYTES, Locality, LogBin, Nanos,
    ProcessId, ReuseCell, ReuseEvent, ReuseKind, ReuseOutcome, Scope, StackId, ThreadId, Touch,
};

use super::{
    Basis, Bin, Cache, Curve, CurveKind, CurveScope, Latencies, MissRatio, Outcomes, ReuseInput, ReusedBy,
    Unit,
};
use crate::recording::{Input, Losses, ThreadEntry};

/// A recording in memory.
#[derive(Clone, Default)]
pub(super) struct Synthetic {
    pub threads: Vec<ThreadEntry>,
    pub caches: Vec<Cache>,
    pub events: Vec<ReuseEvent>,
    pub cells: Vec<ReuseCell>,
    pub period: f64,
    pub rate: f64,
    pub nanoseconds: bool,
    pub latencies: Option<Latencies>,
    /// By thread; 0 for those that are not there.
    pub domains: Vec<u32>,
}

/// A curve of stack distances of lines, exact, of 100 accesses of all threads.
pub(super) fn stack_curve(outcomes: Outcomes, histogram: Vec<Bin>, miss_ratio: Vec<MissRatio>) -> Curve {
    Curve {
        scope: CurveScope::All,
        reused_by: ReusedBy::SameThread,
        kind: CurveKind::Any,
        distance: DistanceKind::Stack,
        unit: Unit::Places,
        granularity: LINE_BYTES as u32,
        basis: Basis::Exact,
        accesses: 100.0,
        observations: 100,
        outcomes,
        histogram,
        miss_ratio,
    }
}

impl Synthetic {
    pub fn new(threads: u32) -> Self {
        let threads = (0..threads).map(|id| ThreadEntry::new(ThreadId(id), ProcessId(0))).collect();
        let cache = |level, bytes, shared| Cache { level, bytes, shared, ..Cache::default() };
        Self {
            threads,
            caches: vec![cache(1, 32 << 10, false), cache(2, 1 << 20, false), cache(3, 32 << 20, true)],
            period: 1.0,
            rate: 1.0,
            ..Self::default()
        }
    }

    pub fn cells(mut self, cells: impl IntoIterator<Item = ReuseCell>) -> Self {
        self.cells.extend(cells);
        self
    }

    pub fn events(mut self, events: impl IntoIterator<Item = ReuseEvent>) -> Self {
        self.events.extend(events);
        self
    }
}

impl Input for Synthetic {
    fn threads(&self) -> &[ThreadEntry] {
        &self.threads
    }
    fn processes(&self) -> u32 {
        1
    }
    fn cpus(&self) -> u32 {
        8
    }
    fn machine(&self) -> Option<&str> {
        None
    }
    fn seconds(&self) -> f64 {
        2.0
    }
    fn losses(&self) -> Losses {
        Losses::default()
    }
}

impl ReuseInput for Synthetic {
    fn caches(&self) -> Vec<Cache> {
        self.caches.clone()
    }
    fn unit(&self) -> Unit {
        if self.nanoseconds { Unit::Nanoseconds } else { Unit::Accesses }
    }
    fn accesses(&self, _: ThreadId) -> Option<u64> {
        None
    }
    fn domain(&self, thread: ThreadId) -> u32 {
        self.domains.get(thread.0 as usize).copied().unwrap_or(0)
    }
    fn period(&self) -> f64 {
        self.period
    }
    fn place_rate(&self) -> f64 {
        self.rate
    }
    fn latencies(&self) -> Option<Latencies> {
        self.latencies
    }
    fn events(&self) -> Box<dyn Iterator<Item = ReuseEvent> + '_> {
        Box::new(self.events.iter().copied())
    }
    fn cells(&self) -> Box<dyn Iterator<Item = ReuseCell> + '_> {
        Box::new(self.cells.iter().copied())
    }
}

/// A cell: stack distances of 64-byte lines in the thread's own cache.
pub(super) fn cell(thread: u32, class: CellClass, distance: u64, count: u64) -> ReuseCell {
    ReuseCell {
        thread: ThreadId(thread),
        scope: Scope::Private,
        distance: DistanceKind::Stack,
        granularity: 64,
        class,
        bin: LogBin::of(distance),
        from_other: false,
        pair: None,
        at: Addr(0),
        count,
    }
}

/// The same, of reads after reads.
pub(super) fn reads(thread: u32, distance: u64, count: u64) -> ReuseCell {
    cell(thread, CellClass::Reuse(ReuseKind::Rar), distance, count)
}

/// One side of an event: 8 bytes.
pub(super) fn touch(thread: u32, kind: AccessKind, addr: u64, ip: u64) -> Touch {
    Touch {
        thread: ThreadId(thread),
        time: Nanos(0),
        cpu: Cpu(thread),
        access: Access { ip: Ip(ip), addr: Addr(addr), width: 8, kind },
        stack: StackId(ip << 8),
    }
}

/// A load by thread 0 at address 0 that is loaded again by it at this distance.
pub(super) fn reuse(distance: u64) -> ReuseEvent {
    ReuseEvent {
        scope: Scope::Private,
        locality: Locality::Temporal,
        outcome: ReuseOutcome::Reused,
        earlier: touch(0, AccessKind::Load, 0, 0x10),
        later: Some(touch(0, AccessKind::Load, 0, 0x20)),
        distance,
        weight: 1.0,
    }
}
