//! A line's bytes as the runs that threads touch.

use std::collections::BTreeMap;

use carom_base::ThreadId;

use super::Primitive;
use super::extent::Extent;
use super::tally::{SiteKey, SiteTally};

/// From this overlap of their users on, two runs are used together: the parts of the threads in the accesses to each, the
/// smaller of both for every thread, added up. A main thread that sums up all counters once at the end does not change it.
const TOGETHER: f64 = 0.75;

/// Up to this overlap, two runs belong to different threads.
const APART: f64 = 0.1;

/// A run of bytes that is accessed as one.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Cell {
    pub extent: Extent,
    pub users: BTreeMap<ThreadId, Use>,
    /// The lock, or the like, that it is part of.
    pub part: Option<Part>,
    /// The array of whose elements it is one; `None` where it has no name either.
    pub array: Option<String>,
    /// Whether it has a name.
    pub named: bool,
}

/// Part of a lock, or the like.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Part {
    pub of: Primitive,
    /// The variable or field that the whole is, where known.
    pub whole: Option<String>,
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

    /// How many threads read and write it in one instruction.
    pub fn exchangers(&self) -> usize {
        self.users.values().filter(|u| u.reads + u.writes > u.seen).count()
    }

    pub fn readers(&self) -> Vec<ThreadId> {
        self.users.iter().filter(|(_, u)| u.reads > 0).map(|(thread, _)| *thread).collect()
    }

    pub fn writers(&self) -> Vec<ThreadId> {
        self.users.iter().filter(|(_, u)| u.writes > 0).map(|(thread, _)| *thread).collect()
    }

    /// Whether the same threads use both alike, and write both alike where both are written. Apart from each other, such
    /// runs would move between the threads as before.
    pub fn used_with(&self, other: &Self) -> bool {
        self.overlap(other, |u| u.seen).is_some_and(|overlap| overlap >= TOGETHER)
            && self.overlap(other, |u| u.writes).is_none_or(|overlap| overlap >= TOGETHER)
    }

    /// Whether different threads write both, and hardly any thread uses both.
    pub fn is_others_than(&self, other: &Self) -> bool {
        self.written()
            && other.written()
            && self.overlap(other, |u| u.seen).is_some_and(|overlap| overlap <= APART)
    }

    /// Whether both are elements of one array, or without names.
    pub fn is_of_one_array(&self, other: &Self) -> bool {
        match (&self.array, &other.array) {
            (Some(own), Some(others)) => own == others,
            (None, None) => !self.named && !other.named,
            _ => false,
        }
    }

    /// Whether both are part of one lock, or the like.
    pub fn is_one_with(&self, other: &Self) -> bool {
        match (&self.part, &other.part) {
            (Some(own), Some(others)) if own.of == others.of && own.of.is_of_library() => true,
            (Some(own), Some(others)) if own.of == others.of => match (&own.whole, &others.whole) {
                (Some(own), Some(others)) => own == others,
                _ => self.used_with(other),
            },
            _ => false,
        }
    }

    /// By accesses of one kind; `None` where either has none.
    fn overlap(&self, other: &Self, number: impl Fn(&Use) -> u64) -> Option<f64> {
        let sum = |cell: &Self| cell.users.values().map(&number).sum::<u64>() as f64;
        let (own, others) = (sum(self), sum(other));
        let common = self.users.iter().filter_map(|(thread, of_own)| {
            let of_other = other.users.get(thread)?;
            Some((number(of_own) as f64 / own).min(number(of_other) as f64 / others))
        });
        (own > 0.0 && others > 0.0).then(|| common.sum())
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
                let mut cell = Cell { extent: key.extent, ..Cell::default() };
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
                let key = SiteKey {
                    thread: ThreadId(thread),
                    ip: Ip(1),
                    kind,
                    extent,
                    exact: true,
                    splits_line: false,
                };
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
    }

    fn together(sites: &[(u32, AccessKind, u32, u32, u64)]) -> bool {
        match cells_of(sites).as_slice() {
            [a, b] => a.used_with(b),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_the_same_threads_use_alike_is_used_together() {
        // A sum and a number of entries, both added to by both threads.
        assert!(together(&[
            (1, Store, 0, 8, 50),
            (2, Store, 0, 8, 50),
            (1, Store, 8, 8, 60),
            (2, Store, 8, 8, 40)
        ]));
        // A counter for each thread, summed up by a third.
        assert!(!together(&[
            (1, Store, 0, 8, 90),
            (0, Load, 0, 8, 10),
            (2, Store, 8, 8, 90),
            (0, Load, 8, 8, 10)
        ]));
        // Head and tail of a ring: both threads use both, and each writes one.
        assert!(!together(&[
            (1, Store, 0, 8, 50),
            (2, Load, 0, 8, 50),
            (2, Store, 8, 8, 50),
            (1, Load, 8, 8, 50)
        ]));
        // A counter beside what is only read, by other threads.
        assert!(!together(&[(1, Store, 0, 8, 50), (2, Load, 8, 8, 50), (3, Load, 8, 8, 50)]));
        // A limit that is read by all that count.
        assert!(together(&[
            (1, Store, 0, 8, 50),
            (2, Store, 0, 8, 50),
            (1, Load, 8, 8, 50),
            (2, Load, 8, 8, 50)
        ]));
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
