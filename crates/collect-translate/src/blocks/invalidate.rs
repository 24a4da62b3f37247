//! Changed code: its translations are forgotten.
//!
//! A fragment is forgotten as a whole: nothing leads there any more. A thread inside runs on to the fragment's end
//! and leaves there, as a processor may run on with what it has fetched until it is serialised.

use std::ops::Range;

use super::cache::Cache;
use crate::{
    memory::MemoryError,
    probes::{filter::IpSet, mode::Mode},
};

impl Cache {
    /// The code at these addresses may have changed.
    pub fn code_changed(&mut self, changed: &Range<u64>) {
        self.forget(std::slice::from_ref(changed));
        self.source.forget_sequences(changed);
        // If the look fails, everything is forgotten, and code is looked for again later.
        let _ = self.look();
    }

    /// Reads what is mapped, and forgets code that is no longer there.
    ///
    /// # Errors
    /// [`MemoryError::NoMaps`]: everything is forgotten. Code that cannot be verified to be what was translated runs
    /// natively until a look succeeds.
    pub fn look(&mut self) -> Result<(), MemoryError> {
        let looked = self.source.look();
        let everything = 0..u64::MAX;
        let gone = looked.as_deref().unwrap_or(std::slice::from_ref(&everything));
        gone.iter().for_each(|range| self.source.forget_sequences(range));
        self.forget(gone);
        looked.map(drop)
    }

    /// Forgets all translations; code is translated anew, in another mode.
    pub fn set_mode(&mut self, mode: Mode) {
        self.switch(false);
        let was_off = std::mem::replace(&mut self.mode, mode) == Mode::Off;
        if was_off {
            // Threads that ran natively may have mapped code.
            let _ = self.look();
        }
        let everything = 0..u64::MAX;
        self.forget(std::slice::from_ref(&everything));
    }

    /// Whether there is code at `pc` that can be translated; reads what is mapped if need be.
    pub fn find_code(&mut self, pc: u64) -> bool {
        if self.source.is_worth_a_look(pc) && self.look().is_ok() {
            self.source.note_foreign(pc);
        }
        self.source.has(pc)
    }

    /// Forgets the translations of restartable sequences that were not known when they were made. Returns whether
    /// there were any.
    pub fn forget_sequences(&mut self) -> bool {
        let fresh = self.source.take_fresh_sequences();
        self.forget(&fresh);
        !fresh.is_empty()
    }

    /// Notes the restartable sequence that the calling thread has published in its area.
    pub fn note_published(&mut self, area: u64) {
        if self.source.find_published(area) {
            self.forget_sequences();
        }
    }

    /// Observes only these instructions individually from now on.
    pub fn set_filter(&mut self, instructions: IpSet) {
        let changed = self.filter.difference(&instructions);
        self.filter = instructions;
        self.forget(&changed);
    }

    /// Whether the fragment at a cache address still corresponds to what is mapped.
    pub fn is_current(&self, address: u64) -> bool {
        self.arenas.at(address).is_some_and(|(_, code)| code.is_current(address))
    }

    /// Forgets translations of any byte in these ranges.
    pub fn forget(&mut self, changed: &[Range<u64>]) {
        if changed.is_empty() {
            return;
        }
        self.liveness.forget();
        self.reader.forget();
        let mut dead = Vec::new();
        for code in self.arenas.iter_mut() {
            dead.extend(changed.iter().flat_map(|range| code.disown(range)));
        }
        self.bury(dead);
    }

    /// Makes nothing lead to code in these ranges of the cache any more.
    pub fn bury(&mut self, mut dead: Vec<Range<u64>>) {
        if dead.is_empty() {
            return;
        }
        dead.sort_unstable_by_key(|range| range.start);
        let is_dead = |address: u64| {
            let before = dead.partition_point(|range| range.start <= address);
            before.checked_sub(1).and_then(|last| dead.get(last)).is_some_and(|range| address < range.end)
        };
        let mut gone = self.translations.forget(is_dead);
        // Jumps and landings lead there by the name of what the program calls.
        gone.extend(self.source.led_on_to(&gone));
        self.switches.forget(is_dead);
        let unwatched = self.translations.forget_watching(is_dead);
        self.aim_switches(unwatched);
        self.landings.forget(&gone, is_dead);
        // A landing that is gone may be anywhere in a chain.
        self.landings.empty_tables();
        for code in self.arenas.iter_mut() {
            for (pc, patch) in code.unlink(&gone) {
                self.waiting.add(self.source.stands_for(pc), patch);
            }
        }
    }
}
