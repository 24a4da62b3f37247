//! A line's bytes as a person sees them: runs with names.

use std::collections::BTreeSet;

use carom_base::{Addr, Line, ProcessId};

use super::ByteRange;
use super::extent::Extent;
use super::layout::Cell;
use crate::recording::Names;

/// The cells with their names, and between them what else has a name there, although nobody was seen at it.
pub(super) fn layout(
    process: ProcessId,
    line: Line,
    cells: &[Cell],
    names: &mut dyn Names,
) -> Vec<ByteRange> {
    let mut ranges: Vec<ByteRange> = cells
        .iter()
        .map(|cell| ByteRange {
            offset: cell.extent.offset,
            width: cell.extent.width,
            field: names.field(
                process,
                Addr(line.start().0.saturating_add(u64::from(cell.extent.offset))),
                cell.extent.width,
            ),
            readers: cell.readers(),
            writers: cell.writers(),
        })
        .collect();
    let neighbours = names.layout(process, line).into_iter().filter(|named| {
        let end = named.offset.saturating_add(named.width);
        cells.iter().all(|cell| cell.extent.end() <= named.offset || end <= cell.extent.offset)
    });
    ranges.extend(neighbours.map(|named| ByteRange {
        offset: named.offset,
        width: named.width,
        field: Some(named.name),
        readers: Vec::new(),
        writers: Vec::new(),
    }));
    ranges.sort_by_key(|range| range.offset);
    ranges
}

/// The same with each lock, or the like, as one range: its author thinks of it as one, and nobody can part it.
pub(super) fn with_whole_locks(ranges: Vec<ByteRange>, cells: &[Cell]) -> Vec<ByteRange> {
    let wholes: BTreeSet<&str> =
        cells.iter().filter_map(|cell| cell.part.as_ref()?.whole.as_deref()).collect();
    wholes.into_iter().fold(ranges, |ranges, whole| with_one(ranges, cells, whole))
}

fn with_one(ranges: Vec<ByteRange>, cells: &[Cell], whole: &str) -> Vec<ByteRange> {
    let is_cell = |cell: &&Cell| cell.part.as_ref().is_some_and(|part| part.whole.as_deref() == Some(whole));
    let is_field = |range: &ByteRange| {
        let rest = range.field.as_deref().and_then(|field| field.strip_prefix(whole));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    };
    let Some(touched) = cells.iter().filter(is_cell).map(|cell| cell.extent).reduce(Extent::hull) else {
        return ranges;
    };
    let (parts, mut others): (Vec<_>, Vec<_>) = ranges.into_iter().partition(|range| {
        let extent = Extent { offset: range.offset, width: range.width };
        extent.common(touched).is_some() || is_field(range)
    });
    let extents = parts.iter().map(|part| Extent { offset: part.offset, width: part.width });
    let extent = extents.fold(touched, Extent::hull);
    let threads = |of: fn(&ByteRange) -> &Vec<_>| {
        parts.iter().flat_map(of).copied().collect::<BTreeSet<_>>().into_iter().collect()
    };
    others.push(ByteRange {
        offset: extent.offset,
        width: extent.width,
        field: Some(whole.to_owned()),
        readers: threads(|part| &part.readers),
        writers: threads(|part| &part.writers),
    });
    others.sort_by_key(|range| range.offset);
    others
}

#[cfg(test)]
mod tests {
    use carom_base::ThreadId;

    use super::*;
    use crate::share::Primitive;
    use crate::share::layout::Part;

    fn range(offset: u32, field: &str, threads: &[u32]) -> ByteRange {
        let threads: Vec<_> = threads.iter().copied().map(ThreadId).collect();
        let field = Some(field.to_owned());
        ByteRange { offset, width: 4, field, readers: threads.clone(), writers: threads }
    }

    fn cell(offset: u32, whole: Option<&str>) -> Cell {
        let part = whole.map(|whole| Part { of: Primitive::Mutex, whole: Some(whole.to_owned()) });
        Cell { extent: Extent { offset, width: 4 }, part, ..Cell::default() }
    }

    #[test]
    fn a_lock_is_one_range_and_its_neighbours_stay() {
        let ranges = vec![
            range(0, "q.lock.__lock", &[1, 2]),
            range(4, "q.lock.__count", &[]),
            range(8, "q.lock.__owner", &[2, 3]),
            range(12, "q.lock.__kind", &[]),
            range(16, "q.lock_waits", &[1]),
        ];
        let cells = [cell(0, Some("q.lock")), cell(8, Some("q.lock")), cell(16, None)];
        let found = with_whole_locks(ranges.clone(), &cells);
        assert_eq!(found, [ByteRange { width: 16, ..range(0, "q.lock", &[1, 2, 3]) }, ranges[4].clone()]);
        assert_eq!(with_whole_locks(ranges.clone(), &[cell(0, None)]), ranges, "not known as a lock");
    }
}
