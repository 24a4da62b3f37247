//! Carries what the agents wrote into the store.

use std::{
    collections::{HashMap, HashSet},
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
};

use carom_base::{Ip, ProcessId, StackId};
use carom_base_wire::{Record, journal::Line};
use carom_store::{HeapObject, Stack, Writer};

use crate::{processes::People, segment::Segment};

/// One drain of a session: what has been read so far.
pub struct Drain {
    dir: PathBuf,
    pub people: People,
    journals: HashMap<PathBuf, Journal>,
    segments: HashMap<PathBuf, (ProcessId, Segment)>,
    /// Words in rings that were no record.
    pub garbage: u64,
    /// Call paths in the store, which has each once.
    stacks: HashSet<(ProcessId, StackId)>,
}

/// How far a journal has been read.
#[derive(Default)]
struct Journal {
    offset: u64,
    partial: Vec<u8>,
}

impl Drain {
    pub fn new(dir: &Path) -> Self {
        Self {
            dir: dir.to_owned(),
            people: People::default(),
            journals: HashMap::new(),
            segments: HashMap::new(),
            garbage: 0,
            stacks: HashSet::new(),
        }
    }

    /// Reads everything that is new.
    pub fn once(&mut self, writer: &mut Writer) {
        self.discover();
        let mut segments = std::mem::take(&mut self.segments);
        for (process, segment) in segments.values() {
            for slot in 0..segment.slots() {
                self.visit(*process, segment, slot, writer);
            }
        }
        segments.retain(|path, (process, _)| !self.is_over(path, *process));
        self.segments = segments;
    }

    /// A process that ended in an orderly way has written all that it will; its file can go.
    fn is_over(&self, path: &Path, process: ProcessId) -> bool {
        let over = self.people.ended(process);
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
        paths.sort_by_key(|path| started(path));
        // Segments first: lines of the journal may say that their process is over, and then it has written all.
        for path in &paths {
            match (path.extension().and_then(|e| e.to_str()), stem(path)) {
                (Some("seg"), Some(stem)) if !self.segments.contains_key(path) => {
                    if let Ok(Some(segment)) = Segment::open(path) {
                        let process = self.people.process(stem);
                        self.segments.insert(path.clone(), (process, segment));
                    }
                }
                (Some("journal"), Some(stem)) => {
                    let process = self.people.process(stem);
                    for line in self.journals.entry(path.clone()).or_default().read(path) {
                        self.people.note(process, line);
                    }
                }
                _ => {}
            }
        }
    }

    fn visit(&mut self, process: ProcessId, segment: &Segment, slot: usize, writer: &mut Writer) {
        let Some(visit) = segment.visit(slot) else { return };
        let thread = self.people.thread(process, visit.head.serial);
        self.people.update(thread, &visit.head);
        self.garbage = self.garbage.saturating_add(visit.garbage);
        for record in visit.records {
            match record {
                Record::Sample(mut sample) => {
                    sample.thread = thread;
                    sample.stack = self.known(process, sample.stack);
                    writer.samples(&[sample]);
                }
                Record::Event(mut event) => {
                    event.earlier.thread = self.people.thread(process, event.earlier.thread.0);
                    event.thread = thread;
                    event.stack = self.known(process, event.stack);
                    event.earlier.stack = self.known(process, event.earlier.stack);
                    writer.events(&[event]);
                }
                Record::Stack(stack) => {
                    // Every thread sends a path once; the store has it once per process.
                    if self.stacks.insert((process, stack.id)) {
                        let frames = stack.frames.iter().take(stack.depth).map(|&ip| Ip(ip)).collect();
                        writer.stacks(&[Stack { process, id: stack.id, frames, truncated: stack.truncated }]);
                    }
                }
                Record::Object { base, size, site, seen } => {
                    let site = self.known(process, site);
                    writer.objects(&[HeapObject { process, base, size, site, seen }]);
                }
            }
        }
    }

    /// The path's number, or none where the path itself was lost. The publisher of an event may have sent the
    /// path through its own ring, which is read later: then the event goes without it.
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
    /// The whole lines that are new. Lines that are none are skipped.
    fn read(&mut self, path: &Path) -> Vec<Line> {
        // What cannot be read now is read at the next visit.
        let _ = self.fill(path);
        let Some(end) = self.partial.iter().rposition(|&byte| byte == b'\n') else { return Vec::new() };
        let rest = self.partial.split_off(end + 1);
        let whole = std::mem::replace(&mut self.partial, rest);
        String::from_utf8_lossy(&whole).lines().filter_map(Line::parse).collect()
    }

    fn fill(&mut self, path: &Path) -> io::Result<()> {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(self.offset))?;
        self.offset += file.read_to_end(&mut self.partial)? as u64;
        Ok(())
    }
}
