//! Which heap block an address lay in, and who allocated it.

use std::collections::BTreeMap;
use std::ops::Range;

use carom_base::{Addr, ProcessId};
use carom_store::HeapObject;

use crate::symbols::{
    DataObject, Frame, HeapType, Layer, ObjectKind, function_within, layer, wraps_allocator,
};

/// Longer names of functions that allocate are given without their parameters.
const LETTERS: usize = 60;

/// The heap blocks of a recording.
#[derive(Default)]
pub(super) struct HeapBlocks(BTreeMap<ProcessId, Blocks>);

/// Blocks by first byte; those of different times may overlap.
#[derive(Default)]
struct Blocks {
    sorted: Vec<HeapObject>,
    /// The highest end of this block and all before it: where to stop looking backwards.
    highest_end: Vec<u64>,
}

impl HeapBlocks {
    pub fn new(objects: impl IntoIterator<Item = HeapObject>) -> Self {
        let mut blocks: BTreeMap<ProcessId, Blocks> = BTreeMap::new();
        for object in objects {
            blocks.entry(object.process).or_default().sorted.push(object);
        }
        for Blocks { sorted, highest_end } in blocks.values_mut() {
            sorted.sort_by_key(|block| (block.base, block.seen));
            let highest = |so_far: &mut u64, block: &HeapObject| {
                *so_far = end(block).max(*so_far);
                Some(*so_far)
            };
            *highest_end = sorted.iter().scan(0, highest).collect();
        }
        Self(blocks)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The block that holds a byte; of several over time, the latest.
    pub fn at(&self, process: ProcessId, addr: Addr) -> Option<HeapObject> {
        let Blocks { sorted, highest_end } = self.0.get(&process)?;
        let behind = sorted.partition_point(|block| block.base <= addr);
        sorted
            .iter()
            .zip(highest_end)
            .take(behind)
            .rev()
            .take_while(|(_, highest)| **highest > addr.0)
            .map(|(block, _)| *block)
            .filter(|block| addr.0 < end(block))
            .max_by_key(|block| block.seen)
    }

    /// The blocks that own bytes of `window`, in order, each with the part that is its own: what
    /// [`HeapBlocks::at`] says of each byte.
    pub fn in_window(&self, process: ProcessId, window: Range<u64>) -> Vec<(HeapObject, Range<u64>)> {
        let mut parts: Vec<(HeapObject, Range<u64>)> = Vec::new();
        for byte in window {
            let Some(block) = self.at(process, Addr(byte)) else { continue };
            match parts.last_mut() {
                Some((last, part)) if *last == block && part.end == byte => part.end += 1,
                _ => parts.push((block, byte..byte.saturating_add(1))),
            }
        }
        parts
    }
}

fn end(block: &HeapObject) -> u64 {
    block.base.0.saturating_add(block.size)
}

/// The part of an allocation's call path from where the program decided to allocate: behind the allocator, the languages'
/// libraries above it, and functions of the program that stand for the allocator.
pub(super) fn own_frames(path: Vec<Frame>) -> Vec<Frame> {
    let program = |frame: &Frame| layer(frame) == Layer::Program;
    let decides = path.iter().position(|frame| program(frame) && !wraps_allocator(frame));
    let own = decides.or_else(|| path.iter().position(program)).unwrap_or(0);
    path.into_iter().skip(own).collect()
}

/// The object that a block is, for the line of `addr`. `path` is the call path of its allocation, `of` the type
/// that it is taken to have.
pub(super) fn heap_object(
    block: HeapObject,
    addr: Addr,
    path: Vec<Frame>,
    of: Option<&HeapType>,
) -> DataObject {
    let allocation = own_frames(path);
    let by = allocation.first();
    let size = block.size;
    let function = by.and_then(|frame| frame.function.as_deref());
    let name = match (function.map(|name| function_within(name, LETTERS)), of) {
        (Some(function), Some(of)) => {
            format!("{size}-byte block, presumably {}, allocated in {function}", of.name)
        }
        (Some(function), None) => format!("{size}-byte block allocated in {function}"),
        (None, _) => format!("{size}-byte heap block (allocation site unknown)"),
    };
    DataObject {
        kind: ObjectKind::Heap,
        name,
        offset: addr.line().start().0.wrapping_sub(block.base.0) as i64,
        size: Some(size),
        declared: by.cloned(),
        allocation,
    }
}

#[cfg(test)]
mod tests {
    use carom_base::{Nanos, StackId};

    use super::*;

    fn block(base: u64, size: u64, seen: u64) -> HeapObject {
        HeapObject { process: ProcessId(0), base: Addr(base), size, site: StackId::NONE, seen: Nanos(seen) }
    }

    fn base_at(blocks: &HeapBlocks, addr: u64) -> Option<u64> {
        blocks.at(ProcessId(0), Addr(addr)).map(|b| b.base.0)
    }

    #[test]
    fn the_block_around_an_address() {
        let blocks = HeapBlocks::new([block(100, 50, 0), block(200, 10, 0), block(1000, 1, 0)]);
        let found: Vec<_> = [99, 100, 149, 150, 200, 1000, 1001].map(|a| base_at(&blocks, a)).into();
        assert_eq!(found, [None, Some(100), Some(100), None, Some(200), Some(1000), None]);
        assert_eq!(blocks.at(ProcessId(1), Addr(100)), None);
    }

    #[test]
    fn the_latest_of_overlapping_blocks() {
        // A large block was freed and cut into small ones; then the other way round.
        let blocks = HeapBlocks::new([block(100, 1000, 1), block(300, 16, 2), block(400, 16, 0)]);
        assert_eq!(base_at(&blocks, 305), Some(300));
        assert_eq!(base_at(&blocks, 405), Some(100));
        assert_eq!(base_at(&blocks, 900), Some(100));
    }

    #[test]
    fn a_window_is_divided_among_the_blocks_in_it() {
        // A small block was cut out of a large one that was freed: the large one has what is left on either side.
        let (large, small, next) = (block(100, 50, 1), block(110, 8, 2), block(160, 16, 0));
        let blocks = HeapBlocks::new([large, small, next]);
        let parts = blocks.in_window(ProcessId(0), 96..170);
        assert_eq!(parts, [(large, 100..110), (small, 110..118), (large, 118..150), (next, 160..170)]);
        assert_eq!(blocks.in_window(ProcessId(1), 96..170), []);
    }

    #[test]
    fn the_allocation_is_named_after_the_first_function_of_the_program() {
        let frame = |name: &str| Frame { function: Some(name.to_owned()), ..Frame::default() };
        let path = ["malloc", "operator new(unsigned long)", "make_pool", "main"].map(frame).to_vec();
        // The block begins 16 bytes into the line of byte 130, which starts at 128.
        let object = heap_object(block(144, 64, 0), Addr(130), path, None);
        assert_eq!(object.name, "64-byte block allocated in make_pool");
        assert_eq!((object.offset, object.allocation.len()), (-16, 2));
        assert_eq!(object.declared, Some(frame("make_pool")));
        let wrapped = ["malloc", "xmalloc", "make_pool", "main"].map(frame).to_vec();
        assert_eq!(
            heap_object(block(144, 64, 0), Addr(130), wrapped, None).declared,
            Some(frame("make_pool"))
        );
        let alone = ["malloc", "xmalloc"].map(frame).to_vec();
        assert_eq!(heap_object(block(144, 64, 0), Addr(130), alone, None).declared, Some(frame("xmalloc")));
        let object = heap_object(block(144, 64, 0), Addr(130), Vec::new(), None);
        assert_eq!(object.name, "64-byte heap block (allocation site unknown)");
    }
}
