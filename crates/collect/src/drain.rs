//! Carries what the agents wrote into the store.

use std::{
    collections::{HashMap, HashSet},
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
};

use carom_base::{Ip, ProcessId, ReuseCell, SharingEvent, StackId, ThreadId, Touch};
use carom_base_wire::{Record, journal::Line};
use carom_store::{HeapObject, Stack, Writer};

use crate::{accesses::AccessFile, cells::CellFile, processes::ProcessTable, segment::Segment};

/// Events that wait at most.
const MOST_WAITING: usize = 1 << 16;

/// One drain of a session: what has been read so far.
pub struct Drain {
    dir: PathBuf,
    pub table: ProcessTable,
    journals: HashMap<PathBuf, Journal>,
    segments: HashMap<PathBuf, (ProcessId, Segment)>,
    cells: HashMap<PathBuf, (ProcessId, CellFile)>,
    accesses: HashMap<PathBuf, (ProcessId, AccessFile)>,
    /// Words in rings that were no record.
    garbage: u64,
    /// Events about a thread of another process whose slot has not been seen yet.
    waiting: Vec<(ProcessId, SharingEvent)>,
    /// Call paths in the store, which has each once.
    stacks: HashSet<(ProcessId, StackId)>,
}

/// How far a journal has been read.
#[derive(Default)]
struct Journal {
    offset: u64,
    partial: Vec<u8>,
    /// Who has written into it.
    writers: HashSet<ProcessId>,
    /// Whose the next lines are, and how many, where they are not of the process that it is named after.
    of: Option<(ProcessId, u64)>,
    /// All of them had ended before it was read last, so nothing is expected to come.
    is_over: bool,
}

impl Drain {
    pub fn new(dir: &Path) -> Self {
        Self {
            dir: dir.to_owned(),
            table: ProcessTable::default(),
            journals: HashMap::new(),
            segments: HashMap::new(),
            cells: HashMap::new(),
            accesses: HashMap::new(),
            garbage: 0,
            waiting: Vec::new(),
            stacks: HashSet::new(),
        }
    }

    /// Reads everything that is new. Returns how full the fullest ring was: 1 where there was no room left.
    pub fn once(&mut self, writer: &mut Writer) -> f64 {
        self.discover();
        let mut segments = std::mem::take(&mut self.segments);
        // A call path may come through another thread's ring than what refers to it.
        let mut records = Vec::new();
        let mut fullness: f64 = 0.0;
        // Before their slots: what has ended has written all by then.
        for (path, (process, segment)) in &segments {
            if path.as_os_str().as_encoded_bytes().ends_with(b".0.seg") {
                self.table.note_fate(*process, segment.fate());
            }
        }
        for (process, segment) in segments.values() {
            for slot in 0..segment.slots() {
                fullness = fullness.max(self.visit(*process, segment, slot, &mut records));
            }
        }
        records.iter().for_each(|(process, _, record)| self.keep_stack(*process, record, writer));
        for (process, event) in std::mem::take(&mut self.waiting) {
            self.keep_event(process, event, writer);
        }
        for (process, thread, record) in records {
            self.keep(process, thread, record, writer);
        }
        self.read_cells(writer);
        self.read_accesses(writer);
        segments.retain(|path, (process, _)| !self.is_over(path, *process));
        self.segments = segments;
        fullness
    }

    /// As [`once`](Self::once), for the last time: also what was written after a process had said that it ends.
    pub fn last(&mut self, writer: &mut Writer) {
        self.journals.values_mut().for_each(|journal| journal.is_over = false);
        self.once(writer);
        while self.read_cells(writer) {}
        while self.read_accesses(writer) {}
    }

    /// A process that ended in an orderly way has written all that it will; its file can go.
    fn is_over(&self, path: &Path, process: ProcessId) -> bool {
        let over = self.table.has_ended(process);
        if over {
            // What is left is removed with the session.
            let _ = std::fs::remove_file(path);
        }
        over
    }

    fn discover(&mut self) {
        let Ok(entries) = std::fs::read_dir(&self.dir) else { return };
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        // By start time within a process id, so that parents are met before children.
        paths.sort_by_cached_key(|path| started(path));
        // Segments first: lines of the journal may say that their process is over, and then it has written all.
        for path in &paths {
            match (path.extension().and_then(|e| e.to_str()), stem(path)) {
                (Some("seg"), Some(stem)) if !self.segments.contains_key(path) => {
                    if let Ok(Some(segment)) = Segment::open(path) {
                        let process = self.table.process(stem);
                        self.segments.insert(path.clone(), (process, segment));
                    }
                }
                (Some("journal"), Some(stem)) => {
                    let process = self.table.process(stem);
                    let journal = self.journals.entry(path.clone()).or_default();
                    journal.writers.insert(process);
                    if !journal.is_over {
                        journal.is_over = journal.writers.iter().all(|&writer| self.table.has_ended(writer));
                        journal.take(path, process, &mut self.table);
                    }
                }
                (Some("cells"), Some(stem)) if !self.cells.contains_key(path) => {
                    let process = self.table.process(stem);
                    self.cells.insert(path.clone(), (process, CellFile::default()));
                }
                (Some("accesses"), Some(stem)) if !self.accesses.contains_key(path) => {
                    let process = self.table.process(stem);
                    self.accesses.insert(path.clone(), (process, AccessFile::default()));
                }
                _ => {}
            }
        }
    }

    /// Reads what is new in one ring, and says how full it was.
    fn visit(
        &mut self,
        process: ProcessId,
        segment: &Segment,
        slot: usize,
        records: &mut Vec<(ProcessId, ThreadId, Record)>,
    ) -> f64 {
        let Some(visit) = segment.visit(slot) else { return 0.0 };
        let thread = self.table.thread(process, visit.head.serial);
        self.table.update(thread, &visit.head);
        self.garbage = self.garbage.saturating_add(visit.garbage);
        records.extend(visit.records.into_iter().map(|record| (process, thread, record)));
        visit.fullness
    }

    fn keep_stack(&mut self, process: ProcessId, record: &Record, writer: &mut Writer) {
        let Record::Stack(stack) = record else { return };
        // Every thread sends a path once; the store has it once per process.
        if self.stacks.insert((process, stack.id)) {
            let frames = stack.frames.iter().take(stack.depth).map(|&ip| Ip(ip)).collect();
            writer.push(&[Stack { process, id: stack.id, frames, truncated: stack.truncated }]);
        }
    }

    fn keep(&mut self, process: ProcessId, thread: ThreadId, record: Record, writer: &mut Writer) {
        match record {
            Record::Sample(mut sample) => {
                sample.thread = thread;
                sample.stack = self.known(process, sample.stack);
                writer.push(&[sample]);
            }
            Record::Event(event) => self.keep_event(process, SharingEvent { thread, ..event }, writer),
            Record::Stack(_) => {}
            Record::Reuse(mut event) => {
                event.earlier = self.touch(process, event.earlier);
                event.later = event.later.map(|later| self.touch(process, later));
                writer.push(&[event]);
            }
            Record::Cell(cell) => self.keep_cells(process, vec![cell], writer),
            Record::Object { base, size, site, seen } => {
                let site = self.known(process, site);
                writer.push(&[HeapObject { process, base, size, site, seen }]);
            }
        }
    }

    /// An event whose thread has the recording's number, and the thread before it that of the agent.
    fn keep_event(&mut self, process: ProcessId, mut event: SharingEvent, writer: &mut Writer) {
        let earlier = match event.earlier.thread.number_among_processes() {
            None => self.table.thread(process, event.earlier.thread.0),
            Some(number) => match self.table.among_processes(number) {
                Some(thread) => thread,
                // Nobody's: somebody has written over the boards.
                None if self.waiting.len() == MOST_WAITING => return self.garbage += 1,
                None => return self.waiting.push((process, event)),
            },
        };
        if earlier == event.thread {
            return self.garbage += 1;
        }
        let of_earlier = self.table.threads.get(earlier.0 as usize).map_or(process, |thread| thread.process);
        event.earlier.thread = earlier;
        event.stack = self.known(process, event.stack);
        event.earlier.stack = self.known(of_earlier, event.earlier.stack);
        writer.push(&[event]);
    }

    /// How many words and records in session memory meant nothing, now that all have been read.
    pub fn nonsense(&self) -> u64 {
        self.garbage.saturating_add(self.waiting.len() as u64)
    }

    /// One half of a pair, with the recording's numbers.
    fn touch(&mut self, process: ProcessId, touch: Touch) -> Touch {
        let thread = self.table.thread(process, touch.thread.0);
        Touch { thread, stack: self.known(process, touch.stack), ..touch }
    }

    /// Reads what is new of the counts of the exact mode. False where there is nothing.
    fn read_cells(&mut self, writer: &mut Writer) -> bool {
        let mut files = std::mem::take(&mut self.cells);
        let mut any = false;
        for (path, (process, file)) in &mut files {
            let found = file.read(path);
            any |= !found.cells.is_empty() || found.garbage > 0;
            self.garbage = self.garbage.saturating_add(found.garbage);
            self.keep_cells(*process, found.cells, writer);
        }
        self.cells = files;
        any
    }

    fn keep_cells(&mut self, process: ProcessId, mut cells: Vec<ReuseCell>, writer: &mut Writer) {
        cells.retain(|cell| cell.count > 0);
        for cell in &mut cells {
            cell.thread = self.table.thread(process, cell.thread.0);
        }
        writer.push(&cells);
    }

    /// Reads what is new of the accesses that are to be kept. False where there is nothing.
    fn read_accesses(&mut self, writer: &mut Writer) -> bool {
        let mut found = false;
        for (path, (process, file)) in &mut self.accesses {
            let table = &mut self.table;
            let frames = file.read(path, |serial| table.thread(*process, serial), &mut self.garbage);
            found |= !frames.is_empty();
            writer.push(&frames);
        }
        found
    }

    /// The path's number, or none where the path itself was lost, or was sent through a ring that had been read by the
    /// time it was.
    fn known(&self, process: ProcessId, stack: StackId) -> StackId {
        if self.stacks.contains(&(process, stack)) { stack } else { StackId::NONE }
    }
}

/// `PID.STARTED` of `PID.STARTED.journal` and `PID.STARTED.N.seg`.
fn stem(path: &Path) -> Option<&str> {
    let name = path.file_name()?.to_str()?;
    let second = name.match_indices('.').nth(1)?.0;
    name.get(..second)
}

fn started(path: &Path) -> u64 {
    stem(path).and_then(|stem| stem.split('.').nth(1)?.parse().ok()).unwrap_or(0)
}

impl Journal {
    /// Takes in the lines that are new, of the process that the journal is named after and of those that it forked.
    fn take(&mut self, path: &Path, named_after: ProcessId, table: &mut ProcessTable) {
        for line in self.read(path) {
            if let Some(Line::Of { stem, lines }) = line {
                let process = table.process(&stem);
                self.writers.insert(process);
                self.of = Some((process, lines));
                continue;
            }
            let process = match &mut self.of {
                Some((process, lines)) if *lines > 0 => {
                    *lines -= 1;
                    *process
                }
                _ => named_after,
            };
            if let Some(line) = line {
                table.note(process, line);
            }
        }
    }

    /// The whole lines that are new. `None` for one that means nothing.
    fn read(&mut self, path: &Path) -> Vec<Option<Line>> {
        // What cannot be read now is read at the next visit.
        let _ = self.fill(path);
        let Some(end) = self.partial.iter().rposition(|&byte| byte == b'\n') else { return Vec::new() };
        let rest = self.partial.split_off(end + 1);
        let whole = std::mem::replace(&mut self.partial, rest);
        String::from_utf8_lossy(&whole).lines().map(Line::parse).collect()
    }

    fn fill(&mut self, path: &Path) -> io::Result<()> {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(self.offset))?;
        self.offset += file.read_to_end(&mut self.partial)? as u64;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::{io::Write, mem::offset_of, os::unix::fs::FileExt};

    use carom_base::{
        Access, AccessKind, Addr, CellClass, Cpu, DistanceKind, EarlierWrite, LogBin, Nanos, Population,
        Scope, SharingClass, Via,
    };
    use carom_base_wire::{
        Count, Engine, MAX_RECORD_WORDS, SEGMENT_MAGIC, STATE_OFFSET, SlotHeader, SlotSnapshot, SlotState,
        VERSION, encode, slot_offset,
    };
    use carom_store::Manifest;

    use super::*;

    /// An agent's files with one thread in one slot.
    struct FakeAgent {
        dir: tempfile::TempDir,
        segment: File,
    }

    impl FakeAgent {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            let segment = File::create(dir.path().join("7.1.0.seg")).unwrap();
            segment.set_len(slot_offset(1) as u64).unwrap();
            segment.write_all_at(&SEGMENT_MAGIC.to_le_bytes(), 0).unwrap();
            segment.write_all_at(&[VERSION, 1].map(u32::to_le_bytes).concat(), 8).unwrap();
            Self { dir, segment }
        }

        fn write(&self, offset: usize, value: u64) {
            self.segment.write_all_at(&value.to_le_bytes(), (slot_offset(0) + offset) as u64).unwrap();
        }

        fn count(&self, count: Count, value: u64) {
            self.write(offset_of!(SlotHeader, counts) + 8 * count as usize, value);
        }

        /// The state and, behind it, serial 0.
        fn state(&self, state: SlotState) {
            self.write(STATE_OFFSET, state as u64);
        }

        fn note(&self, line: &Line) {
            std::fs::write(self.dir.path().join("7.1.journal"), line.format()).unwrap();
        }
    }

    /// Lines behind `of` are another process's, as many as it says, those that mean nothing included.
    #[test]
    fn children_write_into_their_parents_journal() {
        let agent = FakeAgent::new();
        let argv = |name: &str| Line::Argv(vec![name.into()]);
        let of = |lines| Line::Of { stem: "8.2".into(), lines }.format();
        let path = agent.dir.path().join("7.1.journal");
        let text = [argv("parent").format(), of(2), "nonsense\n".into(), argv("child").format()].concat();
        std::fs::write(&path, text).unwrap();
        let profile = tempfile::tempdir().unwrap();
        let mut writer = Writer::create(profile.path(), Manifest::default()).unwrap();
        let mut drain = Drain::new(agent.dir.path());
        drain.once(&mut writer);
        let programs: Vec<_> = drain.table.processes.iter().map(|process| process.argv.join(" ")).collect();
        assert_eq!(programs, ["parent", "child"]);
        let ended = |drain: &Drain| [0, 1].map(|process| drain.table.has_ended(ProcessId(process)));
        let end = Line::End { time: 1 }.format();
        let append = |text: String| {
            std::fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(text.as_bytes()).unwrap();
        };
        append(end.clone());
        drain.once(&mut writer);
        assert_eq!(ended(&drain), [true, false]);
        // The parent's end is not the end of its journal.
        append([of(1), end].concat());
        drain.once(&mut writer);
        assert_eq!(ended(&drain), [true, true]);
    }

    /// One visit reads a part of such a file; a process may write many times that much as it ends.
    #[test]
    fn all_counts_of_a_process_that_ends_are_read() {
        const CELLS: usize = 1_000_000;
        let agent = FakeAgent::new();
        let cell = ReuseCell {
            thread: ThreadId(0),
            scope: Scope::Private,
            distance: DistanceKind::Stack,
            granularity: 64,
            class: CellClass::First,
            bin: LogBin(0),
            from_other: false,
            pair: None,
            at: Addr(0),
            count: 1,
        };
        let mut words = [0; MAX_RECORD_WORDS];
        let length = encode(&Record::Cell(cell), &mut words);
        let one: Vec<u8> = words[..length].iter().flat_map(|word| word.to_le_bytes()).collect();
        let all = one.repeat(CELLS);
        assert!(all.len() > 16 << 20, "more than one visit reads: {}", all.len());
        std::fs::write(agent.dir.path().join("7.1.cells"), all).unwrap();
        let profile = tempfile::tempdir().unwrap();
        let mut writer = Writer::create(profile.path(), Manifest::default()).unwrap();
        Drain::new(agent.dir.path()).last(&mut writer);
        writer.finish(Manifest::default()).unwrap();
        let recording = carom_store::Recording::open(profile.path()).unwrap();
        assert_eq!(recording.rows::<ReuseCell>().flatten().map(|cell| cell.count).sum::<u64>(), CELLS as u64);
    }

    /// A thread of another process is known by its number among all processes, once its slot has been seen.
    #[test]
    fn events_wait_for_the_other_process() {
        let access = Access { ip: Ip(1), addr: Addr(0), width: 8, kind: AccessKind::Store };
        let earlier = EarlierWrite {
            thread: ThreadId::among_processes(4),
            time: Nanos(1),
            cpu: Cpu(0),
            access,
            stack: StackId::NONE,
        };
        let event = SharingEvent {
            thread: ThreadId(0),
            time: Nanos(2),
            cpu: Cpu(0),
            population: Population::Step,
            via: Via::Lookup,
            class: SharingClass::True,
            weight: 1.0,
            later: access,
            exact: true,
            stack: StackId::NONE,
            earlier,
        };
        let profile = tempfile::tempdir().unwrap();
        let mut writer = Writer::create(profile.path(), Manifest::default()).unwrap();
        let mut drain = Drain::new(profile.path());
        let (one, other) = (drain.table.process("7.1"), drain.table.process("8.1"));
        let thread = drain.table.thread(one, 0);
        drain.keep(one, thread, Record::Event(event), &mut writer);
        assert_eq!(drain.nonsense(), 1, "it waits");
        let elsewhere = drain.table.thread(other, 0);
        drain.table.update(elsewhere, &SlotSnapshot { among_processes: 5, ..SlotSnapshot::default() });
        drain.once(&mut writer);
        assert_eq!(drain.nonsense(), 0);
        // Somebody has written a thread's own number on the board.
        drain.table.update(thread, &SlotSnapshot { among_processes: 10, ..SlotSnapshot::default() });
        let earlier = EarlierWrite { thread: ThreadId::among_processes(9), ..earlier };
        drain.keep(one, thread, Record::Event(SharingEvent { earlier, ..event }), &mut writer);
        assert_eq!(drain.nonsense(), 1);
        writer.finish(Manifest::default()).unwrap();
        let recording = carom_store::Recording::open(profile.path()).unwrap();
        let kept: Vec<_> = recording
            .rows::<SharingEvent>()
            .flatten()
            .map(|event| (event.thread, event.earlier.thread))
            .collect();
        assert_eq!(kept, [(thread, elsewhere)]);
    }

    #[test]
    fn the_last_counts_of_a_thread_stay() {
        let agent = FakeAgent::new();
        agent.note(&Line::Engine { name: "translate".into(), reason: String::new() });
        agent.count(Count::Instructions, 100);
        agent.count(Count::Loads, 40);
        agent.state(SlotState::Live);
        let profile = tempfile::tempdir().unwrap();
        let mut writer = Writer::create(profile.path(), Manifest::default()).unwrap();
        let mut drain = Drain::new(agent.dir.path());
        drain.once(&mut writer);
        let counts = drain.table.threads[0].counts.unwrap();
        assert_eq!((counts.instructions, counts.loads, counts.stores), (Some(100), Some(40), Some(0)));
        assert_eq!(drain.table.engine, Some((Engine::Translate, String::new())));
        // The thread counts on and ends; the host frees the slot, and another agent clears it.
        agent.count(Count::Instructions, 250);
        agent.write(offset_of!(SlotHeader, translated_ns), 9);
        agent.state(SlotState::Ended);
        drain.once(&mut writer);
        agent.count(Count::Instructions, 0);
        drain.once(&mut writer);
        let counts = drain.table.threads[0].counts.unwrap();
        assert_eq!((counts.instructions, counts.translated_ns), (Some(250), 9));
        assert_eq!(drain.table.threads.len(), 1);
    }
}
