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
}

/// A private cache: lines, and in arrays by slot what is known of each.
#[derive(Debug)]
pub struct HeldCache {
    pub cache: Cache,
    pub states: Vec<State>,
    pub masks: Vec<u64>,
    /// Number and getter: needed only where a line leaves.
    rest: Vec<(u32, u32)>,
}

impl HeldCache {
    pub fn new(machine: &Machine, level: &Level, number: u64) -> Self {
        let cache = Cache::new(machine, level, number);
        let slots = cache.slots();
        Self { cache, states: vec![State::Invalid; slots], masks: vec![0; slots], rest: vec![(0, 0); slots] }
    }

    /// What is known of the line in a slot; `None` where the slot is empty.
    pub fn held(&self, slot: Slot) -> Option<Held> {
        let line = self.cache.line(slot);
        let (number, getter) = self.rest[slot];
        let held = Held { line, number, state: self.states[slot], mask: self.masks[slot], getter };
        (line != EMPTY).then_some(held)
    }

    pub fn get(&self, line: u64) -> Option<Held> {
        self.cache.find(line).and_then(|slot| self.held(slot))
    }

    /// Writes down what is known of a line that this cache has; false where it has not got it.
    pub fn update(&mut self, held: Held) -> bool {
        let slot = self.cache.find(held.line);
        if let Some(slot) = slot {
            self.write(slot, held);
        }
        slot.is_some()
    }

    /// Changes the state of a line, if this cache has it.
    pub fn set_state(&mut self, line: u64, state: State) {
        if let Some(slot) = self.cache.find(line) {
            self.states[slot] = state;
        }
    }

    /// Takes a line in, and gives the one that made room.
    pub fn insert(&mut self, held: Held) -> Option<Held> {
        let slot = self.cache.room(held.line);
        let out = self.held(slot);
        self.cache.put(slot, held.line);
        self.write(slot, held);
        out
    }

    pub fn remove(&mut self, line: u64) -> Option<Held> {
        let slot = self.cache.find(line)?;
        let held = self.held(slot);
        self.cache.remove(slot);
        held
    }

    fn write(&mut self, slot: Slot, held: Held) {
        self.states[slot] = held.state;
        self.masks[slot] = held.mask;
        self.rest[slot] = (held.number, held.getter);
    }
}
