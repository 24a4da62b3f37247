//! Watches that translated code looks up: each thread has a table of lines.
//!
//! A table counts only so many watches of a line, and a hot line is watched for many uses at a time. So each thread
//! enters a line once, for one of its watches, and when that one goes another takes its place.

use carom_base::{Addr, Line};
use carom_base_reuse::sampled::Modes;
use carom_collect_translate::Watches;

use super::people::Place;

/// What one thread watches in one spot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The watch's name as a word.
    pub name: u64,
    /// The line.
    pub line: Line,
    /// Which accesses.
    pub modes: Modes,
    /// It is this one that is in the table, for all that it covers.
    entered: bool,
}

impl Mark {
    /// Not in the table yet.
    pub fn new(name: u64, at: Addr, modes: Modes) -> Self {
        Self { name, line: at.line(), modes, entered: false }
    }

    fn covers(&self, other: &Self) -> bool {
        let modes = |of: &Self| (of.modes.reads, of.modes.writes);
        let ((reads, writes), (other_reads, other_writes)) = (modes(self), modes(other));
        self.entered && self.line == other.line && reads >= other_reads && writes >= other_writes
    }
}

/// The tables of all threads, by place and spot.
pub struct Tables {
    spots: usize,
    marks: Vec<Vec<Option<Mark>>>,
}

/// What can be done with a thread's table of lines.
pub trait Table {
    /// Enters a line. False where there is no room.
    fn enter(&self, line: Line, modes: Modes) -> bool;
    /// Takes back what was entered.
    fn withdraw(&self, line: Line, modes: Modes);
}

impl Table for Watches {
    fn enter(&self, line: Line, modes: Modes) -> bool {
        self.watch(line.start().0, modes.reads, modes.writes)
    }

    fn withdraw(&self, line: Line, modes: Modes) {
        self.unwatch(line.start().0, modes.reads, modes.writes);
    }
}

impl Tables {
    /// Empty, for so many watches at a time.
    pub fn new(spots: usize) -> Self {
        Self { spots, marks: Vec::new() }
    }

    /// Makes room for a thread. Allocates.
    pub fn make_room(&mut self, place: Place) {
        if self.marks.len() <= place.0 {
            self.marks.resize_with(place.0 + 1, || vec![None; self.spots]);
        }
    }

    /// Has a thread watch in `spot` for this, and not for what it watched there before.
    pub fn set(&mut self, place: Place, spot: usize, mut mark: Mark, table: &impl Table) -> bool {
        self.clear(place, spot, table);
        let Some(marks) = self.marks.get_mut(place.0) else { return false };
        let covered = marks.iter().flatten().any(|other| other.covers(&mark));
        mark.entered = !covered && table.enter(mark.line, mark.modes);
        let Some(at) = marks.get_mut(spot).filter(|_| covered || mark.entered) else { return false };
        *at = Some(mark);
        true
    }

    /// What a thread watches in `spot`.
    pub fn mark(&self, place: Place, spot: usize) -> Option<Mark> {
        *self.marks.get(place.0)?.get(spot)?
    }

    /// Has a thread watch for nothing in `spot`.
    pub fn clear(&mut self, place: Place, spot: usize, table: &impl Table) {
        let Some(marks) = self.marks.get_mut(place.0) else { return };
        let Some(gone) = marks.get_mut(spot).and_then(Option::take).filter(|gone| gone.entered) else {
            return;
        };
        // Before the line is taken out, so that nobody misses an access.
        for index in 0..marks.len() {
            let Some(Some(mark)) = marks.get(index).copied() else { continue };
            let orphan = gone.covers(&mark) && !marks.iter().flatten().any(|other| other.covers(&mark));
            if orphan && let Some(place) = marks.get_mut(index) {
                let entered = table.enter(mark.line, mark.modes);
                // A watch for which there is no room is none.
                *place = entered.then_some(Mark { entered, ..mark });
            }
        }
        table.withdraw(gone.line, gone.modes);
    }

    /// The spots in which a thread watches `line`.
    pub fn at(&self, place: Place, line: Line) -> impl Iterator<Item = (usize, Mark)> {
        let marks = self.marks.get(place.0).into_iter().flatten().enumerate();
        marks.filter_map(move |(spot, mark)| Some((spot, mark.filter(|mark| mark.line == line)?)))
    }

    /// A thread watches for nothing any more.
    pub fn forget(&mut self, place: Place, table: &impl Table) {
        for spot in 0..self.spots {
            self.clear(place, spot, table);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    const BOTH: Modes = Modes { reads: true, writes: true };
    const WRITES: Modes = Modes { reads: false, writes: true };

    /// A table with room for so many, which knows what is in it.
    struct Small {
        room: usize,
        entered: RefCell<Vec<(Line, Modes)>>,
    }

    impl Small {
        fn with_room(room: usize) -> Self {
            Self { room, entered: RefCell::new(Vec::new()) }
        }
    }

    impl Table for Small {
        fn enter(&self, line: Line, modes: Modes) -> bool {
            let mut entered = self.entered.borrow_mut();
            let fits = entered.len() < self.room;
            if fits {
                entered.push((line, modes));
            }
            fits
        }

        fn withdraw(&self, line: Line, modes: Modes) {
            let mut entered = self.entered.borrow_mut();
            let at = entered.iter().position(|known| *known == (line, modes)).expect("what was entered");
            entered.remove(at);
        }
    }

    fn mark(name: u64, line: u64, modes: Modes) -> Mark {
        Mark::new(name, Line(line).start(), modes)
    }

    #[test]
    fn a_line_is_entered_once_however_many_uses_watch_it() {
        let (table, here) = (Small::with_room(1), Place(0));
        let mut tables = Tables::new(3);
        tables.make_room(here);
        for spot in 0..3 {
            assert!(tables.set(here, spot, mark(spot as u64 + 1, 7, BOTH), &table));
        }
        assert_eq!(tables.at(here, Line(7)).count(), 3);
        // The one that was entered goes first; the others need its room for an instant.
        let table = Small { room: 2, ..table };
        for left in [2, 1, 0] {
            tables.clear(here, 2 - left, &table);
            assert_eq!(tables.at(here, Line(7)).count(), left);
            assert_eq!(table.entered.borrow().len(), left.min(1), "{left} left");
        }
    }

    #[test]
    fn who_watches_reads_is_not_served_by_who_watches_writes() {
        let (table, here) = (Small::with_room(9), Place(0));
        let mut tables = Tables::new(2);
        tables.make_room(here);
        assert!(tables.set(here, 0, mark(1, 7, WRITES), &table));
        assert!(tables.set(here, 1, mark(2, 7, BOTH), &table));
        assert_eq!(*table.entered.borrow(), [(Line(7), WRITES), (Line(7), BOTH)]);
        // Another use in a spot takes the place of the one before.
        assert!(tables.set(here, 1, mark(3, 8, BOTH), &table));
        assert_eq!(*table.entered.borrow(), [(Line(7), WRITES), (Line(8), BOTH)]);
        assert_eq!(tables.mark(here, 1).map(|mark| mark.name), Some(3));
        tables.forget(here, &table);
        assert!(table.entered.borrow().is_empty());
    }

    #[test]
    fn without_room_there_is_no_watch() {
        let (table, here) = (Small::with_room(1), Place(0));
        let mut tables = Tables::new(2);
        tables.make_room(here);
        assert!(tables.set(here, 0, mark(1, 7, BOTH), &table));
        assert!(!tables.set(here, 1, mark(2, 8, BOTH), &table));
        assert_eq!(tables.mark(here, 1), None);
        assert!(!tables.set(Place(5), 0, mark(1, 7, BOTH), &table), "nobody made room for that thread");
    }
}
