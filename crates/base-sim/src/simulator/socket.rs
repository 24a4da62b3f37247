use crate::{
    cache::{Cache, EMPTY},
    machine::{Inclusion, Level, Machine},
};

/// The shared cache of a socket.
#[derive(Debug)]
pub struct Socket {
    pub cache: Cache,
    pub inclusion: Inclusion,
    /// By slot: number in the directory, and whether memory has older bytes.
    lines: Vec<(u32, bool)>,
}

/// A line that L3 gave up.
#[derive(Clone, Copy, Debug)]
pub struct Out {
    pub line: u64,
    pub number: u32,
    pub dirty: bool,
}

impl Socket {
    pub fn new(machine: &Machine, level: &Level, socket: usize) -> Self {
        // The numbers below are those of private caches.
        let cache = Cache::new(machine, level, (2 * machine.cores() + socket) as u64);
        let lines = vec![(0, false); cache.slots()];
        Self { cache, inclusion: level.inclusion, lines }
    }

    /// A core uses the line that L3 has. Gives whether it was dirty, if it is not in L3 any more.
    pub fn serve(&mut self, line: u64) -> Option<bool> {
        let slot = self.cache.find(line)?;
        if self.inclusion == Inclusion::Exclusive {
            self.cache.remove(slot);
            return Some(self.lines[slot].1);
        }
        self.cache.used(line, slot);
        None
    }

    /// Takes in a line that L3 lacks.
    pub fn insert(&mut self, line: u64, number: u32, dirty: bool) -> Option<Out> {
        let slot = self.cache.room(line);
        let (old, (old_number, old_dirty)) = (self.cache.line(slot), self.lines[slot]);
        self.cache.put(slot, line);
        self.lines[slot] = (number, dirty);
        (old != EMPTY).then_some(Out { line: old, number: old_number, dirty: old_dirty })
    }

    /// The line that L3 has is newer than memory now.
    pub fn set_dirty(&mut self, line: u64) {
        if let Some(slot) = self.cache.find(line) {
            self.lines[slot].1 = true;
        }
    }

    pub fn remove(&mut self, line: u64) {
        if let Some(slot) = self.cache.find(line) {
            self.cache.remove(slot);
        }
    }
}
