//! Recordings on disk, one or several, as input of the study.

use carom_base::{Cpu, Sample, SharingEvent, ThreadId};
use carom_store::ProcessInfo;

use super::{Periods, ShareInput};
use crate::recording::{Input, Merged, Offsets, Recorded, Windowed};

/// The code of the warning of a process that was to be sampled by accesses, but whose code was not translated: its
/// samples are by time.
const NOT_TRANSLATED: &str = "not-translated";

impl ShareInput for Recorded<'_> {
    fn core_of(&self, cpu: Cpu) -> Option<u32> {
        self.core_of(cpu)
    }

    fn periods(&self, thread: ThreadId) -> Option<Periods> {
        let manifest = self.manifest();
        let process = self.threads().get(thread.0 as usize)?.process;
        let by_time = |process: &ProcessInfo| process.warnings.iter().any(|each| each.code == NOT_TRANSLATED);
        if manifest.processes.get(process.0 as usize).is_some_and(by_time) {
            return None;
        }
        Periods::new(manifest.engine.load_period, manifest.engine.store_period)
    }

    fn transfer_ns(&self) -> Option<f64> {
        let ns = self.manifest().engine.costs_ns.transfer;
        (ns > 0).then_some(ns as f64)
    }

    fn events(&self) -> Box<dyn Iterator<Item = SharingEvent> + '_> {
        self.rows::<SharingEvent>()
    }

    fn samples(&self) -> Box<dyn Iterator<Item = Sample> + '_> {
        self.rows::<Sample>()
    }
}

impl<I: ShareInput + ?Sized> ShareInput for Merged<'_, I> {
    fn core_of(&self, cpu: Cpu) -> Option<u32> {
        self.core(cpu, I::core_of)
    }

    fn periods(&self, thread: ThreadId) -> Option<Periods> {
        self.of_thread(thread, I::periods).flatten()
    }

    /// That of the first: ranks run on equal machines.
    fn transfer_ns(&self) -> Option<f64> {
        self.inputs.iter().find_map(|(input, _)| input.transfer_ns())
    }

    fn events(&self) -> Box<dyn Iterator<Item = SharingEvent> + '_> {
        Box::new(
            self.inputs.iter().flat_map(|(input, by)| input.events().map(|event| moved_event(event, *by))),
        )
    }

    fn samples(&self) -> Box<dyn Iterator<Item = Sample> + '_> {
        Box::new(self.inputs.iter().flat_map(|(input, by)| {
            let moved = |sample: Sample| Sample {
                thread: by.thread(sample.thread),
                cpu: by.cpu(sample.cpu),
                ..sample
            };
            input.samples().map(moved)
        }))
    }
}

impl<I: ShareInput + ?Sized> ShareInput for Windowed<'_, I> {
    fn core_of(&self, cpu: Cpu) -> Option<u32> {
        self.input.core_of(cpu)
    }

    fn periods(&self, thread: ThreadId) -> Option<Periods> {
        self.input.periods(thread)
    }

    fn transfer_ns(&self) -> Option<f64> {
        self.input.transfer_ns()
    }

    /// An event is in the window that its later access is in.
    fn events(&self) -> Box<dyn Iterator<Item = SharingEvent> + '_> {
        Box::new(self.input.events().filter(|event| self.window.has(event.time)))
    }

    fn samples(&self) -> Box<dyn Iterator<Item = Sample> + '_> {
        Box::new(self.input.samples().filter(|sample| self.window.has(sample.time)))
    }
}

fn moved_event(mut event: SharingEvent, by: Offsets) -> SharingEvent {
    event.thread = by.thread(event.thread);
    event.cpu = by.cpu(event.cpu);
    event.earlier.thread = by.thread(event.earlier.thread);
    event.earlier.cpu = by.cpu(event.earlier.cpu);
    event
}

#[cfg(test)]
mod tests {
    use carom_base::{AccessKind, Nanos, ProcessId, ThreadId};
    use carom_store::{
        CpuInfo, EngineInfo, MachineInfo, Manifest, Recording, ThreadCounters, ThreadInfo, Warning, Writer,
    };

    use super::*;
    use crate::recording::{Combine, NoNames, Window};
    use crate::share::testing::{Event, Synthetic, TestSample};
    use crate::share::{ShareFindings, analyse};

    fn merged<'a>(inputs: impl IntoIterator<Item = &'a Synthetic>) -> Merged<'a, Synthetic> {
        Merged::new(inputs, Combine::Ranks)
    }

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
        let input = Recorded::new(&recording);
        let found = analyse(&input, &mut NoNames);
        assert_eq!((found.lines.len(), found.lines[0].process, found.lines[0].events), (1, ProcessId(0), 6));
        let losses = found.quality.losses;
        assert_eq!((losses.counters.armed, losses.counters.dropped_records), (30, 2));
        assert_eq!((losses.counters.budget_skipped, losses.unprofiled_threads), (8, 3));
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
            Recorded::new(&recording).periods(ThreadId(1))
        };
        assert_eq!(open(&[], 0, 0), None);
        assert_eq!(open(&["garbage"], 500, 0), Some(Periods { loads: 500, stores: 0 }));
        assert_eq!(open(&["not-translated"], 500, 500), None);
    }

    #[test]
    fn rows_get_the_numbers_of_their_recording() {
        let one = Synthetic::new(2);
        let other = Synthetic::new(2).events([Event::new(0, 1).cpus(2, 3)]).samples([TestSample::new(
            1,
            AccessKind::Load,
            0,
            8,
        )]);
        let m = merged([&one, &other]);
        let event = m.events().next().unwrap();
        assert_eq!((event.earlier.thread, event.thread), (ThreadId(2), ThreadId(3)));
        // Machines without names are different ones, of 8 processors each.
        assert_eq!((event.earlier.cpu, event.cpu), (Cpu(10), Cpu(11)));
        assert_eq!(m.core_of(event.cpu), m.core_of(event.earlier.cpu));
        assert_ne!(m.core_of(Cpu(3)), m.core_of(event.cpu));
        assert_eq!(m.samples().next().unwrap().thread, ThreadId(3));
    }

    #[test]
    fn periods_are_those_of_the_threads_recording() {
        let periods = |loads| Some(Periods { loads, stores: 7 });
        let by = |n, periods| Synthetic { periods, ..Synthetic::new(n) };
        // The second has no threads: the numbers 2 and 3 are the third's.
        let (a, b, c, d) = (by(2, periods(10)), by(0, periods(99)), by(2, None), by(1, periods(30)));
        let m = merged([&a, &b, &c, &d]);
        let found: Vec<_> = (0..5).map(|id| m.periods(ThreadId(id))).collect();
        assert_eq!(found, [periods(10), periods(10), None, None, periods(30)]);
    }

    /// 300 ms in three windows, in the second of which alone two threads share line 1; the last begins with an event of line 2.
    #[test]
    fn a_window_has_what_is_in_it_and_all_have_the_whole() {
        let events = (0..40).map(|n| {
            let (one, other) = (1 + n % 2, 2 - n % 2);
            Event::new(one, other)
                .earlier_at(64, 8)
                .later(AccessKind::Load, 72, 8)
                .at_ms(100 + 2 * u64::from(n))
        });
        let last = Event::new(1, 2).earlier_at(128, 8).later(AccessKind::Load, 128, 8).at_ms(200);
        // Every third at the line, where anything is.
        let samples = (0..300).map(|ms| {
            let at = if ms % 3 == 0 && (100..200).contains(&ms) { 64 } else { 4096 + 64 * ms };
            TestSample::new(1 + (ms % 2) as u32, AccessKind::Load, at, 8).step().at_ms(ms)
        });
        let input = Synthetic::new(3).every(10, 10).events(events).events([last]).samples(samples);
        let at = |ms: u64| Nanos(ms * 1_000_000);
        let ends = [Some(at(100)), Some(at(200)), None];
        let windows = [0, 100, 200].map(at).into_iter().zip(ends);
        let parts: Vec<_> = windows
            .map(|(from, until)| Windowed::new(&input, Window { from, until, seconds: 0.1 }))
            .map(|part| analyse(&part, &mut NoNames))
            .collect();
        let whole = analyse(&input, &mut NoNames);
        let numbers = |found: &ShareFindings| (found.quality.events, found.quality.step, found.lines.len());
        assert_eq!(parts.iter().map(numbers).collect::<Vec<_>>(), [(0, 100, 0), (40, 100, 1), (1, 100, 0)]);
        assert_eq!(numbers(&whole), (41, 300, 1));
        assert_eq!((parts[1].contended_share.value, whole.contended_share.value), (0.33, 0.11));
        let volume = |found: &ShareFindings| found.threads.volume();
        assert_eq!(parts.iter().map(volume).sum::<f64>(), volume(&whole));
        // Of 30 events, at 10 in 0.1 s.
        assert_eq!(parts[2].not_enough.and_then(|few| few.run_seconds), Some(3.0));
    }

    #[test]
    fn a_missing_file_is_counted() {
        let dir = tempfile::tempdir().unwrap();
        let mut writer = Writer::create(dir.path(), manifest()).unwrap();
        writer.push(&[TestSample::new(1, AccessKind::Load, 0, 8).build()]);
        writer.push(&[Event::new(0, 1).build()]);
        writer.finish(manifest()).unwrap();
        let recording = Recording::open(dir.path()).unwrap();
        std::fs::read_dir(dir.path())
            .unwrap()
            .flatten()
            .filter(|f| f.file_name() != "manifest.json")
            .for_each(|file| std::fs::remove_file(file.path()).unwrap());
        let input = Recorded::new(&recording);
        assert!(analyse(&input, &mut NoNames).lines.is_empty());
        assert_eq!(input.unreadable(), 2);
    }
}
