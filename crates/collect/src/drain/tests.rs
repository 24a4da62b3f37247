//! Files as an agent writes them, and what becomes of them.

use std::{fs::File, io::Write, mem::offset_of, os::unix::fs::FileExt};

use carom_base::{
    Access, AccessKind, Addr, CellClass, Cpu, DistanceKind, EarlierWrite, Ip, LogBin, Nanos, Population,
    ReuseCell, Scope, SharingClass, Via,
};
use carom_base_wire::{
    Count, Engine, MAX_RECORD_WORDS, SEGMENT_MAGIC, STATE_OFFSET, SlotHeader, SlotSnapshot, SlotState,
    VERSION, encode, journal::Line, slot_offset,
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
    let mut drain = Drain::new(agent.dir.path(), None);
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
    Drain::new(agent.dir.path(), None).last(&mut writer);
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
    let mut drain = Drain::new(profile.path(), None);
    let (one, other) = (drain.table.process("7.1"), drain.table.process("8.1"));
    let thread = drain.table.thread(one, 0);
    drain.keep(one, thread, Record::Event(event), &mut writer);
    assert_eq!(drain.nonsense(), 1, "it waits");
    let elsewhere = drain.table.thread(other, 0);
    drain.table.update(elsewhere, &SlotSnapshot { among_processes: 5, ..SlotSnapshot::default() });
    drain.once(&mut writer);
    assert_eq!(drain.nonsense(), 0);
    // The board has the thread's own number, which the program has overwritten.
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
    let mut drain = Drain::new(agent.dir.path(), None);
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
