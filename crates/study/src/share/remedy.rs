//! What would end the contention on a line, and the evidence for it.

use std::collections::{BTreeMap, BTreeSet};

use carom_base::{Addr, Line};

use super::extent::Extent;
use super::layout::{Cell, Part};
use super::tally::Exchange;
use super::together::{have_no_owner, have_the_same_writers, meet_by_chance};
use super::{Contended, Padding, Parts, Remedy};
use crate::symbols::ArrayObject;

/// From two thirds on, one class of sharing is called the cause and gets its remedy; in between, half of
/// the traffic or so would stay after either.
const DOMINATES: f64 = 2.0 / 3.0;

/// Conflicts are between the elements of an array from this part of them on.
const NEARLY_ALL: f64 = 0.9;

/// Cells are parted where the conflict between them is at least this part of the heaviest: what is seen now and then is not
/// worth moving data for, and would make the advice differ from run to run.
const TELLING: f64 = 0.25;

/// From this part of the sharing on, what others use without the lock beside it is worth its own line: each holder of the lock
/// takes it from them, and to move it costs nothing, whereas a lock that is held less is still held.
const BESIDE: f64 = 0.1;

/// A thread that makes less than this part of the accesses to a lock does not use it.
const BYSTANDER: f64 = 0.02;

/// An array, and where in it the line begins.
pub(super) struct Elements {
    pub of: ArrayObject,
    pub line: Line,
}

impl Elements {
    /// Whether these conflicts are nearly all between different elements.
    fn parts(&self, conflicts: &BTreeMap<(usize, usize), f64>, cells: &[Cell]) -> bool {
        let index = |number: usize| {
            let offset = u64::from(cells.get(number)?.extent.offset);
            Some(self.of.index(Addr(self.line.start().0.saturating_add(offset))))
        };
        let apart = conflicts.iter().filter(|((one, other), _)| index(*one) != index(*other));
        let parted: f64 = apart.map(|(_, weight)| weight).sum();
        let whole: f64 = conflicts.values().sum();
        parted > 0.0 && parted >= NEARLY_ALL * whole
    }
}

/// The remedy for a line with these cells (in order of offset). `name` gives the name of a cell, where known.
///
/// False sharing between runs that the same threads use alike goes on wherever these lie, so it counts as true sharing here.
/// `alike`: all threads write the whole object alike.
pub(super) fn remedy(
    exchange: &Exchange,
    exchanged: &BTreeMap<Extent, f64>,
    cells: &[Cell],
    alike: bool,
    name: impl Fn(&Cell) -> Option<String>,
    array: Option<Elements>,
    contention: impl FnOnce(&Cell, &Part) -> Contended,
) -> Remedy {
    let conflicts = avoidable(exchange, cells, alike);
    let volume = exchange.volume.all();
    let avoidable: f64 = conflicts.values().sum();
    let padding = |conflicts: &BTreeMap<(usize, usize), f64>, of| {
        let at_line_offsets = cuts(conflicts, cells);
        let fields = groups(cells, &at_line_offsets).map(|group| group_name(group, &name)).collect();
        Padding { at_line_offsets, fields, of }
    };
    if avoidable >= DOMINATES * volume {
        let array = array.filter(|array| array.parts(&conflicts, cells)).map(|array| array.of);
        return Remedy::Pad(padding(&conflicts, array.map_or(Parts::Fields, Parts::Elements)));
    }
    if let Some((lock, part)) = contended(exchanged, cells) {
        let mut beside = conflicts;
        beside.retain(|(one, other), _| {
            let without =
                |number: &usize| cells.get(*number).is_some_and(|cell| is_used_without(cell, lock, cells));
            without(one) != without(other)
        });
        let contended = contention(lock, part);
        let harmed: f64 = beside.values().sum();
        return if harmed > BESIDE * volume {
            let padding = padding(&beside, Parts::Fields);
            Remedy::PadThenShareLess { padding, lock: Some(contended) }
        } else {
            Remedy::Contend(contended)
        };
    }
    if avoidable <= (1.0 - DOMINATES) * volume {
        let Extent { offset, width } = most_exchanged(cells, exchanged);
        Remedy::ShareLess { offset, width, handed: None, elements: false }
    } else {
        Remedy::PadThenShareLess { padding: padding(&conflicts, Parts::Fields), lock: None }
    }
}

/// Whether most uses of a cell are by threads that hardly take the lock.
fn is_used_without(cell: &Cell, lock: &Cell, cells: &[Cell]) -> bool {
    let of_lock = |of: &Cell| of.extent == lock.extent || of.is_one_with(lock);
    let takes: u64 = cells.iter().filter(|of| of_lock(of)).map(Cell::seen).sum();
    let takes_of = |thread| -> u64 {
        cells.iter().filter(|of| of_lock(of)).filter_map(|of| of.users.get(&thread)).map(|u| u.seen).sum()
    };
    let users =
        cell.users.iter().filter(|(thread, _)| (takes_of(**thread) as f64) < BYSTANDER * takes as f64);
    !of_lock(cell) && 2 * users.map(|(_, used)| used.seen).sum::<u64>() > cell.seen()
}

/// The lock, or the like, that at least half of the true sharing is about: its own bytes, and what is used alike beside a lock.
/// The cell is the most used of it.
fn contended<'a>(exchanged: &BTreeMap<Extent, f64>, cells: &'a [Cell]) -> Option<(&'a Cell, &'a Part)> {
    let parts = cells.iter().filter_map(|cell| Some((cell, cell.part.as_ref()?)));
    let (lock, part) = parts.max_by_key(|(cell, _)| cell.seen())?;
    let belongs = |extent: &Extent| {
        cells.iter().filter(|cell| cell.extent.common(*extent).is_some()).any(|cell| {
            cell.extent == lock.extent || cell.is_one_with(lock) || part.of.protects() && cell.used_with(lock)
        })
    };
    let whole: f64 = exchanged.values().sum();
    let of_lock: f64 = exchanged.iter().filter(|(extent, _)| belongs(extent)).map(|(_, weight)| weight).sum();
    (of_lock > 0.0 && 2.0 * of_lock >= whole).then_some((lock, part))
}

/// False sharing by the numbers of the cells between which it is, the lower first: what would end if these lay on different
/// lines.
fn avoidable(exchange: &Exchange, cells: &[Cell], alike: bool) -> BTreeMap<(usize, usize), f64> {
    let conflicts = &exchange.conflicts;
    let by_chance = meet_by_chance(exchange, cells);
    let number = |of: &Extent| cells.iter().position(|cell| cell.extent.common(*of).is_some());
    let mut between = BTreeMap::new();
    for ((written, accessed), weight) in conflicts {
        let (Some(one), Some(other)) = (number(written), number(accessed)) else { continue };
        let pair = cells.get(one).zip(cells.get(other));
        let parted = |(one, other): (&Cell, &Cell)| {
            let alike = have_the_same_writers(one, other) || alike && have_no_owner(one, other);
            !(one.used_with(other) || alike && by_chance)
        };
        if one != other && pair.is_some_and(parted) {
            *between.entry((one.min(other), one.max(other))).or_default() += weight;
        }
    }
    between
}

/// Borders between cells, as offsets of what begins there: those between neighbours of different threads, and the fewest that
/// part all telling conflicts, each time the one that parts most of what is left. Of several that part the same, it is the one
/// beside a cell of the heaviest conflict. None goes through a lock.
fn cuts(conflicts: &BTreeMap<(usize, usize), f64>, cells: &[Cell]) -> Vec<u32> {
    let heaviest = conflicts.values().copied().fold(0.0, f64::max);
    let mut left = conflicts.clone();
    left.retain(|_, weight| *weight >= TELLING * heaviest);
    // A border is named by the cell behind it.
    let owned = cells.windows(2).zip(1..).filter(|(pair, _)| matches!(pair, [a, b] if a.is_others_than(b)));
    let possible = possible_borders(cells);
    let mut borders: BTreeSet<usize> =
        owned.map(|(_, border)| border).filter(|border| possible.contains(border)).collect();
    left.retain(|(one, other), _| borders.range(one + 1..=*other).next().is_none());
    while let Some(border) = best_border(&left, &possible) {
        borders.insert(border);
        left.retain(|(one, other), _| border <= *one || *other < border);
    }
    borders.iter().filter_map(|border| Some(cells.get(*border)?.extent.offset)).collect()
}

/// Those that leave every lock, or the like, in one piece.
fn possible_borders(cells: &[Cell]) -> BTreeSet<usize> {
    let through_a_lock = |border: usize| {
        let (before, behind) = cells.split_at(border);
        before.iter().any(|one| behind.iter().any(|other| one.is_one_with(other)))
    };
    (1..cells.len()).filter(|border| !through_a_lock(*border)).collect()
}

/// `None` where no possible border parts anything.
fn best_border(left: &BTreeMap<(usize, usize), f64>, possible: &BTreeSet<usize>) -> Option<usize> {
    let parts = |border: usize| -> f64 {
        left.iter()
            .filter(|((one, other), _)| *one < border && border <= *other)
            .map(|(_, weight)| weight)
            .sum()
    };
    let heaviest = left.iter().max_by(|a, b| a.1.total_cmp(b.1)).map(|(pair, _)| *pair)?;
    let beside = |border: usize| border == heaviest.1 || border == heaviest.0 + 1;
    let parting = possible.iter().copied().filter(|border| parts(*border) > 0.0);
    parting.max_by(|a, b| parts(*a).total_cmp(&parts(*b)).then(beside(*a).cmp(&beside(*b))).then(b.cmp(a)))
}

/// The cells between the cuts; none where there are no cells.
fn groups<'a>(cells: &'a [Cell], cuts: &'a [u32]) -> impl Iterator<Item = &'a [Cell]> {
    cells.chunk_by(|_, b| !cuts.contains(&b.extent.offset))
}

/// The name of the most used cell that has one; empty where none has, or where only cells have one that are hardly used: those
/// may be of another block on the line.
fn group_name(group: &[Cell], name: impl Fn(&Cell) -> Option<String>) -> String {
    let lock = |cell: &Cell| cell.part.as_ref().and_then(|part| part.whole.clone());
    let most = group.iter().map(Cell::seen).max().unwrap_or(0);
    // The last of several maxima is taken, so the first cell comes last.
    let used = group.iter().rev().filter(|cell| cell.seen() as f64 >= TELLING * most as f64);
    let named = used.filter_map(|cell| Some((cell.seen(), lock(cell).or_else(|| name(cell))?)));
    named.max_by_key(|(seen, _)| *seen).map(|(_, name)| name).unwrap_or_default()
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
    use crate::share::tally::Conflicts;
    use crate::share::{layout::Use, matrix::Volume};

    fn cell(offset: u32, width: u32, users: &[(u32, Use)]) -> Cell {
        let users = users.iter().map(|(thread, u)| (ThreadId(*thread), *u)).collect();
        Cell { extent: extent(offset, width), users, ..Cell::default() }
    }

    const WRITES: Use = Use { reads: 0, writes: 100, seen: 100 };
    const READS: Use = Use { reads: 100, writes: 0, seen: 100 };
    fn extent(offset: u32, width: u32) -> Extent {
        Extent { offset, width }
    }

    /// Sharing with `conflicts` of 8 bytes at these offsets, written and accessed, and this much true sharing.
    fn exchange(conflicts: &[(u32, u32, f64)], true_sharing: f64) -> Exchange {
        let conflicts: Conflicts = conflicts
            .iter()
            .map(|&(one, other, weight)| ((extent(one, 8), extent(other, 8)), weight))
            .collect();
        let false_sharing = conflicts.values().sum();
        Exchange { volume: Volume { true_sharing, false_sharing }, conflicts, ..Exchange::default() }
    }

    fn names(cell: &Cell) -> Option<String> {
        match cell.extent.offset {
            0 => Some("hits".to_owned()),
            8 => Some("misses".to_owned()),
            _ => None,
        }
    }

    fn remedy_of(conflicts: &[(u32, u32, f64)], true_sharing: f64, cells: &[Cell]) -> Remedy {
        remedy(&exchange(conflicts, true_sharing), &BTreeMap::new(), cells, false, names, None, nobody)
    }

    fn nobody(_: &Cell, part: &Part) -> Contended {
        Contended {
            primitive: part.of,
            name: part.whole.clone(),
            users: Vec::new(),
            elsewhere: false,
            several: false,
        }
    }

    fn pad(conflicts: &[(u32, u32, f64)], cells: &[Cell]) -> (Vec<u32>, Vec<String>) {
        match remedy_of(conflicts, 0.0, cells) {
            Remedy::Pad(Padding { at_line_offsets, fields, of: Parts::Fields }) => (at_line_offsets, fields),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn two_counters_of_two_threads_are_cut_apart() {
        let cells = [cell(0, 8, &[(1, WRITES)]), cell(8, 8, &[(2, WRITES)])];
        let (conflicts, apart) = ([(0, 8, 1.0)], (vec![8], vec!["hits".to_owned(), "misses".to_owned()]));
        assert_eq!(pad(&conflicts, &cells), apart);
        let (at_line_offsets, fields) = apart;
        let padding = Padding { at_line_offsets, fields, of: Parts::Fields };
        let both = Remedy::PadThenShareLess { padding, lock: None };
        assert_eq!(remedy_of(&conflicts, 1.0, &cells), both);
    }

    #[test]
    fn what_one_thread_owns_stays_together() {
        let cells = [
            cell(0, 8, &[(1, WRITES)]),
            cell(8, 8, &[(1, READS)]),
            cell(16, 4, &[(2, WRITES)]),
            cell(20, 4, &[(2, WRITES)]),
        ];
        let conflicts = [(0, 16, 1.0), (0, 20, 1.0), (16, 0, 1.0), (20, 0, 1.0), (16, 8, 1.0), (20, 8, 1.0)];
        assert_eq!(pad(&conflicts, &cells), (vec![16], vec!["hits".to_owned(), String::new()]));
    }

    /// Bytes 8 to 15 are of a small block in front of the one that two threads write.
    #[test]
    fn what_is_hardly_used_gives_no_name() {
        let seldom = Use { reads: 1, writes: 0, seen: 1 };
        let cells = [cell(8, 8, &[(1, seldom)]), cell(16, 8, &[(1, WRITES)]), cell(24, 8, &[(2, WRITES)])];
        let nameless = vec![String::new(), String::new()];
        assert_eq!(pad(&[(16, 24, 1.0), (24, 16, 1.0)], &cells), (vec![24], nameless));
    }

    /// The reader's last field lies far behind; the border is where the written field ends.
    #[test]
    fn data_that_is_only_read_moves_away_from_the_writer_but_not_apart() {
        let cells = [cell(0, 8, &[(1, WRITES)]), cell(16, 8, &[(2, READS)]), cell(24, 8, &[(3, READS)])];
        assert_eq!(pad(&[(0, 16, 1.0), (0, 24, 2.0)], &cells).0, [16]);
    }

    /// Threads 1 and 2 are the producer and the consumer of a ring: each writes its index and reads the other's. The producer
    /// also writes slots.
    #[test]
    fn the_indices_of_a_ring_are_parted_and_its_slots_do_not_matter() {
        let cells = [
            cell(0, 8, &[(1, WRITES), (2, READS)]),
            cell(8, 8, &[(1, READS), (2, WRITES)]),
            cell(16, 8, &[(1, WRITES)]),
            cell(24, 8, &[(2, READS)]),
        ];
        let conflicts = [(0, 8, 10.0), (8, 0, 9.0), (16, 8, 1.0), (0, 24, 1.5), (8, 16, 0.5)];
        assert_eq!(pad(&conflicts, &cells).0, [8]);
    }

    /// Three counters of three threads, of which one conflict was not seen.
    #[test]
    fn what_belongs_to_different_threads_is_parted_on_little_evidence() {
        let cells = [cell(0, 8, &[(1, WRITES)]), cell(8, 8, &[(2, WRITES)]), cell(16, 8, &[(3, WRITES)])];
        assert_eq!(pad(&[(8, 16, 4.0), (16, 0, 1.0)], &cells).0, [8, 16]);
    }

    #[test]
    fn eight_counters_of_eight_threads_get_seven_borders() {
        let cells: Vec<Cell> = (0..8).map(|n| cell(n * 8, 8, &[(n, WRITES)])).collect();
        let conflicts: Vec<_> =
            (0..8).flat_map(|a| (0..8).filter(move |b| *b != a).map(move |b| (a * 8, b * 8, 1.0))).collect();
        assert_eq!(pad(&conflicts, &cells).0, [8, 16, 24, 32, 40, 48, 56]);
    }

    /// Structs of 24 bytes, one for each thread: line 1 begins with the last 8 bytes of the third.
    #[test]
    fn elements_of_an_array_are_parted_as_such() {
        let cells: Vec<Cell> =
            [0, 8, 32].into_iter().zip(3..).map(|(at, n)| cell(at, 8, &[(n, WRITES)])).collect();
        let of =
            ArrayObject { base: Addr(0), name: None, element: "struct worker".to_owned(), element_bytes: 24 };
        let elements = || Some(Elements { of: of.clone(), line: Line(1) });
        let found = |conflicts: &[(u32, u32, f64)]| {
            let found =
                remedy(&exchange(conflicts, 0.0), &BTreeMap::new(), &cells, false, names, elements(), nobody);
            matches!(found, Remedy::Pad(Padding { of: Parts::Elements(_), .. }))
        };
        // Bytes 64, 72 and 96 are in elements 2, 3 and 4.
        assert!(found(&[(0, 8, 1.0), (8, 32, 1.0)]));
        // Fields of one element that different threads use.
        let cells = [cell(8, 8, &[(1, WRITES)]), cell(16, 8, &[(2, WRITES)])];
        let within = remedy(
            &exchange(&[(8, 16, 1.0)], 0.0),
            &BTreeMap::new(),
            &cells,
            false,
            names,
            elements(),
            nobody,
        );
        assert!(matches!(within, Remedy::Pad(Padding { of: Parts::Fields, .. })));
    }

    /// They would move between the threads wherever they lie.
    #[test]
    fn what_threads_use_alike_is_not_parted() {
        let both = [(1, WRITES), (2, WRITES)];
        let cells = [cell(0, 8, &both), cell(8, 8, &both), cell(32, 8, &both)];
        let conflicts = [(0, 8, 1.0), (8, 32, 1.0), (32, 0, 1.0)];
        assert!(matches!(remedy_of(&conflicts, 0.0, &cells), Remedy::ShareLess { .. }));
    }

    #[test]
    fn one_known_cell_gives_no_border() {
        let cells = [cell(0, 8, &[(1, WRITES)])];
        assert_eq!(
            remedy_of(&[(0, 8, 1.0)], 0.0, &cells),
            Remedy::ShareLess { offset: 0, width: 64, handed: None, elements: false }
        );
    }

    #[test]
    fn true_sharing_points_at_the_bytes_that_carry_it() {
        let both = [(1, WRITES), (2, WRITES)];
        let cells = [cell(0, 8, &[(1, WRITES)]), cell(8, 8, &both), cell(16, 8, &both)];
        let exchanged = BTreeMap::from([(extent(8, 8), 1.0), (extent(16, 8), 3.0)]);
        let found = |exchanged: &BTreeMap<_, _>, cells: &[Cell]| {
            remedy(&exchange(&[(0, 8, 1.0)], 9.0), exchanged, cells, false, names, None, nobody)
        };
        assert_eq!(
            found(&exchanged, &cells),
            Remedy::ShareLess { offset: 16, width: 8, handed: None, elements: false }
        );
        assert_eq!(
            found(&BTreeMap::new(), &cells[..2]),
            Remedy::ShareLess { offset: 8, width: 8, handed: None, elements: false }
        );
        assert_eq!(
            found(&BTreeMap::new(), &[]),
            Remedy::ShareLess { offset: 0, width: 64, handed: None, elements: false }
        );
    }

    /// A mutex of which both threads use lock and owner, with the counter that it protects.
    fn mutex_and_counter(users: &[(u32, Use)]) -> Vec<Cell> {
        let part = |field: Option<&str>| {
            field.map(|whole| Part { of: crate::share::Primitive::Mutex, whole: Some(whole.to_owned()) })
        };
        let both = [(1, WRITES), (2, WRITES)];
        vec![
            Cell { part: part(Some("lock")), ..cell(0, 4, &both) },
            Cell { part: part(Some("lock")), ..cell(8, 4, &both) },
            cell(40, 8, users),
        ]
    }

    #[test]
    fn a_lock_is_contended_with_what_it_protects() {
        let exchanged = BTreeMap::from([(extent(0, 4), 3.0), (extent(40, 8), 6.0)]);
        let found =
            |cells: &[Cell]| remedy(&exchange(&[], 9.0), &exchanged, cells, false, names, None, nobody);
        let cells = mutex_and_counter(&[(1, WRITES), (2, WRITES)]);
        assert!(matches!(found(&cells), Remedy::Contend(lock) if lock.name.as_deref() == Some("lock")));
        // Others use the counter without the lock, and exchange it more than the lock.
        let cells = mutex_and_counter(&[(3, WRITES), (4, WRITES)]);
        assert_eq!(found(&cells), Remedy::ShareLess { offset: 40, width: 8, handed: None, elements: false });
    }

    /// Threads 3 and 4 read a limit behind the lock, and never take that.
    #[test]
    fn what_lies_beside_a_lock_and_is_used_without_it_moves_off() {
        let mut cells = mutex_and_counter(&[(3, READS), (4, READS)]);
        let exchanged = BTreeMap::from([(extent(0, 4), 3.0)]);
        let found = |cells: &[Cell], true_sharing: f64| {
            let conflicts = exchange(&[(0, 40, 3.0), (8, 40, 2.0)], true_sharing);
            remedy(&conflicts, &exchanged, cells, false, names, None, nobody)
        };
        for true_sharing in [5.0, 40.0] {
            match found(&cells, true_sharing) {
                Remedy::PadThenShareLess { padding, lock: Some(lock) } => {
                    assert_eq!(
                        (padding.at_line_offsets.as_slice(), lock.name.as_deref()),
                        (&[40][..], Some("lock"))
                    );
                }
                other => panic!("{other:?}"),
            }
        }
        // Hardly anybody reads it.
        assert!(matches!(found(&cells, 50.0), Remedy::Contend(_)));
        // Who takes the lock as well may read it under the lock.
        for cell in &mut cells[..2] {
            cell.users.insert(ThreadId(3), WRITES);
            cell.users.insert(ThreadId(4), WRITES);
        }
        assert!(matches!(found(&cells, 5.0), Remedy::Contend(_)));
    }

    #[test]
    fn two_thirds_is_the_border() {
        let cells = [cell(0, 8, &[(1, WRITES)]), cell(8, 8, &[(2, WRITES)])];
        let of = |true_sharing, false_sharing| remedy_of(&[(0, 8, false_sharing)], true_sharing, &cells);
        assert!(matches!(of(1.0, 2.0), Remedy::Pad { .. }));
        assert!(matches!(of(1.1, 2.0), Remedy::PadThenShareLess { .. }));
        assert!(matches!(of(2.0, 1.0), Remedy::ShareLess { .. }));
        assert!(matches!(of(2.0, 1.1), Remedy::PadThenShareLess { .. }));
    }
}
