use super::{Cache, EMPTY, Slot};
use crate::{
    machine::{Level, Machine},
    protocol::State,
};

/// What a core knows of a line that it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// The line.
    pub line: u64,
    /// Its number in the directory.
    pub number: u32,
    /// Its state.
    pub state: State,
    /// The parts that the core has accessed since it got the line.
    pub mask: u64,
    /// The reference that got it.
    pub getter: u32,
    /// In L1: its slot in L2, if it is there. Elsewhere without meaning.
    pub home: u32,
}

/// A private cache: lines, and by slot what is known of each.
#[derive(Debug)]
pub struct HeldCache {
    pub cache: Cache,
    copies: Vec<Copied>,
}

/// What is known of the line in a slot.
#[derive(Clone, Copy, Debug, Default)]
pub struct Copied {
    pub mask: u64,
    number: u32,
    getter: u32,
    home: u32,
    pub state: State,
}

impl HeldCache {
    pub fn new(machine: &Machine, level: &Level, number: u64) -> Self {
        let cache = Cache::new(machine, level, number);
        let slots = cache.slots();
        Self { cache, copies: vec![Copied::default(); slots] }
    }

    /// What is known of the line in a slot; `None` where the slot is empty.
    pub fn held(&self, slot: Slot) -> Option<Held> {
        let line = self.cache.line(slot);
        let Copied { mask, number, getter, home, state } = self.copies[slot];
        let held = Held { line, number, state, mask, getter, home };
        (line != EMPTY).then_some(held)
    }

    pub fn get(&self, line: u64) -> Option<Held> {
        self.cache.find(line).and_then(|slot| self.held(slot))
    }

    /// Writes down what is known of a line that this cache has; false where it has not got it.
    pub fn update(&mut self, held: Held) -> bool {
        let home = held.home as Slot;
        let slot = if self.cache.has_at(home, held.line) { Some(home) } else { self.cache.find(held.line) };
        if let Some(slot) = slot {
            self.write(slot, held);
        }
        slot.is_some()
    }

    /// Changes the state of a line, if this cache has it.
    pub fn set_state(&mut self, line: u64, state: State) {
        if let Some(slot) = self.cache.find(line) {
            self.copies[slot].state = state;
        }
    }

    /// The cache, and what is known of its lines by slot.
    #[inline]
    pub fn parts(&mut self) -> (&mut Cache, &mut [Copied]) {
        (&mut self.cache, &mut self.copies)
    }

    /// What is known of the line in a slot.
    #[inline]
    pub fn copy(&mut self, slot: Slot) -> &mut Copied {
        &mut self.copies[slot]
    }

    /// Takes a line in. Where it is now, and the line that made room.
    pub fn insert(&mut self, held: Held) -> (Slot, Option<Held>) {
        let slot = self.cache.room(held.line);
        let out = self.held(slot);
        self.cache.put(slot, held.line);
        self.write(slot, held);
        (slot, out)
    }

    pub fn remove(&mut self, line: u64) -> Option<Held> {
        let slot = self.cache.find(line)?;
        let held = self.held(slot);
        self.cache.remove(slot);
        held
    }

    fn write(&mut self, slot: Slot, held: Held) {
        let Held { number, state, mask, getter, home, .. } = held;
        self.copies[slot] = Copied { mask, number, getter, home, state };
    }
}
