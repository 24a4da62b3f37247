//! Code that changes: its translations are forgotten.
//!
//! A fragment is forgotten as a whole: nothing leads there any more. A thread that is in it runs on to its end, where
//! it leaves, as a processor may run on with what it has fetched until it is serialised.

use std::ops::Range;

use rustc_hash::FxHashSet;

use super::cache::Cache;
use crate::{
    memory::{MemoryError, PAGE_BYTES},
    probes::{filter::IpSet, mode::Mode},
};

impl Cache {
    /// Something else may be at these addresses now.
    pub fn code_changed(&mut self, changed: &Range<u64>) {
        self.forget(std::slice::from_ref(changed));
        self.sequences.forget(changed);
        // Where the look fails, everything is forgotten, and code will be looked for again.
        let _ = self.look();
    }

    /// Looks at what is mapped, and forgets what is not there any more.
    ///
    /// # Errors
    /// [`MemoryError::NoMaps`]: everything is forgotten. What cannot be told to be the code that was translated runs
    /// natively, until a look succeeds.
    pub fn look(&mut self) -> Result<(), MemoryError> {
        self.foreign.clear();
        let looked = self.regions.refresh();
        self.stale = looked.is_err();
        let everything = 0..u64::MAX;
        let gone = looked.as_deref().unwrap_or(std::slice::from_ref(&everything));
        gone.iter().for_each(|range| self.sequences.forget(range));
        self.forget(gone);
        looked.map(drop)
    }

    /// Everything is translated anew, in another mode.
    pub fn set_mode(&mut self, mode: Mode) {
        let was_off = std::mem::replace(&mut self.mode, mode) == Mode::Off;
        if was_off {
            // Threads that ran natively have mapped what they would.
            let _ = self.look();
        }
        let everything = 0..u64::MAX;
        self.forget(std::slice::from_ref(&everything));
    }

    /// Whether there is code at `pc` that can be translated, looking at what is mapped if need be.
    pub fn find_code(&mut self, pc: u64) -> bool {
        let page = pc / PAGE_BYTES;
        let unknown = self.stale || !self.foreign.contains(&page);
        if self.regions.contains(pc).is_none() && unknown && self.look().is_ok() {
            self.foreign.insert(page);
        }
        self.regions.contains(pc).is_some()
    }

    /// Forgets the translations of restartable sequences that were not known when they were made. Whether there are any
    /// sequences that this concerns.
    pub fn forget_sequences(&mut self) -> bool {
        let fresh = self.sequences.take_fresh();
        self.forget(&fresh);
        !fresh.is_empty()
    }

    /// Notes the restartable sequence that the calling thread has published in its area.
    pub fn note_published(&mut self, area: u64) {
        if self.sequences.find_published(&self.regions, area) {
            self.forget_sequences();
        }
    }

    /// Only these instructions are observed one by one from now on.
    pub fn set_filter(&mut self, instructions: IpSet) {
        let changed = self.filter.difference(&instructions);
        self.filter = instructions;
        self.forget(&changed);
    }

    /// Whether the fragment at a cache address still stands for what is mapped.
    pub fn is_current(&self, address: u64) -> bool {
        self.code_at(address).is_some_and(|(_, code)| code.is_current(address))
    }

    /// Forgets what was made from something in these places.
    pub fn forget(&mut self, changed: &[Range<u64>]) {
        let mut dead = Vec::new();
        for code in &mut self.codes {
            dead.extend(changed.iter().flat_map(|range| code.disown(range)));
        }
        self.bury(dead);
    }

    /// Nothing leads any more to code at these places in the cache.
    pub fn bury(&mut self, mut dead: Vec<Range<u64>>) {
        if dead.is_empty() {
            return;
        }
        dead.sort_unstable_by_key(|range| range.start);
        let is_dead = |address: u64| {
            let before = dead.partition_point(|range| range.start <= address);
            before.checked_sub(1).and_then(|last| dead.get(last)).is_some_and(|range| address < range.end)
        };
        let gone: FxHashSet<u64> =
            self.blocks.extract_if(|_, cache| is_dead(*cache)).map(|(pc, _)| pc).collect();
        self.followers.retain(|_, follower| !is_dead(follower.entry));
        self.variants.retain(|_, cache| !is_dead(*cache));
        self.splits.clear();
        self.spawns.retain(|call, _| !is_dead(*call));
        self.landings.forget(&gone, is_dead);
        // One that is gone may be anywhere in a chain.
        self.empty_tables();
        for code in &mut self.codes {
            for (pc, patch) in code.unlink(&gone) {
                let target = self.aliases.get(&pc).copied().unwrap_or(pc);
                self.waiting.add(target, patch);
            }
        }
    }
}
