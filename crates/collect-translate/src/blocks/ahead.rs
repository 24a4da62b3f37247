//! Translation ahead of a fork: the code that children run first and their parent never does, such as the child's
//! side of `fork` and `_exit`.
//!
//! Each child has a cache of its own, a copy of its parent's. Without this, every child would translate its side
//! anew. Children therefore note, in a page that they share with their parent, what they had to translate or land on.
//! The parent does the same in its own cache before the next fork.
//!
//! A note is only an address of code. Whatever it says, a parent translates its own code at that address, or nothing.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::memory::{PAGE_WORDS, SharedPage, TableKind};

/// At most this many notes; a child may do more without noting it. The first word of the page is the number of notes.
const MOST: u64 = PAGE_WORDS as u64 / 4;

/// What children of this process have noted.
#[derive(Debug, Default)]
pub struct Ahead {
    page: Option<SharedPage>,
    /// How many notes this process knows of.
    known: usize,
    /// This process is such a child, and there is room.
    takes_notes: bool,
}

impl Ahead {
    /// This process is a child, and begins to take notes.
    pub fn begin_in_child(&mut self) {
        self.takes_notes = true;
    }

    /// A thread has come to the code at `pc`: directly, or through a table.
    pub fn note(&mut self, table: Option<TableKind>, pc: u64) {
        if !self.takes_notes {
            return;
        }
        let Some(page) = &self.page else { return };
        let [count, notes @ ..] = page.words();
        let place = count.fetch_add(1, Relaxed);
        match notes.get(place as usize) {
            // ATOMICS: pairs with the acquire in `next`.
            Some(note) if place < MOST => note.store(encode(table, pc), Release),
            _ => self.takes_notes = false,
        }
    }

    /// Has a page for what children will note.
    pub fn open(&mut self) {
        if self.page.is_none() {
            // Without it, every child translates for itself.
            self.page = SharedPage::new().ok();
        }
    }

    /// The next note that this process does not know yet.
    pub fn next(&mut self) -> Option<(Option<TableKind>, u64)> {
        let [_count, notes @ ..] = self.page.as_ref()?.words();
        // ATOMICS: pairs with the release in `note`.
        let note = decode(notes.get(self.known)?.load(Acquire));
        self.known += usize::from(note.is_some());
        note
    }
}

/// A note: an address, and above it, from 1, how one comes there.
fn encode(table: Option<TableKind>, pc: u64) -> u64 {
    pc & ADDRESS | table.map_or(1, |table| 2 + table as u64) << ADDRESS_BITS
}

fn decode(note: u64) -> Option<(Option<TableKind>, u64)> {
    let table = match note >> ADDRESS_BITS {
        0 => return None,
        how => TableKind::ALL.get((how as usize).wrapping_sub(2)).copied(),
    };
    Some((table, note & ADDRESS))
}

/// User addresses have 47 (`USER_END`).
const ADDRESS_BITS: u32 = 56;
const ADDRESS: u64 = (1 << ADDRESS_BITS) - 1;

#[cfg(test)]
mod tests {
    use super::*;

    fn ahead() -> Ahead {
        Ahead { page: Some(SharedPage::new().expect("a page")), ..Ahead::default() }
    }

    #[test]
    fn children_note_and_parents_read_once() {
        let mut ahead = ahead();
        ahead.note(None, 7);
        assert_eq!(ahead.next(), None, "it is no child");
        ahead.begin_in_child();
        let notes = [(None, 0x1000), (Some(TableKind::Return), 0x7fff_ffff_e000), (Some(TableKind::Jump), 0)];
        notes.into_iter().for_each(|(table, pc)| ahead.note(table, pc));
        assert_eq!(std::array::from_fn(|_| ahead.next()), notes.map(Some));
        assert_eq!(ahead.next(), None);
    }

    #[test]
    fn notes_end_where_there_is_no_room() {
        let mut ahead = ahead();
        ahead.begin_in_child();
        (0..2 * MOST).for_each(|pc| ahead.note(None, pc));
        assert!(!ahead.takes_notes);
        assert_eq!(std::iter::from_fn(|| ahead.next()).count() as u64, MOST);
    }
}
