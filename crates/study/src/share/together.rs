//! What moves between the threads together, wherever it lies: parting it would end no sharing.

use std::collections::{BTreeMap, BTreeSet};

use super::Primitive;
use super::layout::{Cell, Part, Use};
use super::tally::{Exchange, LineKey, LineTally};

/// Pairs of writes of one place from which on it is known how threads use an object.
const ENOUGH_PAIRS: u64 = 10;

/// If fewer of these pairs are of one thread, the threads write the object alike.
const ONE_WRITER: f64 = 0.6;

/// A place belongs to a thread that has made this part of its writes, if this many were seen.
const OWN: (f64, u64) = (0.75, 4);

/// If threads meet at runs of a line at random, so many standard deviations below what chance makes at the same run are still
/// chance.
const BY_CHANCE: f64 = 2.0;

/// Whether two runs of a line move together: the bytes of one lock, and what the same threads use alike beside a lock that
/// they use alike, too.
pub(super) fn move_together(cells: &[Cell], one: &Cell, other: &Cell) -> bool {
    one.is_one_with(other)
        || one.used_with(other)
            && cells
                .iter()
                .filter(|cell| protects(cell))
                .any(|lock| lock.used_with(one) && lock.used_with(other))
}

fn protects(cell: &Cell) -> bool {
    cell.part.as_ref().is_some_and(|part| part.of.protects())
}

/// Whether several threads write both runs, and neither belongs to one of them: data that moves as a whole, as a task does between
/// workers. A few samples of each tell that before they tell more of the uses.
pub(super) fn have_the_same_writers(one: &Cell, other: &Cell) -> bool {
    let writers = other.writers();
    let common = one.writers().iter().filter(|writer| writers.contains(writer)).count();
    common > 1 && have_no_owner(one, other)
}

/// Whether two runs may be among what threads use alike: neither belongs to one thread.
pub(super) fn have_no_owner(one: &Cell, other: &Cell) -> bool {
    !is_own(one) && !is_own(other)
}

/// Whether threads meet at the same run of the line about as often as they would if all used all runs alike. Where they hardly do,
/// each run belongs to one thread at a time: a program that starts threads anew for each round gives every run many owners, one
/// after the other.
pub(super) fn meet_by_chance(exchange: &Exchange, cells: &[Cell]) -> bool {
    let writes = |cell: &Cell| cell.users.values().map(|used| used.writes).sum::<u64>() as f64;
    let all = |of: &dyn Fn(&Cell) -> f64| cells.iter().map(of).sum::<f64>();
    let seen = |cell: &Cell| cell.seen() as f64;
    let pairs = all(&writes) * all(&seen);
    if pairs <= 0.0 {
        return true;
    }
    let at_one = all(&|cell| writes(cell) * seen(cell)) / pairs;
    let events = exchange.events as f64;
    let met = exchange.volume.true_sharing / exchange.volume.all() * events;
    let expected = at_one * events;
    met.is_nan() || met >= expected - BY_CHANCE * expected.sqrt()
}

fn is_own(cell: &Cell) -> bool {
    let writes: u64 = cell.users.values().map(|used| used.writes).sum();
    let most = cell.users.values().map(|used| used.writes).max().unwrap_or(0);
    writes >= OWN.1 && most as f64 >= OWN.0 * writes as f64
}

/// How threads use an object, all its lines taken together: one line alone may have too few samples to tell.
#[derive(Default)]
struct Usage {
    /// All of it as one run.
    whole: Cell,
    /// Pairs of writes of one place, and those of them by one thread.
    pairs: u64,
    by_one: u64,
}

impl Usage {
    fn add(&mut self, cell: &Cell) {
        let pairs_of = |writes: u64| writes * writes.saturating_sub(1) / 2;
        let mut writes = 0;
        for (thread, used) in &cell.users {
            let sum = self.whole.users.entry(*thread).or_default();
            *sum = Use {
                reads: sum.reads + used.reads,
                writes: sum.writes + used.writes,
                seen: sum.seen + used.seen,
            };
            writes += used.writes;
            self.by_one += pairs_of(used.writes);
        }
        self.pairs += pairs_of(writes);
    }

    fn is_alike(&self) -> bool {
        self.pairs >= ENOUGH_PAIRS && (self.by_one as f64) < ONE_WRITER * self.pairs as f64
    }
}

/// A lock of the program's own, or a count of references, is one only if several threads read and change one word of it at once.
pub(super) fn drop_doubtful(lines: &mut BTreeMap<LineKey, LineTally>) {
    let guessed = |part: &Part| matches!(part.of, Primitive::OwnLock | Primitive::ReferenceCount);
    let own = |cell: &Cell| cell.part.as_ref().is_some_and(guessed);
    let proven = |tally: &LineTally| tally.cells.iter().any(|cell| own(cell) && cell.exchangers() > 1);
    let objects: BTreeSet<usize> = lines.values().filter(|tally| proven(tally)).map(|t| t.object).collect();
    let doubtful = lines.values_mut().filter(|tally| !objects.contains(&tally.object));
    doubtful.flat_map(|tally| &mut tally.cells).filter(|cell| own(cell)).for_each(|cell| cell.part = None);
}

/// Finds out which lines are of objects that all threads write alike ([`LineTally::alike`]), and which of these move with a lock
/// that the same threads use ([`LineTally::locked`]).
pub(super) fn judge(lines: &mut BTreeMap<LineKey, LineTally>) {
    let mut objects: BTreeMap<usize, Usage> = BTreeMap::new();
    let mut locks: Vec<Cell> = Vec::new();
    for tally in lines.values() {
        let usage = objects.entry(tally.object).or_default();
        tally.cells.iter().filter(|cell| cell.part.is_none()).for_each(|cell| usage.add(cell));
        locks.extend(tally.cells.iter().filter(|cell| protects(cell)).cloned());
    }
    let judged: BTreeMap<usize, (bool, bool)> = objects
        .into_iter()
        .map(|(object, usage)| {
            let alike = usage.is_alike();
            (object, (alike, alike && locks.iter().any(|lock| lock.used_with(&usage.whole))))
        })
        .collect();
    for tally in lines.values_mut() {
        (tally.alike, tally.locked) = judged.get(&tally.object).copied().unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use carom_base::ThreadId;

    use super::*;
    use crate::share::matrix::Volume;

    fn written_by(writes: &[(u32, u64)]) -> Cell {
        let used = |writes| Use { reads: 0, writes, seen: writes };
        let users = writes.iter().map(|&(thread, writes)| (ThreadId(thread), used(writes))).collect();
        Cell { users, ..Cell::default() }
    }

    fn alike(cells: &[&[(u32, u64)]]) -> bool {
        let mut usage = Usage::default();
        cells.iter().for_each(|writes| usage.add(&written_by(writes)));
        usage.is_alike()
    }

    /// Twelve accounts with two writes each, by different threads.
    #[test]
    fn many_places_tell_together_what_one_does_not() {
        assert!(alike(&[&[(1, 1), (2, 1)][..]; 12]));
        assert!(!alike(&[&[(1, 1), (2, 1)][..]; 9]), "nine pairs are too few");
        assert!(!alike(&[&[(1, 2)][..]; 12]), "each place has its thread");
        // Two of three pairs are of one thread.
        assert!(!alike(&[&[(1, 2)][..], &[(2, 2)], &[(1, 1), (2, 1)]].repeat(4)));
    }

    /// Two words that 40 threads write alike, seen in 100 meetings: half of these are at the same word.
    #[test]
    fn threads_that_follow_each_other_hardly_meet_at_the_same_place() {
        let both: Vec<(u32, u64)> = (1..=40).map(|thread| (thread, 1)).collect();
        let cells = [written_by(&both), written_by(&both)];
        let by_chance = |events, true_sharing, false_sharing| {
            let volume = Volume { true_sharing, false_sharing };
            meet_by_chance(&Exchange { events, volume, ..Exchange::default() }, &cells)
        };
        // 50 - 2 √50 is 35.9.
        assert!(by_chance(100, 36.0, 64.0) && by_chance(100, 360.0, 640.0));
        assert!(!by_chance(100, 35.0, 65.0) && !by_chance(100, 0.0, 1.0));
        // Four meetings at random may all be at different words.
        assert!(by_chance(4, 0.0, 4.0) && by_chance(0, 0.0, 0.0));
    }

    #[test]
    fn what_the_same_threads_write_moves_as_a_whole() {
        let same_writers = |one: &[(u32, u64)], other: &[(u32, u64)]| {
            have_the_same_writers(&written_by(one), &written_by(other))
        };
        assert!(same_writers(&[(1, 1), (2, 2)], &[(1, 3), (2, 1), (3, 1)]));
        assert!(!same_writers(&[(1, 1), (2, 2)], &[(1, 1), (3, 2)]), "one thread writes both");
        // Each has its thread; the other one has set both to begin with.
        assert!(!same_writers(&[(1, 9), (2, 1)], &[(1, 1), (2, 9)]));
    }

    #[test]
    fn a_place_with_one_writer_is_its_own() {
        assert!(have_no_owner(&written_by(&[(1, 2), (2, 2)]), &written_by(&[(1, 3)])));
        assert!(!have_no_owner(&written_by(&[(1, 3), (2, 1)]), &written_by(&[(2, 1)])));
    }
}
