//! Names from the binaries of a recording.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::path::Path;

use carom_base::{Addr, Ip, LINE_BYTES, Line, ProcessId, StackId};
use carom_store::{FrameInfo, GeneratedInfo, HeapObject, ProcessInfo, Recording, Stack, ThreadInfo};

use super::heap::{HeapBlocks, heap_object};
use super::segments::Segments;
use super::{NamedBytes, Names};
use crate::symbols::{
    ArrayObject, DataObject, Description, Frame, HeapType, Images, Loop, Mapping, Module, Note, Preceding,
    Sources, StackFrame, Symbols, ThreadStack, UNKNOWN_HEAP,
};

/// What to do about [`UNKNOWN_HEAP`], where something can be done.
const RECORD_OBJECTS: &str = "heap (allocation site unknown: record with --objects)";

/// Names for the addresses of a recording: its call paths and heap blocks, in memory, and the symbols of each
/// process, read when they are first asked for.
pub struct RecordedNames<'a> {
    recording: &'a Recording,
    stacks: HashMap<(ProcessId, StackId), Vec<Ip>>,
    blocks: HeapBlocks,
    symbols: BTreeMap<ProcessId, Symbols>,
    images: Images,
    segments: Segments<'a>,
    sources: Sources,
    /// The types of blocks, by site, size and position in the line.
    types: HashMap<(ProcessId, StackId, u64, u64), Option<HeapType>>,
}

impl<'a> RecordedNames<'a> {
    /// Reads the call paths and heap blocks. Damaged ones are left out: they cost names only.
    pub fn new(recording: &'a Recording) -> Self {
        let stacks = recording.rows::<Stack>().flatten().map(|s| ((s.process, s.id), s.frames)).collect();
        let blocks = HeapBlocks::new(recording.rows::<HeapObject>().flatten());
        let segments = Segments::new(recording.manifest());
        Self {
            recording,
            stacks,
            blocks,
            symbols: BTreeMap::new(),
            images: Images::default(),
            segments,
            sources: Sources::default(),
            types: HashMap::new(),
        }
    }

    /// Modules of a process that gave no names since the last call, and why.
    pub fn notes(&self, process: ProcessId) -> Vec<Note> {
        self.symbols.get(&process).map(Symbols::notes).unwrap_or_default()
    }

    /// The addresses of a call path: that of the access, then those to which its callers are returned.
    pub(super) fn path(&self, process: ProcessId, ip: Ip, stack: StackId) -> Vec<Ip> {
        // A recorded path begins with the instruction itself; the sampled instruction is a step or so from
        // where the handler took the path.
        let callers = self.stacks.get(&(process, stack)).and_then(|path| path.get(1..)).unwrap_or_default();
        std::iter::once(ip).chain(callers.iter().copied()).collect()
    }

    /// The functions at one of these addresses, innermost first.
    pub(super) fn frames(&mut self, process: ProcessId, ip: Ip, is_return: bool) -> Vec<Frame> {
        let mut frames = self.symbols(process).frames(ip, is_return);
        self.sources.excerpts(&mut frames);
        frames
    }

    /// The call path that allocated the heap block at a byte; empty where there is none.
    pub(super) fn site_of(&self, process: ProcessId, at: Addr) -> Vec<Ip> {
        self.blocks.at(process, at).map(|block| self.site(block)).unwrap_or_default()
    }

    /// Whether heap allocations were followed. Earlier versions did not say so.
    fn follows_heap(&self) -> bool {
        self.recording.manifest().engine.objects || !self.blocks.is_empty()
    }

    /// The call path of a block's allocation.
    fn site(&self, block: HeapObject) -> Vec<Ip> {
        self.stacks.get(&(block.process, block.site)).cloned().unwrap_or_default()
    }

    fn heap_type(&mut self, block: HeapObject) -> Option<HeapType> {
        let key = (block.process, block.site, block.size, block.base.offset_in_line());
        if let Some(known) = self.types.get(&key) {
            return known.clone();
        }
        let path = self.site(block);
        let found = self.symbols(block.process).heap_type(&path, block.base, block.size);
        self.types.insert(key, found.clone());
        found
    }

    /// The fields of a block that have bytes in `window`, which is part of it.
    fn block_layout(&mut self, block: HeapObject, window: Range<u64>) -> Vec<(Range<u64>, String)> {
        let Some(of) = self.heap_type(block) else { return Vec::new() };
        let base = block.base.0;
        let within = window.start - base..window.end - base;
        let fields = self.symbols(block.process).heap_layout(&of, block.size, within);
        let placed = fields.into_iter().filter_map(|(bytes, name)| {
            let start = base.saturating_add(bytes.start).max(window.start);
            let end = base.saturating_add(bytes.end).min(window.end);
            (start < end).then_some((start..end, name))
        });
        placed.collect()
    }

    fn symbols(&mut self, process: ProcessId) -> &Symbols {
        let manifest = self.recording.manifest();
        self.symbols.entry(process).or_insert_with(|| {
            let threads = manifest.threads.iter().filter(|thread| thread.process == process);
            match manifest.processes.get(process.0 as usize) {
                Some(info) => {
                    let described = descriptions(info, self.recording.dir());
                    symbols_of(info, threads).sharing(&self.images).describing(described)
                }
                None => Symbols::new(Vec::new(), Vec::new(), Vec::new()),
            }
        })
    }
}

/// Where the process described code that it made.
fn descriptions(process: &ProcessInfo, dir: &Path) -> Vec<Description> {
    let of = |info: &GeneratedInfo| Description { path: dir.join(&info.path), bytes: info.bytes };
    process.generated.iter().map(of).collect()
}

fn frame(info: &FrameInfo) -> StackFrame {
    StackFrame { ip: info.ip, end: info.end }
}

fn symbols_of<'a>(process: &ProcessInfo, threads: impl Iterator<Item = &'a ThreadInfo>) -> Symbols {
    let modules = process.modules.iter().map(|m| Module {
        path: m.path.clone().into(),
        build_id: m.build_id.clone(),
        bias: m.bias,
        low: m.low,
        high: m.high,
        tls: m.tls,
    });
    let mappings =
        process.mappings.iter().map(|m| Mapping { low: m.low, high: m.high, path: m.path.clone() }).collect();
    let stacks = threads.filter(|t| t.stack_low < t.stack_high).map(|t| ThreadStack {
        name: t.name.clone(),
        low: t.stack_low,
        high: t.stack_high,
        thread_pointer: t.thread_pointer,
        frames: t.frames.iter().map(|frames| frames.iter().map(frame).collect()).collect(),
    });
    Symbols::new(modules.collect(), mappings, stacks.collect())
}

impl Names for RecordedNames<'_> {
    fn call_path(&mut self, process: ProcessId, ip: Ip, stack: StackId) -> Vec<Frame> {
        let path = self.path(process, ip, stack);
        path.iter().enumerate().flat_map(|(index, ip)| self.frames(process, *ip, index > 0)).collect()
    }

    fn object(&mut self, process: ProcessId, at: Addr) -> DataObject {
        if let Some(segment) = self.segments.object(at) {
            return segment;
        }
        let Some(block) = self.blocks.at(process, at) else {
            let mut found = self.symbols(process).object(at);
            if found.name == UNKNOWN_HEAP && !self.follows_heap() {
                found.name = RECORD_OBJECTS.into();
            }
            return found;
        };
        let of = self.heap_type(block);
        let path = self.site(block);
        heap_object(block, at, self.symbols(process).call_path(&path), of.as_ref())
    }

    fn field(&mut self, process: ProcessId, at: Addr, width: u32) -> Option<String> {
        let Some(block) = self.blocks.at(process, at) else { return self.symbols(process).field(at, width) };
        let of = self.heap_type(block)?;
        let start = at.0 - block.base.0;
        let bytes = start..start.saturating_add(u64::from(width).max(1));
        self.symbols(process).heap_field(&of, bytes)
    }

    fn array(&mut self, process: ProcessId, at: Addr) -> Option<ArrayObject> {
        let Some(block) = self.blocks.at(process, at) else { return self.symbols(process).array(at) };
        let of = self.heap_type(block)?;
        (block.size >= 2 * of.size).then_some(ArrayObject {
            base: block.base,
            name: None,
            element: of.name,
            element_bytes: of.size,
        })
    }

    fn loop_around(&mut self, process: ProcessId, ip: Ip) -> Option<Loop> {
        self.symbols(process).loop_around(ip)
    }

    fn preceding(&mut self, process: ProcessId, ip: Ip) -> Vec<Preceding> {
        self.symbols(process).preceding(ip)
    }

    fn local(&mut self, process: ProcessId, shared: Addr) -> Option<Addr> {
        self.segments.local(process, shared)
    }

    fn layout(&mut self, process: ProcessId, line: Line) -> Vec<NamedBytes> {
        let low = line.start().0;
        let high = low.saturating_add(LINE_BYTES);
        let mut named = self.symbols(process).layout(Addr(low), Addr(high));
        for (block, part) in self.blocks.in_window(process, low..high) {
            let fields = self.block_layout(block, part).into_iter();
            named.extend(fields.map(|(bytes, name)| (bytes.start - low..bytes.end - low, name)));
        }
        let named = named.into_iter().map(|(bytes, name)| NamedBytes {
            offset: bytes.start as u32,
            width: (bytes.end - bytes.start) as u32,
            name,
        });
        named.collect()
    }
}

#[cfg(test)]
mod tests {
    use carom_base::Nanos;
    use carom_store::{Manifest, MappingInfo, Writer};

    use super::*;
    use crate::symbols::ObjectKind;

    /// A process without modules, whose code and data are mappings.
    fn recording(dir: &Path) -> Recording {
        let process = ProcessInfo {
            mappings: vec![MappingInfo { low: 0x1000, high: 0x9000, path: "/tmp/shared".to_owned() }],
            ..ProcessInfo::default()
        };
        let thread = ThreadInfo {
            name: "worker-1".to_owned(),
            stack_low: 0x10_000,
            stack_high: 0x20_000,
            ..ThreadInfo::default()
        };
        let manifest = Manifest { processes: vec![process], threads: vec![thread], ..Manifest::default() };
        let mut writer = Writer::create(dir, manifest.clone()).unwrap();
        let path = |id, frames: &[u64]| Stack {
            process: ProcessId(0),
            id: StackId(id),
            frames: frames.iter().copied().map(Ip).collect(),
            truncated: false,
        };
        writer.push(&[path(1, &[0x1100, 0x1200, 0x1300]), path(2, &[0x1400])]);
        let block = HeapObject {
            process: ProcessId(0),
            base: Addr(0x40_010),
            size: 32,
            site: StackId(2),
            seen: Nanos(0),
        };
        writer.push(&[block]);
        writer.finish(manifest).unwrap();
        Recording::open(dir).unwrap()
    }

    #[test]
    fn a_call_path_begins_at_the_access_and_goes_on_with_the_callers() {
        let dir = tempfile::tempdir().unwrap();
        let recording = recording(dir.path());
        let mut names = RecordedNames::new(&recording);
        let mut addresses = |stack| -> Vec<u64> {
            let path = names.call_path(ProcessId(0), Ip(0x10f8), StackId(stack));
            path.iter().map(|frame| frame.address).collect()
        };
        let whole = addresses(1);
        // Addresses in a mapping count from its start, return addresses from the call before them or not.
        assert_eq!((whole.len(), whole[0]), (3, 0xf8));
        assert_eq!(addresses(99), [0xf8]);
    }

    #[test]
    fn blocks_stacks_and_mappings_have_names() {
        let dir = tempfile::tempdir().unwrap();
        let recording = recording(dir.path());
        let mut names = RecordedNames::new(&recording);
        let mut object = |at| names.object(ProcessId(0), Addr(at));
        let block = object(0x40_018);
        assert_eq!((block.kind, block.offset, block.size), (ObjectKind::Heap, -16, Some(32)));
        assert_eq!(object(0x10_100).name, "stack of worker-1");
        assert_eq!(object(0x2000).name, "/tmp/shared");
        // Behind the block nothing is known, and a process that does not exist has no names.
        assert_ne!(object(0x40_030).size, Some(32));
        assert_eq!(names.field(ProcessId(7), Addr(0x1000), 8), None);
    }
}
