//! Looks up translations of code, and translates what is missing.

use super::follower;
use crate::{
    blocks::{cache::Cache, landings::Landing},
    emit,
    probes::mode::Mode,
};

impl Cache {
    /// The cache address of the code at `pc`, which is translated if need be.
    pub fn get(&mut self, pc: u64) -> Option<u64> {
        if self.mode() == Mode::Off {
            return None;
        }
        // Once: what runs instead may lead on to the function at `pc` itself.
        self.get_itself(self.source.stands_for(pc))
    }

    fn get_itself(&mut self, pc: u64) -> Option<u64> {
        if let Some(cache) = self.translations.get(pc) {
            return Some(cache);
        }
        let follower = self.translations.follower(pc);
        let beside = follower.and_then(|follower| follower::side_entry(self, pc, follower));
        let found = beside.or_else(|| emit::translate(self, pc));
        // Sequences that became known meanwhile may be part of the new code.
        if self.forget_sequences() { self.get_itself(pc) } else { found }
    }

    /// The landing of an indirect transfer to `pc`; also enters it into the table.
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

    /// Must be called before a fork: translates what earlier children have noted.
    pub fn translate_ahead(&mut self) {
        self.ahead.open();
        let begun = self.arenas.new_counters();
        while let Some((table, pc)) = self.ahead.next() {
            // Code that cannot be translated here is skipped.
            let _ = match table {
                Some(table) => self.land(Landing::through(table), pc),
                None => self.get(pc),
            };
        }
        // Each child draws its samples itself, when it uses the counters: otherwise all children would have the same.
        self.arenas.keep_new_counters(begun);
    }
}
