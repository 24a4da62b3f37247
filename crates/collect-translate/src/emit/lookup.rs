//! Where the translation of some code is, made now if need be.

use super::follower;
use crate::{
    blocks::{cache::Cache, landings::Landing},
    emit,
    probes::mode::Mode,
};

impl Cache {
    /// Where the code at `pc` is in the cache, translated now if need be.
    pub fn get(&mut self, pc: u64) -> Option<u64> {
        if self.mode() == Mode::Off {
            return None;
        }
        let pc = self.source.stands_for(pc);
        if let Some(cache) = self.translations.get(pc) {
            return Some(cache);
        }
        let follower = self.translations.follower(pc);
        let beside = follower.and_then(|follower| follower::side_entry(self, pc, follower));
        let found = beside.or_else(|| emit::translate(self, pc));
        // Those that became known in the meantime may be part of what was made.
        if self.forget_sequences() { self.get(pc) } else { found }
    }

    /// Where an indirect transfer to `pc` lands; also puts that into the table.
    pub fn land(&mut self, how: Landing, pc: u64) -> Option<u64> {
        let body = self.get(pc)?;
        let known = self.landings.find(how.table, pc);
        let landed = match known {
            Some(landed) => landed,
            None => {
                let landed = emit::landing(self, how, pc, body)?;
                self.landings.add(how.table, pc, landed);
                landed
            }
        };
        self.landings.put(&mut self.arenas, how.table, pc, landed);
        Some(body)
    }

    /// To be called before a fork: translates what earlier children have noted.
    pub fn translate_ahead(&mut self) {
        self.ahead.open();
        let begun = self.arenas.new_counters();
        while let Some((table, pc)) = self.ahead.next() {
            // What cannot be translated here is not.
            let _ = match table {
                Some(table) => self.land(Landing::through(table), pc),
                None => self.get(pc),
            };
        }
        // Each child draws its samples for itself, when it comes there: else all of them had the same.
        self.arenas.keep_new_counters(begun);
    }
}
