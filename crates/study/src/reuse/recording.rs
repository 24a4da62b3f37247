//! Recordings on disk, one or several, as input of the study.

use std::collections::BTreeSet;

use carom_base::{ReuseCell, ReuseEvent, ThreadId};
use carom_store::{CacheInfo, CpuInfo, ReuseInfo};

use super::{Cache, Latencies, ReuseInput, Unit};
use crate::recording::{Merged, Recorded, Windowed};

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

impl ReuseInput for Recorded<'_> {
    /// One of each kind: machines of unequal cores have several, of which all are listed.
    fn caches(&self) -> Vec<Cache> {
        let machine = &self.manifest().machine;
        let data = machine.caches.iter().filter(|cache| cache.kind != "instruction" && cache.bytes > 0);
        let mut caches: Vec<Cache> = data.map(|info| cache(info, &machine.cpus)).collect();
        caches.sort_by_key(|cache| (cache.level, cache.bytes, cache.ways, cache.shared_by));
        caches.dedup();
        caches
    }

    fn unit(&self) -> Unit {
        match self.manifest().reuse.as_ref() {
            Some(info) if info.distances == "ns" => Unit::Nanoseconds,
            _ => Unit::Accesses,
        }
    }

    fn accesses(&self, thread: ThreadId) -> Option<u64> {
        let counts = self.manifest().threads.get(thread.0 as usize)?.counts?;
        Some(counts.loads?.saturating_add(counts.stores?))
    }

    fn domain(&self, thread: ThreadId) -> u32 {
        self.manifest().threads.get(thread.0 as usize).and_then(|thread| thread.domain).unwrap_or(0)
    }

    fn period(&self) -> f64 {
        let engine = &self.manifest().engine;
        let periods = [engine.load_period, engine.store_period];
        periods.into_iter().filter(|period| *period > 0).min().map_or(1.0, |period| period as f64)
    }

    fn place_rate(&self) -> f64 {
        self.manifest().reuse.as_ref().map_or(1.0, |info| info.sample_rate)
    }

    fn in_episodes(&self) -> bool {
        self.manifest().reuse.as_ref().is_some_and(ReuseInfo::in_episodes)
    }

    /// Where both were measured.
    fn latencies(&self) -> Option<Latencies> {
        let costs = &self.manifest().engine.costs_ns;
        let (memory_ns, transfer_ns) = (costs.memory as f64, costs.transfer as f64);
        (costs.memory > 0 && costs.transfer > 0).then_some(Latencies { memory_ns, transfer_ns })
    }

    fn events(&self) -> Box<dyn Iterator<Item = ReuseEvent> + '_> {
        self.rows::<ReuseEvent>()
    }

    fn cells(&self) -> Box<dyn Iterator<Item = ReuseCell> + '_> {
        self.rows::<ReuseCell>()
    }
}

impl<I: ReuseInput + ?Sized> ReuseInput for Merged<'_, I> {
    fn in_first_run(&self, thread: ThreadId) -> ThreadId {
        self.in_first_run(thread)
    }

    /// Those of the first: ranks run on equal machines.
    fn caches(&self) -> Vec<Cache> {
        self.inputs.first().map(|(input, _)| input.caches()).unwrap_or_default()
    }

    fn unit(&self) -> Unit {
        self.inputs.first().map(|(input, _)| input.unit()).unwrap_or_default()
    }

    fn accesses(&self, thread: ThreadId) -> Option<u64> {
        self.of_thread(thread, I::accesses).flatten()
    }

    fn domain(&self, thread: ThreadId) -> u32 {
        self.of_thread(thread, I::domain).unwrap_or(0)
    }

    fn period(&self) -> f64 {
        self.inputs.first().map_or(1.0, |(input, _)| input.period())
    }

    fn place_rate(&self) -> f64 {
        self.inputs.iter().map(|(input, _)| input.place_rate()).fold(1.0, f64::min)
    }

    fn in_episodes(&self) -> bool {
        self.inputs.iter().any(|(input, _)| input.in_episodes())
    }

    fn latencies(&self) -> Option<Latencies> {
        self.inputs.iter().find_map(|(input, _)| input.latencies())
    }

    fn events(&self) -> Box<dyn Iterator<Item = ReuseEvent> + '_> {
        Box::new(self.inputs.iter().flat_map(|(input, by)| {
            input.events().map(|mut event| {
                event.earlier.thread = by.thread(event.earlier.thread);
                if let Some(later) = &mut event.later {
                    later.thread = by.thread(later.thread);
                }
                event
            })
        }))
    }

    fn cells(&self) -> Box<dyn Iterator<Item = ReuseCell> + '_> {
        Box::new(self.inputs.iter().flat_map(|(input, by)| {
            input.cells().map(|cell| ReuseCell { thread: by.thread(cell.thread), ..cell })
        }))
    }
}

impl<I: ReuseInput + ?Sized> ReuseInput for Windowed<'_, I> {
    fn in_first_run(&self, thread: ThreadId) -> ThreadId {
        self.input.in_first_run(thread)
    }

    fn caches(&self) -> Vec<Cache> {
        self.input.caches()
    }

    fn unit(&self) -> Unit {
        self.input.unit()
    }

    /// Not known: accesses are counted over the whole run.
    fn accesses(&self, _: ThreadId) -> Option<u64> {
        None
    }

    fn domain(&self, thread: ThreadId) -> u32 {
        self.input.domain(thread)
    }

    fn period(&self) -> f64 {
        self.input.period()
    }

    fn place_rate(&self) -> f64 {
        self.input.place_rate()
    }

    fn in_episodes(&self) -> bool {
        self.input.in_episodes()
    }

    fn latencies(&self) -> Option<Latencies> {
        self.input.latencies()
    }

    /// Uses that began in the window, wherever they ended.
    fn events(&self) -> Box<dyn Iterator<Item = ReuseEvent> + '_> {
        Box::new(self.input.events().filter(|event| self.window.has(event.earlier.time)))
    }

    /// None: counts are those of the whole run.
    fn cells(&self) -> Box<dyn Iterator<Item = ReuseCell> + '_> {
        Box::new(std::iter::empty())
    }
}

#[cfg(test)]
mod tests {
    use carom_base::{Cpu, DistanceKind, Nanos};
    use carom_store::{
        EngineInfo, MachineInfo, Manifest, Recording, ReuseInfo, ThreadCounters, ThreadInfo, Writer,
    };

    use super::*;
    use crate::recording::{Combine, Input, NoNames, Window};
    use crate::reuse::testing::{Synthetic, reads, reuse};
    use crate::reuse::{ReuseOptions, analyse};

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
        let input = Recorded::new(&recording);
        let caches: Vec<_> =
            input.caches().iter().map(|c| (c.level, c.bytes >> 10, c.shared_by, c.shared)).collect();
        assert_eq!(caches, [(1, 32, 2, false), (2, 1024, 2, false), (3, 32 << 10, 4, true)]);
        // Nobody asked for the domain of the first; a thread that does not exist is in the first domain as well.
        assert_eq!([0, 1, 2, 3].map(|id| input.domain(ThreadId(id))), [0, 0, 1, 0]);
        assert_eq!((input.unit(), input.place_rate(), input.period()), (Unit::Nanoseconds, 0.01, 1000.0));
        let losses = input.losses().counters;
        assert_eq!((losses.uses, losses.uses_armed, losses.budget_skipped), (21, 15, 6));
        assert_eq!((input.events().count(), input.cells().count(), input.unreadable()), (0, 0, 0));
        assert_eq!(input.accesses(ThreadId(0)), None);
    }

    #[test]
    fn ranks_keep_apart_and_runs_add_up() {
        let runs = [Synthetic::new(2).cells([reads(1, 5, 7)]), Synthetic::new(2).cells([reads(1, 5, 8)])];
        let threads = |combine| {
            let merged = Merged::new(&runs, combine);
            let of = |cell: ReuseCell| (ReuseInput::in_first_run(&merged, cell.thread).0, cell.count);
            merged.cells().map(of).collect::<Vec<_>>()
        };
        assert_eq!(threads(Combine::Ranks), [(1, 7), (3, 8)]);
        assert_eq!(threads(Combine::Runs), [(1, 7), (1, 8)]);
    }

    /// What an event stands for is estimated in each window, from its own events: counts are of the whole run.
    #[test]
    fn windows_divide_uses_by_their_beginnings() {
        let at = |ms: u64| {
            let mut event = reuse(ms);
            event.earlier.time = Nanos(ms * 1_000_000);
            event
        };
        let input = Synthetic::new(1).events((0..300).map(at)).cells([reads(0, 5, 7)]);
        let window = |from, until| Window { from: Nanos(from), until, seconds: 0.1 };
        let parts = [window(0, Some(Nanos(100_000_000))), window(100_000_000, None)];
        let parts = parts.map(|window| {
            let found = analyse(&Windowed::new(&input, window), &mut NoNames, &ReuseOptions::default());
            let time = found.curves.iter().find(|curve| curve.distance == DistanceKind::Time).unwrap();
            let low = time.histogram.first().map(|bin| bin.low).unwrap();
            (found.quality.uses, found.quality.exact_accesses, time.accesses, low >= 64)
        });
        assert_eq!(parts, [(100, 0, 100.0, false), (200, 0, 200.0, true)]);
    }
}
