//! Full arenas are retired and emptied (`engine::room` decides when).

use super::cache::Cache;
use crate::probes::mode::Version;

impl Cache {
    /// The oldest full arena to which this version of the code at `pc` could be translated, and which is not to be left alone. An arena
    /// with code that creates threads stays, because a new thread is not known before it has left that code.
    pub fn oldest(&self, pc: u64, version: Version, left_alone: impl Fn(usize) -> bool) -> Option<usize> {
        let reach = self.source.reach(pc)?;
        let spawns = |index: usize| {
            let code = self.arenas.get(index);
            self.translations.spawns().any(|spawn| code.is_some_and(|code| code.contains(spawn)))
        };
        self.arenas.oldest(&reach, version, |index| spawns(index) || left_alone(index))
    }

    /// Forgets the code in an arena.
    pub fn retire(&mut self, index: usize) {
        let range = self.arenas.retire(index);
        self.bury(range.into_iter().collect());
    }

    /// Makes every thread that is in the cache enter the dispatcher soon.
    pub fn cut_links(&mut self) {
        for code in self.arenas.iter_mut() {
            code.cut_links();
        }
        self.landings.empty_tables();
    }

    /// Makes the arena's memory available again. False where it cannot be used.
    pub fn empty(&mut self, index: usize) -> bool {
        let Some((range, hooks)) = self.arenas.empty(index, &self.lanes) else { return false };
        self.waiting.forget(|patch| range.contains(&patch));
        self.hooks.give_back(hooks);
        true
    }
}
