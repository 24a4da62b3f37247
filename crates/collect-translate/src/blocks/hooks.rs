//! The hooks that exits name by number.

use crate::probes::hook::Hook;

/// All of them.
#[derive(Debug, Default)]
pub struct Hooks {
    all: Vec<Hook>,
    /// Numbers that are free again.
    unused: Vec<u64>,
}

impl Hooks {
    /// Adds a hook: returns its number.
    pub fn add(&mut self, hook: Hook) -> u64 {
        if let Some(id) = self.unused.pop()
            && let Some(place) = self.all.get_mut(id as usize)
        {
            *place = hook;
            return id;
        }
        self.all.push(hook);
        self.all.len() as u64 - 1
    }

    /// The hook with this number.
    pub fn get(&self, id: u64) -> Option<Hook> {
        self.all.get(id as usize).copied()
    }

    /// No code names these any more.
    pub fn give_back(&mut self, ids: Vec<u64>) {
        self.unused.extend(ids);
    }
}
