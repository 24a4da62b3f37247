//! Memory that processes share, as people know it.

use std::collections::BTreeMap;

use carom_base::{Addr, ProcessId, SegmentId};
use carom_store::{Manifest, ProcessInfo, SegmentInfo};

use crate::symbols::{DataObject, ObjectKind};

/// The suffix of the name of a file that was removed.
const DELETED: &str = " (deleted)";

/// The shared memory of a recording's processes.
pub(super) struct Segments<'a> {
    processes: &'a [ProcessInfo],
    known: BTreeMap<SegmentId, &'a SegmentInfo>,
}

impl<'a> Segments<'a> {
    pub fn new(manifest: &'a Manifest) -> Self {
        let known = manifest.segments.iter().map(|segment| (segment.id, segment)).collect();
        Self { processes: &manifest.processes, known }
    }

    /// The segment in which a shared address lies, with the offset of its line.
    pub fn object(&self, at: Addr) -> Option<DataObject> {
        let (id, _) = at.segment()?;
        let (_, offset) = at.line().start().segment()?;
        let size = self.size(id);
        Some(DataObject {
            kind: ObjectKind::Mapped,
            name: self.name(id, size),
            offset: offset as i64,
            size,
            declared: None,
            allocation: Vec::new(),
        })
    }

    /// Where a shared address lies in a process: by the mapping that was met last.
    pub fn local(&self, process: ProcessId, at: Addr) -> Option<Addr> {
        let (id, offset) = at.segment()?;
        let mappings = &self.processes.get(process.0 as usize)?.shared;
        mappings.iter().rev().filter(|mapping| mapping.segment == id).find_map(|mapping| {
            let place = mapping.low.checked_add(offset.checked_sub(mapping.offset)?)?;
            (place < mapping.high).then_some(Addr(place))
        })
    }

    /// One past the last byte that any process has mapped.
    fn size(&self, id: SegmentId) -> Option<u64> {
        let mappings = self.processes.iter().flat_map(|process| &process.shared);
        let ends = mappings.filter(|mapping| mapping.segment == id);
        ends.map(|mapping| mapping.offset.saturating_add(mapping.high.saturating_sub(mapping.low))).max()
    }

    fn name(&self, id: SegmentId, size: Option<u64>) -> String {
        let Some(segment) = self.known.get(&id) else { return format!("shared memory (segment {})", id.0) };
        let path = segment.path.strip_suffix(DELETED).unwrap_or(&segment.path);
        let deleted = if path.len() < segment.path.len() { DELETED } else { "" };
        if path == "/dev/zero" || path == "/anon_hugepage" {
            let size = size.map(|bytes| format!(" of {} KiB", bytes / 1024)).unwrap_or_default();
            let maker = self.first(id).map(|process| format!(" (process {})", process.0)).unwrap_or_default();
            return format!("shared anonymous mapping{size}{maker}");
        }
        if let Some(name) = path.strip_prefix("/memfd:") {
            return format!("memfd:{name}");
        }
        if let Some(key) = path.strip_prefix("/SYSV") {
            return format!("System V segment key 0x{key} id {}", segment.inode);
        }
        if path.starts_with("/dev/shm/") {
            return format!("shared memory {path}{deleted}");
        }
        format!("{path}{deleted}")
    }

    /// The first process that has it, from which the others have it.
    fn first(&self, id: SegmentId) -> Option<ProcessId> {
        let has = |process: &&ProcessInfo| process.shared.iter().any(|mapping| mapping.segment == id);
        self.processes.iter().find(has).map(|process| process.id)
    }
}

#[cfg(test)]
mod tests {
    use carom_store::SharedMappingInfo;

    use super::*;

    fn manifest() -> Manifest {
        let paths = [
            "/dev/zero (deleted)",
            "/memfd:rings (deleted)",
            "/SYSV0000002a (deleted)",
            "/dev/shm/queue",
            "/dev/shm/old (deleted)",
            "/var/lib/db/index",
        ];
        let segment = |(id, path): (usize, &&str)| SegmentInfo {
            id: SegmentId(id as u32),
            path: (*path).into(),
            device: 1,
            inode: 7,
        };
        let shared = |low, high, segment, offset| SharedMappingInfo {
            low,
            high,
            segment: SegmentId(segment),
            offset,
            writable: true,
        };
        let process = |id, shared| ProcessInfo { id: ProcessId(id), shared, ..ProcessInfo::default() };
        Manifest {
            segments: paths.iter().enumerate().map(segment).collect(),
            processes: vec![
                process(0, Vec::new()),
                process(1, vec![shared(0x7000, 0x9000, 0, 0)]),
                process(2, vec![shared(0x1000, 0x2000, 0, 0x1000), shared(0x5000, 0x6000, 9, 0)]),
            ],
            ..Manifest::default()
        }
    }

    fn at(segment: u32, offset: u64) -> Addr {
        Addr::shared(SegmentId(segment), offset).unwrap()
    }

    #[test]
    fn segments_are_called_what_people_know_them_by() {
        let manifest = manifest();
        let segments = Segments::new(&manifest);
        let names = (0..6).chain([9]).map(|id| segments.object(at(id, 0)).unwrap().name);
        assert_eq!(
            names.collect::<Vec<_>>(),
            [
                "shared anonymous mapping of 8 KiB (process 1)",
                "memfd:rings",
                "System V segment key 0x0000002a id 7",
                "shared memory /dev/shm/queue",
                "shared memory /dev/shm/old (deleted)",
                "/var/lib/db/index",
                "shared memory (segment 9)",
            ]
        );
        assert_eq!(segments.object(Addr(0x7000)), None);
    }

    #[test]
    fn a_byte_lies_where_each_process_has_it() {
        let manifest = manifest();
        let segments = Segments::new(&manifest);
        let object = segments.object(at(0, 0x1048)).unwrap();
        assert_eq!((object.offset, object.size), (0x1040, Some(0x2000)));
        let local = |process, offset| segments.local(ProcessId(process), at(0, offset)).map(|addr| addr.0);
        assert_eq!((local(1, 0x1048), local(2, 0x1048)), (Some(0x8048), Some(0x1048)));
        assert_eq!((local(0, 0), local(2, 0), local(2, 0x2000), local(7, 0)), (None, None, None, None));
    }
}
