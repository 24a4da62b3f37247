//! Who watches what at the moment, and how it is set and removed.

use carom_base::Addr;
use carom_base_reuse::sampled::{Modes, Watch, WatchId};
use carom_collect_translate::{Watched, Watches};

use super::{
    people::{Newcomer, People, Place},
    registers::Registers,
    tables::{Mark, Tables},
};
use crate::sampler::Mode;

/// All watches of the process. Under a lock that handlers only try.
///
/// A watch is in a *spot*: the slot of one of the detectors, numbered through.
pub enum Armoury {
    /// Translated code looks up its accesses.
    Software(Tables),
    /// Debug registers.
    Registers(Registers),
}

/// How setting a watch went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Set {
    /// Threads that watch.
    pub armed: u64,
    /// Threads that should and cannot.
    pub unarmed: u64,
    /// The owner is one of those.
    pub owner_unarmed: bool,
}

impl Armoury {
    /// Nothing is watched. `registers`: by debug registers, delivered so.
    pub fn new(registers: Option<Mode>, spots: usize) -> Self {
        match registers {
            None => Self::Software(Tables::new(spots)),
            Some(mode) => Self::Registers(Registers::new(mode)),
        }
    }

    /// Makes room for a thread. Allocates.
    pub fn make_room(&mut self, place: Place) {
        match self {
            Self::Software(tables) => tables.make_room(place),
            Self::Registers(registers) => registers.make_room(place),
        }
    }

    /// Has every thread watch as it should.
    pub fn set(&mut self, spot: usize, watch: &Watch, people: &People) -> Set {
        let mut set = Set::default();
        for (place, person) in people.all() {
            if self.set_in(spot, watch, place, &person) {
                set.armed += 1;
            } else {
                set.unarmed += 1;
                set.owner_unarmed |= person.thread == watch.owner;
            }
        }
        set
    }

    /// Has one thread watch as it should, and not for what it watched in that spot before.
    pub fn set_in(&mut self, spot: usize, watch: &Watch, place: Place, person: &Newcomer) -> bool {
        let modes: Modes = watch.modes(person.thread, person.domain);
        let name = watch.id.to_bits();
        match self {
            Self::Software(tables) => {
                let start = watch.start(person.thread, person.domain);
                let watched = start.map_or(Watched::Line(watch.first.0), |start| Watched::Byte(start.0));
                let mark = Mark { name, watched, modes };
                person.watches.is_some_and(|table| tables.set(place, spot, mark, &table))
            }
            Self::Registers(registers) => {
                let bytes = (watch.first.0, watch.bytes, modes);
                registers.set((place, person.tid), spot, name, bytes).is_ok()
            }
        }
    }

    /// Nobody is to watch for this any more.
    pub fn remove(&mut self, spot: usize, id: WatchId, people: &People) {
        for (place, person) in people.all() {
            self.remove_in(spot, id, place, person.watches);
        }
    }

    /// One thread is not to watch for this any more. Where it watches for another use in that spot, it goes on.
    pub fn remove_in(&mut self, spot: usize, id: WatchId, place: Place, table: Option<Watches>) {
        match self {
            Self::Software(tables) => {
                let named = tables.mark(place, spot).is_some_and(|mark| mark.name == id.to_bits());
                if let Some(table) = table.filter(|_| named) {
                    tables.clear(place, spot, &table);
                }
            }
            Self::Registers(registers) => {
                if registers.name(place, spot) == Some(id.to_bits()) {
                    registers.clear(place, spot);
                }
            }
        }
    }

    /// A thread has touched the line of `at` and has no use there: what it still watches there is over, where `is_over`
    /// says so, and goes.
    pub fn sweep(
        &mut self,
        at: Addr,
        place: Place,
        table: Option<Watches>,
        is_over: impl Fn(usize, WatchId) -> bool,
    ) {
        let (Self::Software(tables), Some(table)) = (self, table) else { return };
        let over = |(spot, mark): &(usize, Mark)| is_over(*spot, WatchId::from_bits(mark.name));
        let first = |tables: &Tables| tables.at(place, at.line()).find(over).map(|(spot, _)| spot);
        while let Some(spot) = first(tables) {
            tables.clear(place, spot, &table);
        }
    }

    /// What the register of `spot` watches in a thread.
    pub fn register(&self, spot: usize, place: Place) -> Option<WatchId> {
        match self {
            Self::Software(_) => None,
            Self::Registers(registers) => registers.name(place, spot).map(WatchId::from_bits),
        }
    }

    /// A thread's register is to trap no more, whatever it watches.
    pub fn silence(&mut self, spot: usize, place: Place) {
        if let Self::Registers(registers) = self {
            registers.clear(place, spot);
        }
    }

    /// The thread is gone.
    pub fn forget(&mut self, place: Place, table: Option<Watches>) {
        match self {
            Self::Software(tables) => {
                if let Some(table) = table {
                    tables.forget(place, &table);
                }
            }
            Self::Registers(registers) => registers.forget(place),
        }
    }

    /// In a forked child: what the parent's threads watch with goes on in the parent.
    pub fn abandon(&mut self) {
        if let Self::Registers(registers) = self {
            registers.abandon();
        }
    }
}
