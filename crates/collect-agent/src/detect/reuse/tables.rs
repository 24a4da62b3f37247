//! Watches that translated code looks up: what is in the tables of each thread, and for which use.

use carom_base::{Addr, Line};
use carom_base_reuse::sampled::Modes;
use carom_collect_translate::{Watched, Watches};

use super::people::Place;

/// What one thread watches in one spot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The watch's name as a word.
    pub name: u64,
    /// Where.
    pub watched: Watched,
    /// Which accesses.
    pub modes: Modes,
}

/// The tables of all threads, by place and spot.
pub struct Tables {
    spots: usize,
    marks: Vec<Vec<Option<Mark>>>,
}

/// What can be done with a thread's tables.
pub trait Table {
    /// Enters a place. False where there is no room.
    fn enter(&self, mark: &Mark) -> bool;
    /// Takes back what was entered.
    fn withdraw(&self, mark: &Mark);
}

impl Table for Watches {
    fn enter(&self, Mark { watched, modes, .. }: &Mark) -> bool {
        self.set(*watched, modes.reads, modes.writes)
    }

    fn withdraw(&self, Mark { watched, modes, .. }: &Mark) {
        self.clear(*watched, modes.reads, modes.writes);
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
    pub fn set(&mut self, place: Place, spot: usize, mark: Mark, table: &impl Table) -> bool {
        self.clear(place, spot, table);
        let at = self.marks.get_mut(place.0).and_then(|marks| marks.get_mut(spot));
        let Some(at) = at.filter(|_| table.enter(&mark)) else { return false };
        *at = Some(mark);
        true
    }

    /// What a thread watches in `spot`.
    pub fn mark(&self, place: Place, spot: usize) -> Option<Mark> {
        *self.marks.get(place.0)?.get(spot)?
    }

    /// Has a thread watch for nothing in `spot`.
    pub fn clear(&mut self, place: Place, spot: usize, table: &impl Table) {
        let at = self.marks.get_mut(place.0).and_then(|marks| marks.get_mut(spot));
        if let Some(gone) = at.and_then(Option::take) {
            table.withdraw(&gone);
        }
    }

    /// The spots in which a thread watches `line` or a byte of it.
    pub fn at(&self, place: Place, line: Line) -> impl Iterator<Item = (usize, Mark)> {
        let marks = self.marks.get(place.0).into_iter().flatten().enumerate();
        let is_there = move |mark: &Mark| match mark.watched {
            Watched::Line(address) | Watched::Byte(address) => Addr(address).line() == line,
        };
        marks.filter_map(move |(spot, mark)| Some((spot, mark.filter(is_there)?)))
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
        entered: RefCell<Vec<Mark>>,
    }

    impl Small {
        fn with_room(room: usize) -> Self {
            Self { room, entered: RefCell::new(Vec::new()) }
        }
    }

    impl Table for Small {
        fn enter(&self, mark: &Mark) -> bool {
            let mut entered = self.entered.borrow_mut();
            let fits = entered.len() < self.room;
            if fits {
                entered.push(*mark);
            }
            fits
        }

        fn withdraw(&self, mark: &Mark) {
            let mut entered = self.entered.borrow_mut();
            let at = entered.iter().position(|known| known == mark).expect("what was entered");
            entered.remove(at);
        }
    }

    const fn mark(name: u64, watched: Watched, modes: Modes) -> Mark {
        Mark { name, watched, modes }
    }

    /// Lines are 64 bytes: 448 begins line 7, which has byte 500.
    #[test]
    fn what_is_in_a_spot_is_in_the_table() {
        let (table, here) = (Small::with_room(9), Place(0));
        let (line, byte) = (mark(1, Watched::Line(448), WRITES), mark(2, Watched::Byte(500), BOTH));
        let mut tables = Tables::new(2);
        tables.make_room(here);
        assert!(tables.set(here, 0, line, &table) && tables.set(here, 1, byte, &table));
        assert_eq!(*table.entered.borrow(), [line, byte]);
        assert_eq!(tables.at(here, Line(7)).collect::<Vec<_>>(), [(0, line), (1, byte)]);
        // Another use in a spot takes the place of the one before.
        let other = mark(3, Watched::Line(512), BOTH);
        assert!(tables.set(here, 1, other, &table));
        assert_eq!(*table.entered.borrow(), [line, other]);
        assert_eq!((tables.mark(here, 1), tables.at(here, Line(7)).count()), (Some(other), 1));
        tables.forget(here, &table);
        assert!(table.entered.borrow().is_empty());
    }

    #[test]
    fn without_room_there_is_no_watch() {
        let (table, here) = (Small::with_room(1), Place(0));
        let mut tables = Tables::new(2);
        tables.make_room(here);
        let one = mark(1, Watched::Line(448), BOTH);
        assert!(tables.set(here, 0, one, &table));
        assert!(!tables.set(here, 1, one, &table));
        assert_eq!(tables.mark(here, 1), None);
        assert!(!tables.set(Place(5), 0, one, &table), "nobody made room for that thread");
    }
}
