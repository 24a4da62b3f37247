//! Moves what agents have written into the store: finds their files here, reads each kind in a module of its own, and
//! writes the records in [`keep`].

mod accesses;
mod cells;
mod instructions;
mod journal;
mod keep;
mod segment;
mod tail;
#[cfg(test)]
mod tests;

use std::{
    collections::{HashMap, HashSet},
    path::{Path, PathBuf},
    sync::mpsc::SyncSender,
};

use carom_base::{ProcessId, SharingEvent, StackId, ThreadId};
use carom_base_wire::Record;
use carom_store::{FrameTotals, InstructionCounts, Writer};

use self::{
    accesses::AccessFile, cells::CellFile, instructions::Instructions, journal::Journal, segment::Segment,
};
use crate::{processes::ProcessTable, record::HandedOn};

/// The files of one session, and the state of reading them.
pub struct Drain {
    dir: PathBuf,
    pub table: ProcessTable,
    journals: HashMap<PathBuf, Journal>,
    segments: HashMap<PathBuf, (ProcessId, Segment)>,
    cells: HashMap<PathBuf, (ProcessId, CellFile)>,
    accesses: HashMap<PathBuf, (ProcessId, AccessFile)>,
    /// Where accesses go instead of the store.
    elsewhere: Option<SyncSender<HandedOn>>,
    /// The accesses that went to the store.
    pub kept: FrameTotals,
    /// Files of counts by instruction.
    counts: HashMap<PathBuf, ProcessId>,
    /// Words in session memory that were no record.
    garbage: u64,
    /// Events about a thread of another process whose slot has not been seen yet.
    waiting: Vec<(ProcessId, SharingEvent)>,
    /// Call paths that the store has.
    stacks: HashSet<(ProcessId, StackId)>,
    /// Whether threads have shared a line.
    pub found_sharing: bool,
}

impl Drain {
    /// `elsewhere`: where accesses go instead of the store.
    pub fn new(dir: &Path, elsewhere: Option<SyncSender<HandedOn>>) -> Self {
        Self {
            dir: dir.to_owned(),
            table: ProcessTable::default(),
            journals: HashMap::new(),
            segments: HashMap::new(),
            cells: HashMap::new(),
            accesses: HashMap::new(),
            elsewhere,
            kept: FrameTotals::default(),
            counts: HashMap::new(),
            garbage: 0,
            waiting: Vec::new(),
            stacks: HashSet::new(),
            found_sharing: false,
        }
    }

    /// Reads everything that is new. Returns the part of the fullest ring that was in use: 1 where no room was left.
    pub fn once(&mut self, writer: &mut Writer) -> f64 {
        self.discover();
        let mut segments = std::mem::take(&mut self.segments);
        // A call path may come through another thread's ring than the record that refers to it.
        let mut records = Vec::new();
        let mut fullness: f64 = 0.0;
        // Before their slots: a process that has ended by now has written all of them.
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

    /// As [`once`](Self::once), for the last time: reads also what a process wrote after it had announced its end.
    pub fn last(&mut self, writer: &mut Writer) {
        self.journals.values_mut().for_each(|journal| journal.is_over = false);
        self.once(writer);
        while self.read_cells(writer) {}
        while self.read_accesses(writer) {}
    }

    /// Removes the file of a process that ended in an orderly way, and has written all that it will.
    fn is_over(&self, path: &Path, process: ProcessId) -> bool {
        let over = self.table.has_ended(process);
        if over {
            // A file that cannot be removed now is removed with the session.
            let _ = std::fs::remove_file(path);
        }
        over
    }

    fn discover(&mut self) {
        let Ok(entries) = std::fs::read_dir(&self.dir) else { return };
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        // By start time within a process id, so that parents are met before children.
        paths.sort_by_cached_key(|path| started(path));
        // Segments first: where a line of the journal says that its process has ended, they are complete.
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
                (Some("counts"), Some(stem)) if !self.counts.contains_key(path) => {
                    let process = self.table.process(stem);
                    self.counts.insert(path.clone(), process);
                }
                _ => {}
            }
        }
    }

    /// What instructions have executed, where that was counted: complete after [`last`](Self::last).
    pub fn instructions(&mut self) -> Vec<InstructionCounts> {
        let mut all = Instructions::default();
        for (path, process) in &self.counts {
            self.garbage = self.garbage.saturating_add(all.read(path, *process).div_ceil(8));
        }
        all.rows()
    }

    /// Reads what is new in one ring. Returns the part of it that was in use.
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

    /// Reads new counts of the exact mode. False where there are none.
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

    /// Reads new accesses that are to be kept. False where there are none.
    fn read_accesses(&mut self, writer: &mut Writer) -> bool {
        let mut found = false;
        for (path, (process, file)) in &mut self.accesses {
            let table = &mut self.table;
            let frames = file.read(path, |serial| table.thread(*process, serial), &mut self.garbage);
            found |= !frames.is_empty();
            match &self.elsewhere {
                None => {
                    frames.iter().for_each(|frame| self.kept.add(frame));
                    writer.push(&frames);
                }
                // A receiver that is gone wants no more.
                Some(elsewhere) => frames.into_iter().for_each(|frame| {
                    let _ = elsewhere.send(HandedOn { process: *process, frame });
                }),
            }
        }
        found
    }
}

/// `PID.STARTED` of `PID.STARTED.journal` and `PID.STARTED.N.seg`.
fn stem(path: &Path) -> Option<&str> {
    let name = path.file_name()?.to_str()?;
    let second = name.match_indices('.').nth(1)?.0;
    name.get(..second)
}

/// `STARTED` of these.
fn started(path: &Path) -> u64 {
    stem(path).and_then(|stem| stem.split('.').nth(1)?.parse().ok()).unwrap_or(0)
}
