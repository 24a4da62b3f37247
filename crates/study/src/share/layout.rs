//! A line's bytes as the runs that threads touch.

use std::collections::BTreeMap;

use carom_base::ThreadId;

use super::extent::Extent;
use super::tally::{SiteKey, SiteTally};

/// A thread that makes up a smaller part of a run's accesses than this does not own it: a main thread that
/// sums up all counters once at the end must not hide that each belongs to one worker.
const OWNER_PART: f64 = 0.1;

/// A run of bytes that is accessed as one.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Cell {
    pub extent: Extent,
    pub users: BTreeMap<ThreadId, Use>,
}

/// How often a thread was seen at a cell.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Use {
    pub reads: u64,
    pub writes: u64,
    /// Not the sum: a read-modify-write is one.
    pub seen: u64,
}

impl Cell {
    pub fn seen(&self) -> u64 {
        self.users.values().map(|u| u.seen).sum()
    }

    pub fn written(&self) -> bool {
        self.users.values().any(|u| u.writes > 0)
    }

    pub fn readers(&self) -> Vec<ThreadId> {
        self.users.iter().filter(|(_, u)| u.reads > 0).map(|(thread, _)| *thread).collect()
    }

    pub fn writers(&self) -> Vec<ThreadId> {
        self.users.iter().filter(|(_, u)| u.writes > 0).map(|(thread, _)| *thread).collect()
    }

    /// The threads that make up a fair part of its accesses.
    pub fn owners(&self) -> Vec<ThreadId> {
        let least = self.seen() as f64 * OWNER_PART;
        self.users.iter().filter(|(_, u)| u.seen as f64 >= least).map(|(thread, _)| *thread).collect()
    }
}

/// The cells of a line in order of offset; they do not overlap.
///
/// Narrow accesses draw the borders. A wider one extends the cell that it overlaps; if it overlaps several
/// (a copy or a clearing of a whole structure), it only counts as a use of each.
pub(super) fn cells<'a>(sites: impl IntoIterator<Item = (SiteKey, &'a SiteTally)>) -> Vec<Cell> {
    let mut sites: Vec<_> = sites.into_iter().collect();
    sites.sort_by_key(|(key, _)| (key.extent.width, key.extent.offset));
    let mut cells: Vec<Cell> = Vec::new();
    for (key, site) in sites {
        let mut touched: Vec<&mut Cell> =
            cells.iter_mut().filter(|cell| cell.extent.common(key.extent).is_some()).collect();
        match touched.as_mut_slice() {
            [] => {
                let mut cell = Cell { extent: key.extent, users: BTreeMap::new() };
                used(&mut cell, key, site.seen);
                cells.push(cell);
            }
            [cell] => {
                cell.extent = cell.extent.hull(key.extent);
                used(cell, key, site.seen);
            }
            several => several.iter_mut().for_each(|cell| used(cell, key, site.seen)),
        }
    }
    cells.sort_by_key(|cell| cell.extent);
    cells
}

fn used(cell: &mut Cell, key: SiteKey, seen: u64) {
    let user = cell.users.entry(key.thread).or_default();
    user.seen += seen;
    if key.kind.reads() {
        user.reads += seen;
    }
    if key.kind.writes() {
        user.writes += seen;
    }
}

#[cfg(test)]
mod tests {
    use AccessKind::{Load, ReadModifyWrite, Store};
    use carom_base::{AccessKind, Ip};

    use super::*;

    /// Cells of sites given as (thread, kind, offset, width, seen).
    fn cells_of(sites: &[(u32, AccessKind, u32, u32, u64)]) -> Vec<Cell> {
        let sites: Vec<_> = sites
            .iter()
            .map(|&(thread, kind, offset, width, seen)| {
                let extent = Extent { offset, width };
                let key = SiteKey { thread: ThreadId(thread), ip: Ip(1), kind, extent, exact: true };
                (key, SiteTally { seen, ..SiteTally::default() })
            })
            .collect();
        cells(sites.iter().map(|(key, site)| (*key, site)))
    }

    fn extents(cells: &[Cell]) -> Vec<(u32, u32)> {
        cells.iter().map(|c| (c.extent.offset, c.extent.width)).collect()
    }

    #[test]
    fn two_counters_are_two_cells() {
        let cells = cells_of(&[(2, ReadModifyWrite, 8, 8, 5), (1, Load, 0, 8, 5), (1, Store, 0, 8, 5)]);
        assert_eq!(extents(&cells), [(0, 8), (8, 8)]);
        assert_eq!(cells[0].users[&ThreadId(1)], Use { reads: 5, writes: 5, seen: 10 });
        assert_eq!(cells[1].readers(), [ThreadId(2)]);
        assert_eq!(cells[1].writers(), [ThreadId(2)]);
    }

    #[test]
    fn clearing_the_structure_does_not_join_its_fields() {
        let cells = cells_of(&[(0, Store, 0, 32, 1), (1, Store, 0, 8, 9), (2, Store, 8, 8, 9)]);
        assert_eq!(extents(&cells), [(0, 8), (8, 8)]);
        assert_eq!(cells[1].writers(), [ThreadId(0), ThreadId(2)]);
        // One in ten is just a fair part: 1 of 10 counts, 1 of 11 would not.
        assert_eq!(cells[1].owners(), [ThreadId(0), ThreadId(2)]);
        let cells = cells_of(&[(0, Store, 0, 8, 1), (2, Store, 0, 8, 10)]);
        assert_eq!(cells[0].owners(), [ThreadId(2)]);
    }

    #[test]
    fn a_narrow_read_of_a_wide_field_belongs_to_it() {
        let cells = cells_of(&[(1, Store, 16, 8, 3), (2, Load, 16, 4, 3)]);
        assert_eq!(extents(&cells), [(16, 8)]);
        // And one that reaches out on one side extends the cell.
        let cells = cells_of(&[(1, Store, 16, 8, 3), (2, Load, 20, 16, 3)]);
        assert_eq!(extents(&cells), [(16, 20)]);
    }
}
