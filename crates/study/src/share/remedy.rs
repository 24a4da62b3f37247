//! What would end the contention on a line, and the evidence for it.

use std::collections::BTreeMap;

use super::Remedy;
use super::extent::Extent;
use super::layout::Cell;
use super::matrix::Volume;

/// From two thirds on, one class of sharing is called the cause and gets its remedy; in between, half of
/// the traffic or so would stay after either.
const DOMINATES: f64 = 2.0 / 3.0;

/// The remedy for a line with these cells (in order of offset). `exchanged` are the bytes of true sharing with
/// their volume; `name` gives the name of a cell, where known.
pub(super) fn remedy(
    volume: Volume,
    cells: &[Cell],
    exchanged: &BTreeMap<Extent, f64>,
    name: impl Fn(&Cell) -> Option<String>,
) -> Remedy {
    if volume.false_sharing >= DOMINATES * volume.all() {
        let cuts = cuts(cells);
        let fields = groups(cells, &cuts).map(|group| group_name(group, &name)).collect();
        Remedy::Pad { at_line_offsets: cuts, fields }
    } else if volume.true_sharing >= DOMINATES * volume.all() {
        let Extent { offset, width } = most_exchanged(cells, exchanged);
        Remedy::ShareLess { offset, width }
    } else {
        Remedy::PadThenShareLess { at_line_offsets: cuts(cells) }
    }
}

/// Where ownership changes: the first byte of each cell whose owners differ from those of the cell before it,
/// if either is written. Where all cells have the same owners, every border next to a written cell: threads
/// that take turns at two counters collide less often when these lie apart.
fn cuts(cells: &[Cell]) -> Vec<u32> {
    let borders = |differ: bool| -> Vec<u32> {
        cells
            .windows(2)
            .filter_map(|pair| match pair {
                [a, b] if (a.written() || b.written()) && (!differ || a.owners() != b.owners()) => {
                    Some(b.extent.offset)
                }
                _ => None,
            })
            .collect()
    };
    let changes = borders(true);
    if changes.is_empty() { borders(false) } else { changes }
}

/// The cells between the cuts; none where there are no cells.
fn groups<'a>(cells: &'a [Cell], cuts: &'a [u32]) -> impl Iterator<Item = &'a [Cell]> {
    cells.chunk_by(|_, b| !cuts.contains(&b.extent.offset))
}

/// The name of the most used cell that has one, else the bytes.
fn group_name(group: &[Cell], name: impl Fn(&Cell) -> Option<String>) -> String {
    // The last of several maxima is taken, so the first cell comes last.
    let named = group.iter().rev().filter_map(|cell| Some((cell.seen(), name(cell)?)));
    match (named.max_by_key(|(seen, _)| *seen), group) {
        (Some((_, name)), _) => name,
        (None, [first, .., last]) => bytes(first.extent.hull(last.extent)),
        (None, [only]) => bytes(only.extent),
        (None, []) => String::new(),
    }
}

fn bytes(extent: Extent) -> String {
    match extent.width {
        0 | 1 => format!("byte {}", extent.offset),
        _ => format!("bytes {}-{}", extent.offset, extent.end() - 1),
    }
}

/// The bytes that carry most true sharing; without evidence from events, the most used cell that is written
/// and has several users.
fn most_exchanged(cells: &[Cell], exchanged: &BTreeMap<Extent, f64>) -> Extent {
    let by_event = exchanged.iter().max_by(|a, b| a.1.total_cmp(b.1).then(b.0.cmp(a.0)));
    let by_use = || {
        cells.iter().filter(|c| c.written() && c.users.len() > 1).max_by_key(|c| c.seen()).map(|c| c.extent)
    };
    by_event.map(|(extent, _)| *extent).or_else(by_use).unwrap_or(Extent { offset: 0, width: 64 })
}

#[cfg(test)]
mod tests {
    use carom_base::ThreadId;

    use super::*;
    use crate::share::layout::Use;

    fn cell(offset: u32, width: u32, users: &[(u32, Use)]) -> Cell {
        let users = users.iter().map(|(thread, u)| (ThreadId(*thread), *u)).collect();
        Cell { extent: Extent { offset, width }, users }
    }

    const WRITES: Use = Use { reads: 0, writes: 100, seen: 100 };
    const READS: Use = Use { reads: 100, writes: 0, seen: 100 };
    const FALSE: Volume = Volume { true_sharing: 1.0, false_sharing: 9.0 };
    const TRUE: Volume = Volume { true_sharing: 9.0, false_sharing: 1.0 };
    const BOTH: Volume = Volume { true_sharing: 5.0, false_sharing: 5.0 };

    fn names(cell: &Cell) -> Option<String> {
        match cell.extent.offset {
            0 => Some("hits".to_owned()),
            8 => Some("misses".to_owned()),
            _ => None,
        }
    }

    fn pad(cells: &[Cell]) -> (Vec<u32>, Vec<String>) {
        match remedy(FALSE, cells, &BTreeMap::new(), names) {
            Remedy::Pad { at_line_offsets, fields } => (at_line_offsets, fields),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn two_counters_of_two_threads_are_cut_apart() {
        let cells = [cell(0, 8, &[(1, WRITES)]), cell(8, 8, &[(2, WRITES)])];
        assert_eq!(pad(&cells), (vec![8], vec!["hits".to_owned(), "misses".to_owned()]));
        let same = Remedy::PadThenShareLess { at_line_offsets: vec![8] };
        assert_eq!(remedy(BOTH, &cells, &BTreeMap::new(), names), same);
    }

    #[test]
    fn what_one_thread_owns_stays_together() {
        let cells = [
            cell(0, 8, &[(1, WRITES)]),
            cell(8, 8, &[(1, READS)]),
            cell(16, 4, &[(2, WRITES)]),
            cell(20, 4, &[(2, WRITES)]),
        ];
        assert_eq!(pad(&cells), (vec![16], vec!["hits".to_owned(), "bytes 16-23".to_owned()]));
    }

    #[test]
    fn data_that_is_only_read_moves_away_from_the_writer_but_not_apart() {
        let cells = [cell(0, 8, &[(1, WRITES)]), cell(16, 8, &[(2, READS)]), cell(24, 8, &[(3, READS)])];
        assert_eq!(pad(&cells).0, [16]);
    }

    #[test]
    fn a_sum_at_the_end_does_not_hide_the_owners() {
        // The main thread reads both counters ten times in a thousand.
        let rarely = Use { reads: 10, writes: 0, seen: 10 };
        let busy = Use { reads: 990, writes: 990, seen: 990 };
        let cells = [
            cell(0, 8, &[(0, rarely), (1, busy)]),
            cell(8, 8, &[(0, rarely), (1, busy)]),
            cell(16, 8, &[(2, busy)]),
        ];
        assert_eq!(pad(&cells).0, [16]);
    }

    #[test]
    fn threads_that_take_turns_at_everything_get_every_border() {
        let both = [(1, WRITES), (2, WRITES)];
        assert_eq!(pad(&[cell(0, 8, &both), cell(8, 8, &both), cell(32, 8, &both)]).0, [8, 32]);
    }

    #[test]
    fn one_known_cell_gives_no_border() {
        assert_eq!(pad(&[cell(0, 8, &[(1, WRITES)])]), (vec![], vec!["hits".to_owned()]));
        assert_eq!(pad(&[]), (vec![], vec![]));
    }

    #[test]
    fn true_sharing_points_at_the_bytes_that_carry_it() {
        let both = [(1, WRITES), (2, WRITES)];
        let cells = [cell(0, 8, &[(1, WRITES)]), cell(8, 8, &both), cell(16, 8, &both)];
        let exchanged =
            BTreeMap::from([(Extent { offset: 8, width: 8 }, 1.0), (Extent { offset: 16, width: 8 }, 3.0)]);
        let found = remedy(TRUE, &cells, &exchanged, names);
        assert_eq!(found, Remedy::ShareLess { offset: 16, width: 8 });
        let found = remedy(TRUE, &cells[..2], &BTreeMap::new(), names);
        assert_eq!(found, Remedy::ShareLess { offset: 8, width: 8 });
        assert_eq!(remedy(TRUE, &[], &BTreeMap::new(), names), Remedy::ShareLess { offset: 0, width: 64 });
    }

    #[test]
    fn two_thirds_is_the_border() {
        let of = |true_sharing, false_sharing| {
            remedy(Volume { true_sharing, false_sharing }, &[], &BTreeMap::new(), names)
        };
        assert!(matches!(of(1.0, 2.0), Remedy::Pad { .. }));
        assert!(matches!(of(1.1, 2.0), Remedy::PadThenShareLess { .. }));
        assert!(matches!(of(2.0, 1.0), Remedy::ShareLess { .. }));
        assert!(matches!(of(2.0, 1.1), Remedy::PadThenShareLess { .. }));
    }
}
