//! A recording on disk as input of the study.

use std::collections::BTreeSet;

use carom_base::{ReuseCell, ReuseEvent, ThreadId};
use carom_store::{CacheInfo, CpuInfo, Recording, ReuseInfo};

use super::{Cache, Latencies, Losses, ReuseInput, Unit};
use crate::{recorded::Recorded, share::ThreadEntry};

/// A recording, read anew from disk for each pass.
pub struct RecordedReuse<'a> {
    recorded: Recorded<'a>,
    latencies: Option<Latencies>,
}

impl<'a> RecordedReuse<'a> {
    /// Prepares the study of `recording`.
    pub fn new(recording: &'a Recording) -> Self {
        Self { recorded: Recorded::new(recording), latencies: None }
    }

    /// The same, with latencies that were measured on the machine.
    pub fn with_latencies(self, latencies: Option<Latencies>) -> Self {
        Self { latencies, ..self }
    }

    /// Damaged chunks and unreadable files met so far. Their rows are missing from the findings, which the
    /// report must say.
    pub fn unreadable(&self) -> u64 {
        self.recorded.unreadable()
    }

    fn info(&self) -> Option<&ReuseInfo> {
        self.recorded.manifest().reuse.as_ref()
    }
}

/// A cache that processors of several cores have in common is shared; hardware threads of one core share it anyway.
fn cache(info: &CacheInfo, cpus: &[CpuInfo]) -> Cache {
    let cores: BTreeSet<(u32, u32)> =
        cpus.iter().filter(|cpu| info.cpus.contains(&cpu.cpu.0)).map(|cpu| (cpu.package, cpu.core)).collect();
    Cache {
        level: info.level,
        bytes: info.bytes,
        line_bytes: info.line_bytes,
        ways: info.ways,
        shared_by: info.cpus.len() as u32,
        shared: cores.len() > 1,
    }
}

impl ReuseInput for RecordedReuse<'_> {
    fn threads(&self) -> &[ThreadEntry] {
        &self.recorded.threads
    }

    fn processes(&self) -> u32 {
        self.recorded.manifest().processes.len() as u32
    }

    fn seconds(&self) -> f64 {
        self.recorded.manifest().wall_s
    }

    /// One of each kind: machines of unequal cores have several, of which all are listed.
    fn caches(&self) -> Vec<Cache> {
        let machine = &self.recorded.manifest().machine;
        let data = machine.caches.iter().filter(|cache| cache.kind != "instruction" && cache.bytes > 0);
        let mut caches: Vec<Cache> = data.map(|info| cache(info, &machine.cpus)).collect();
        caches.sort_by_key(|cache| (cache.level, cache.bytes, cache.ways, cache.shared_by));
        caches.dedup();
        caches
    }

    fn unit(&self) -> Unit {
        match self.info() {
            Some(info) if info.distances == "ns" => Unit::Nanoseconds,
            _ => Unit::Accesses,
        }
    }

    fn accesses(&self, thread: ThreadId) -> Option<u64> {
        let counts = self.recorded.manifest().threads.get(thread.0 as usize)?.counts?;
        Some(counts.loads?.saturating_add(counts.stores?))
    }

    fn domain(&self, thread: ThreadId) -> u32 {
        self.recorded.manifest().threads.get(thread.0 as usize).and_then(|thread| thread.domain).unwrap_or(0)
    }

    fn period(&self) -> f64 {
        let engine = &self.recorded.manifest().engine;
        let periods = [engine.load_period, engine.store_period];
        periods.into_iter().filter(|period| *period > 0).min().map_or(1.0, |period| period as f64)
    }

    fn place_rate(&self) -> f64 {
        self.info().map_or(1.0, |info| info.sample_rate)
    }

    fn latencies(&self) -> Option<Latencies> {
        self.latencies
    }

    fn losses(&self) -> Losses {
        let manifest = self.recorded.manifest();
        let by_thread = manifest.threads.iter().map(|thread| Losses {
            offered: thread.counters.uses,
            budget_skipped: thread.counters.budget_skipped,
            armed: thread.counters.uses_armed,
            window_ns: thread.counters.arm_ns,
            threads_armed: thread.counters.threads_armed,
            threads_unarmed: thread.counters.threads_unarmed,
            early_touches: thread.counters.early_touches,
            dropped: thread.counters.dropped_records,
            cells_lost: thread.counters.cells_lost,
            unprofiled_threads: 0,
        });
        let by_process = manifest
            .processes
            .iter()
            .map(|process| Losses { unprofiled_threads: process.unprofiled_threads, ..Losses::default() });
        by_thread.chain(by_process).fold(Losses::default(), Losses::plus)
    }

    fn events(&self) -> Box<dyn Iterator<Item = ReuseEvent> + '_> {
        self.recorded.rows::<ReuseEvent>()
    }

    fn cells(&self) -> Box<dyn Iterator<Item = ReuseCell> + '_> {
        self.recorded.rows::<ReuseCell>()
    }
}

#[cfg(test)]
mod tests {
    use carom_base::Cpu;
    use carom_store::{EngineInfo, MachineInfo, Manifest, ThreadCounters, ThreadInfo, Writer};

    use super::*;

    fn manifest() -> Manifest {
        let info = |level, kind: &str, bytes, cpus: &[u32]| CacheInfo {
            level,
            kind: kind.into(),
            bytes,
            cpus: cpus.into(),
            ..CacheInfo::default()
        };
        let cpu = |cpu, core| CpuInfo { cpu: Cpu(cpu), core, ..CpuInfo::default() };
        let thread = |id| ThreadInfo {
            id: ThreadId(id),
            domain: id.checked_sub(1),
            counters: ThreadCounters {
                uses: 7,
                uses_armed: 5,
                budget_skipped: 2,
                ..ThreadCounters::default()
            },
            ..ThreadInfo::default()
        };
        Manifest {
            engine: EngineInfo { load_period: 3000, store_period: 1000, ..EngineInfo::default() },
            machine: MachineInfo {
                // Two cores with two hardware threads each.
                cpus: vec![cpu(0, 0), cpu(1, 0), cpu(2, 1), cpu(3, 1)],
                caches: vec![
                    info(1, "data", 32 << 10, &[0, 1]),
                    info(1, "data", 32 << 10, &[2, 3]),
                    info(1, "instruction", 64 << 10, &[0, 1]),
                    info(2, "unified", 1 << 20, &[0, 1]),
                    info(3, "unified", 32 << 20, &[0, 1, 2, 3]),
                ],
                ..MachineInfo::default()
            },
            reuse: Some(ReuseInfo { distances: "ns".into(), sample_rate: 0.01, ..ReuseInfo::default() }),
            threads: vec![thread(0), thread(1), thread(2)],
            ..Manifest::default()
        }
    }

    #[test]
    fn a_recording_says_how_it_was_made() {
        let dir = tempfile::tempdir().unwrap();
        Writer::create(dir.path(), manifest()).unwrap().finish(manifest()).unwrap();
        let recording = Recording::open(dir.path()).unwrap();
        let input = RecordedReuse::new(&recording);
        let caches: Vec<_> =
            input.caches().iter().map(|c| (c.level, c.bytes >> 10, c.shared_by, c.shared)).collect();
        assert_eq!(caches, [(1, 32, 2, false), (2, 1024, 2, false), (3, 32 << 10, 4, true)]);
        // Nobody asked for the domain of the first; a thread that does not exist is in the first domain as well.
        assert_eq!([0, 1, 2, 3].map(|id| input.domain(ThreadId(id))), [0, 0, 1, 0]);
        assert_eq!((input.unit(), input.place_rate(), input.period()), (Unit::Nanoseconds, 0.01, 1000.0));
        let losses = input.losses();
        assert_eq!((losses.offered, losses.armed, losses.budget_skipped), (21, 15, 6));
        assert_eq!((input.events().count(), input.cells().count(), input.unreadable()), (0, 0, 0));
        assert_eq!(input.accesses(ThreadId(0)), None);
    }
}
