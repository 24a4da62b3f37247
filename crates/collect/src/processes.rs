//! The table of processes and threads, from journals and slots.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    fs,
    os::unix::fs::MetadataExt,
    sync::LazyLock,
};

use carom_base::{Nanos, ProcessId, SegmentId, ThreadId};
use carom_base_sys::child;
use carom_base_wire::{
    Engine, Fate, Left, MOST_SEGMENTS, PID_NAMESPACE, SlotSnapshot,
    journal::{Line, SharedMapping},
};
use carom_store::{
    Aside, Delivery, FrameInfo, MappingInfo, ModuleInfo, ProcessInfo, SegmentInfo, SharedMappingInfo,
    ThreadCounters, ThreadInfo, Warning,
};

use crate::{counts, warnings};

/// Why a process is not observed any more: [`Aside::code`] where it executed a program that cannot be profiled.
const PROGRAM: &str = "program";

/// Our PID namespace, where it is known.
static OWN_NAMESPACE: LazyLock<Option<u64>> = LazyLock::new(|| {
    let path = PID_NAMESPACE.to_str().ok()?;
    fs::metadata(path).ok().map(|status| status.ino())
});

/// The most threads that may have been made between two that were seen, and were not seen.
const MOST_AHEAD: u32 = 1 << 16;

/// No agent tells more often of the frames on a thread's stack, or of more at a time.
const MOST_SNAPSHOTS: usize = 256;
const MOST_FRAMES: usize = 64;

/// All processes and threads of the recording.
#[derive(Default)]
pub struct ProcessTable {
    pub processes: Vec<ProcessInfo>,
    pub threads: Vec<ThreadInfo>,
    /// The engine, and why it is not the one that was asked for, in the first process.
    pub engine: Option<(Engine, String)>,
    /// How samples are delivered, and why, in the first process.
    pub delivery: Option<(Delivery, String)>,
    by_stem: HashMap<String, ProcessId>,
    /// Threads by process and serial.
    serials: HashMap<ProcessId, Vec<ThreadId>>,
    /// Threads by their numbers among all processes.
    among_processes: HashMap<u32, ThreadId>,
    /// Memory that processes may share.
    pub segments: BTreeMap<SegmentId, SegmentInfo>,
    /// Processes that ended in an orderly way.
    ended: HashSet<ProcessId>,
    /// Processes in our PID namespace, whose numbers mean the same to us.
    known_here: HashSet<ProcessId>,
}

impl ProcessTable {
    /// The process whose files are called `stem.…`.
    pub fn process(&mut self, stem: &str) -> ProcessId {
        if let Some(&id) = self.by_stem.get(stem) {
            return id;
        }
        let id = ProcessId(self.processes.len() as u32);
        let pid = stem.split('.').next().and_then(|pid| pid.parse().ok()).unwrap_or(0);
        self.processes.push(ProcessInfo { id, pid, ..ProcessInfo::default() });
        self.by_stem.insert(stem.to_owned(), id);
        id
    }

    /// The thread with this serial number in `process`. Serials are given out in the order in which the program
    /// makes its threads, so those before it get their numbers first, and matrices show them in that order.
    pub fn thread(&mut self, process: ProcessId, serial: u32) -> ThreadId {
        let known = self.serials.entry(process).or_default();
        // No agent writes a serial far ahead of all others.
        let serial = serial.min((known.len() as u32).saturating_add(MOST_AHEAD));
        for next in known.len() as u32..=serial {
            let id = ThreadId(self.threads.len() as u32);
            self.threads.push(ThreadInfo { id, process, serial: next, ..ThreadInfo::default() });
            known.push(id);
        }
        known.get(serial as usize).copied().unwrap_or_default()
    }

    /// Takes in the head of a thread's slot.
    pub fn update(&mut self, thread: ThreadId, head: &SlotSnapshot) {
        let Some(info) = self.threads.get_mut(thread.0 as usize) else { return };
        info.tid = head.tid;
        info.main = head.main;
        info.started = Nanos(head.started);
        info.ended = (head.ended != 0).then_some(Nanos(head.ended));
        info.cpu_ns = head.cpu_ns;
        info.stack_low = head.stack_low;
        info.stack_high = head.stack_high;
        info.thread_pointer = head.thread_pointer;
        if !head.name.is_empty() {
            info.name.clone_from(&head.name);
        }
        info.counters = ThreadCounters::read(|counter| head.counters[counter as usize]);
        info.counts = counts::of(head);
        let number = head.among_processes.checked_sub(1).and_then(|number| number.try_into().ok());
        self.among_processes.extend(number.map(|number| (number, thread)));
        info.domain = head.domain.checked_sub(1).and_then(|domain| domain.try_into().ok());
    }

    /// The thread with this number among all processes, once its slot has been seen.
    pub fn among_processes(&self, number: u32) -> Option<ThreadId> {
        self.among_processes.get(&number).copied()
    }

    /// Takes in a line of the journal of `process`.
    pub fn note(&mut self, process: ProcessId, line: Line) {
        let parent = match line {
            Line::Process { pid, parent, .. } => self.parent_of(process, pid, parent),
            _ => None,
        };
        let next = ProcessId(self.processes.len() as u32);
        if let Line::Frames { serial, frames } = line {
            return self.note_frames(process, serial, frames);
        }
        let Some(info) = self.processes.get_mut(process.0 as usize) else { return };
        match line {
            Line::Process { pid, .. } => {
                info.pid = pid;
                info.parent = parent;
            }
            Line::Argv(argv) => info.argv = argv,
            Line::Engine { name, reason } => {
                if let Some(engine) = Engine::from_name(&name) {
                    self.engine.get_or_insert((engine, reason));
                }
            }
            Line::Delivery { name, reason } => {
                if let Some(delivery) = Delivery::from_name(&name) {
                    self.delivery.get_or_insert((delivery, reason));
                }
            }
            Line::Module { time, bias, low, high, path } => info.modules.push(ModuleInfo {
                path,
                build_id: None,
                bias,
                low,
                high,
                loaded: Nanos(time),
                unloaded: None,
                tls: None,
            }),
            Line::Tls { low, distance } => {
                let module = info.modules.iter_mut().rfind(|m| m.low == low);
                if let Some(module) = module {
                    module.tls = Some(distance);
                }
            }
            Line::Unload { time, low } => {
                let gone = info.modules.iter_mut().rfind(|m| m.low == low && m.unloaded.is_none());
                if let Some(module) = gone {
                    module.unloaded = Some(Nanos(time));
                }
            }
            Line::Map { low, high, path } => info.mappings.push(MappingInfo { low, high, path }),
            Line::Shared(SharedMapping { low, high, segment, offset, device, inode, writable, path }) => {
                let id = SegmentId(segment);
                info.shared.push(SharedMappingInfo { low, high, segment: id, offset, writable });
                let known = SegmentInfo { id, path, device, inode };
                if self.segments.len() < MOST_SEGMENTS {
                    self.segments.entry(id).or_insert(known);
                }
            }
            Line::Trouble { code, text } => info.warnings.push(Warning { code, text }),
            Line::Unprofiled { program, reason } => self.processes.push(ProcessInfo {
                id: next,
                parent: Some(process),
                argv: vec![program],
                unprofiled: Some(reason),
                ..ProcessInfo::default()
            }),
            Line::Aside { time, cpu_ns, code, text } => {
                let aside = Aside { at: Nanos(time), code, detail: text, seen_ns: cpu_ns, unseen_ns: 0 };
                info.aside.get_or_insert(aside);
            }
            // Handled where journals are read.
            Line::Of { .. } | Line::Frames { .. } => {}
            Line::End { .. } => {
                self.ended.insert(process);
            }
        }
    }

    fn note_frames(&mut self, process: ProcessId, serial: u32, frames: Vec<(u64, u64)>) {
        let id = self.thread(process, serial);
        let Some(thread) = self.threads.get_mut(id.0 as usize) else { return };
        if thread.frames.len() < MOST_SNAPSHOTS {
            let frames = frames.into_iter().take(MOST_FRAMES).map(|(ip, end)| FrameInfo { ip, end });
            thread.frames.push(frames.collect());
        }
    }

    /// Takes in the end of a process as its segment states it: the process may not have been able to write its journal.
    pub fn note_fate(&mut self, process: ProcessId, fate: Fate) {
        if fate.ended {
            self.ended.insert(process);
        }
        if fate.namespace != 0 && Some(fate.namespace) == *OWN_NAMESPACE {
            self.known_here.insert(process);
        }
        let Some(info) = self.processes.get_mut(process.0 as usize) else { return };
        if info.aside.as_ref().is_none_or(|aside| aside.code == PROGRAM) {
            info.aside = fate.left.map(|Left { at, cpu_ns, errno }| Aside {
                at: Nanos(at),
                code: PROGRAM.into(),
                detail: warnings::unprofiled_cause(errno.into()).into(),
                seen_ns: cpu_ns,
                unseen_ns: info.aside.as_ref().map_or(0, |aside| aside.unseen_ns),
            });
        }
    }

    /// Updates the CPU time of processes since they stepped aside.
    pub fn update_aside(&mut self) {
        for process in self.processes.iter_mut().filter(|process| self.known_here.contains(&process.id)) {
            if let Some(aside) = &mut process.aside
                && let Some(now) = child::cpu_of(process.pid)
            {
                aside.unseen_ns = aside.unseen_ns.max(now.saturating_sub(aside.seen_ns));
            }
        }
    }

    /// Whether the number of the process means the same to us.
    pub fn is_known_here(&self, process: ProcessId) -> bool {
        self.known_here.contains(&process)
    }

    /// Whether the process has run its exit handlers, or executed another program.
    pub fn has_ended(&self, process: ProcessId) -> bool {
        let pid = self.processes.get(process.0 as usize).map(|p| p.pid);
        let replaced = |later: &ProcessInfo| later.parent == Some(process) && Some(later.pid) == pid;
        self.ended.contains(&process) || self.processes.iter().any(replaced)
    }

    /// As [`has_ended`](Self::has_ended), or a program has taken its place that is not profiled.
    pub fn is_over(&self, process: ProcessId) -> bool {
        let aside = self.processes.get(process.0 as usize).and_then(|process| process.aside.as_ref());
        self.has_ended(process) || aside.is_some_and(|aside| aside.code == PROGRAM)
    }

    /// The parent of a program that was executed in place of another is that one.
    fn parent_of(&self, process: ProcessId, pid: u32, parent: u32) -> Option<ProcessId> {
        let before = self.processes.iter().take(process.0 as usize).rev();
        before
            .clone()
            .find(|p| p.pid == pid)
            .or_else(|| before.clone().find(|p| p.pid == parent))
            .map(|p| p.id)
    }
}
