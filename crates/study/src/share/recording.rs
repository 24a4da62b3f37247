//! A recording on disk as input of the study.

use std::collections::BTreeMap;

use carom_base::{Cpu, Sample, SharingEvent, ThreadId};
use carom_store::{CpuInfo, ProcessInfo, Recording};

use super::{Losses, Periods, ShareInput, ThreadEntry};
use crate::recorded::Recorded;

/// What is assumed of a machine whose topology is not in the recording: the most that x86-64 kernels support, so
/// that merged machines keep apart.
const MOST_CPUS: u32 = 8192;

/// The code of the warning of a process that was to be sampled by accesses, but whose code was not translated: its
/// samples are by time.
const NOT_TRANSLATED: &str = "not-translated";

/// A recording, read anew from disk for each pass.
pub struct RecordedInput<'a> {
    recorded: Recorded<'a>,
    cores: BTreeMap<Cpu, u32>,
}

impl<'a> RecordedInput<'a> {
    /// Prepares the study of `recording`.
    pub fn new(recording: &'a Recording) -> Self {
        Self { recorded: Recorded::new(recording), cores: cores(&recording.manifest().machine.cpus) }
    }

    /// Damaged chunks and unreadable files met so far. Their rows are missing from the findings, which the
    /// report must say.
    pub fn unreadable(&self) -> u64 {
        self.recorded.unreadable()
    }
}

/// Core numbers repeat from package to package; these do not. At most as many as processors.
fn cores(cpus: &[CpuInfo]) -> BTreeMap<Cpu, u32> {
    let mut numbers: BTreeMap<(u32, u32), u32> = BTreeMap::new();
    cpus.iter()
        .map(|info| {
            let next = numbers.len() as u32;
            (info.cpu, *numbers.entry((info.package, info.core)).or_insert(next))
        })
        .collect()
}

impl ShareInput for RecordedInput<'_> {
    fn threads(&self) -> &[ThreadEntry] {
        &self.recorded.threads
    }

    fn processes(&self) -> u32 {
        self.recorded.manifest().processes.len() as u32
    }

    fn cpus(&self) -> u32 {
        self.cores.last_key_value().map_or(MOST_CPUS, |(cpu, _)| cpu.0.saturating_add(1))
    }

    fn machine(&self) -> Option<&str> {
        self.recorded.manifest().machine.hostname.as_deref()
    }

    fn core_of(&self, cpu: Cpu) -> Option<u32> {
        self.cores.get(&cpu).copied()
    }

    fn seconds(&self) -> f64 {
        self.recorded.manifest().wall_s
    }

    fn periods(&self, thread: ThreadId) -> Option<Periods> {
        let manifest = self.recorded.manifest();
        let process = self.recorded.threads.get(thread.0 as usize)?.process;
        let by_time = |process: &ProcessInfo| process.warnings.iter().any(|each| each.code == NOT_TRANSLATED);
        if manifest.processes.get(process.0 as usize).is_some_and(by_time) {
            return None;
        }
        Periods::new(manifest.engine.load_period, manifest.engine.store_period)
    }

    fn transfer_ns(&self) -> Option<f64> {
        let ns = self.recorded.manifest().engine.costs_ns.transfer;
        (ns > 0).then_some(ns as f64)
    }

    fn losses(&self) -> Losses {
        let manifest = self.recorded.manifest();
        let by_thread = manifest.threads.iter().map(|thread| Losses {
            dropped: thread.counters.dropped_records,
            budget_skipped: thread.counters.budget_skipped,
            collisions: thread.counters.collisions,
            armed: thread.counters.armed,
            traps: thread.counters.traps,
            unprofiled_threads: 0,
        });
        let by_process = manifest
            .processes
            .iter()
            .map(|process| Losses { unprofiled_threads: process.unprofiled_threads, ..Losses::default() });
        by_thread.chain(by_process).fold(Losses::default(), Losses::plus)
    }

    fn events(&self) -> Box<dyn Iterator<Item = SharingEvent> + '_> {
        self.recorded.rows::<SharingEvent>()
    }

    fn samples(&self) -> Box<dyn Iterator<Item = Sample> + '_> {
        self.recorded.rows::<Sample>()
    }
}

#[cfg(test)]
mod tests {
    use carom_base::{AccessKind, ProcessId, ThreadId};
    use carom_store::{EngineInfo, MachineInfo, Manifest, ThreadCounters, ThreadInfo, Warning, Writer};

    use super::*;
    use crate::share::testing::{Event, TestSample};
    use crate::share::{NoNames, analyse};

    fn manifest() -> Manifest {
        let thread = |id, armed| ThreadInfo {
            id: ThreadId(id),
            counters: ThreadCounters {
                armed,
                dropped_records: 1,
                budget_skipped: 4,
                ..ThreadCounters::default()
            },
            ..ThreadInfo::default()
        };
        let cpu = |cpu, package| CpuInfo { cpu: Cpu(cpu), core: 0, package, node: 0 };
        Manifest {
            wall_s: 2.0,
            machine: MachineInfo { cpus: vec![cpu(0, 0), cpu(1, 0), cpu(2, 1)], ..MachineInfo::default() },
            processes: vec![ProcessInfo { unprofiled_threads: 3, ..ProcessInfo::default() }],
            threads: vec![thread(0, 10), thread(1, 20)],
            ..Manifest::default()
        }
    }

    #[test]
    fn a_recording_on_disk_is_studied() {
        let dir = tempfile::tempdir().unwrap();
        let mut writer = Writer::create(dir.path(), manifest()).unwrap();
        writer.push(&[TestSample::new(1, AccessKind::Load, 0, 8).build()]);
        let event = Event::new(0, 1).cpus(0, 1).build();
        writer.push(&[event; 6]);
        writer.finish(manifest()).unwrap();
        let recording = Recording::open(dir.path()).unwrap();
        let input = RecordedInput::new(&recording);
        let found = analyse(&input, &mut NoNames);
        assert_eq!((found.lines.len(), found.lines[0].process, found.lines[0].events), (1, ProcessId(0), 6));
        assert_eq!((found.quality.armed, found.quality.dropped), (30, 2));
        assert_eq!((found.quality.budget_skipped, found.quality.unprofiled_threads), (8, 3));
        // 6 events in 2 s: 30 take 10 s.
        assert_eq!(found.not_enough.and_then(|n| n.run_seconds), Some(10.0));
        assert_eq!(found.distance.smt_siblings, 6.0);
        assert_eq!(input.unreadable(), 0);
    }

    #[test]
    fn samples_stand_for_accesses_where_code_was_translated() {
        let open = |warnings: &[&str], load_period, store_period| {
            let dir = tempfile::tempdir().unwrap();
            let warning = |code: &&str| Warning { code: (*code).into(), text: String::new() };
            let process =
                ProcessInfo { warnings: warnings.iter().map(warning).collect(), ..ProcessInfo::default() };
            let engine = EngineInfo { load_period, store_period, ..EngineInfo::default() };
            let manifest = Manifest { engine, processes: vec![process], ..manifest() };
            Writer::create(dir.path(), manifest.clone()).unwrap().finish(manifest).unwrap();
            let recording = Recording::open(dir.path()).unwrap();
            RecordedInput::new(&recording).periods(ThreadId(1))
        };
        assert_eq!(open(&[], 0, 0), None);
        assert_eq!(open(&["garbage"], 500, 0), Some(Periods { loads: 500, stores: 0 }));
        assert_eq!(open(&["not-translated"], 500, 500), None);
    }

    #[test]
    fn equal_core_numbers_of_two_packages_are_two_cores() {
        let manifest = manifest();
        let cores = cores(&manifest.machine.cpus);
        assert_eq!(cores, BTreeMap::from([(Cpu(0), 0), (Cpu(1), 0), (Cpu(2), 1)]));
    }

    #[test]
    fn a_missing_file_is_counted() {
        let dir = tempfile::tempdir().unwrap();
        Writer::create(dir.path(), manifest()).unwrap().finish(manifest()).unwrap();
        let recording = Recording::open(dir.path()).unwrap();
        std::fs::read_dir(dir.path())
            .unwrap()
            .flatten()
            .filter(|f| f.file_name() != "manifest.json")
            .for_each(|file| std::fs::remove_file(file.path()).unwrap());
        let input = RecordedInput::new(&recording);
        assert!(analyse(&input, &mut NoNames).lines.is_empty());
        assert_eq!(input.unreadable(), 2);
    }
}
