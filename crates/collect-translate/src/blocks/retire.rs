//! Full arenas are retired and emptied (`engine::room` tells when that can be).

use super::cache::Cache;

impl Cache {
    /// The oldest of the full arenas that code at `pc` could be translated to, and that are not to be left alone. One
    /// that has code in which threads are made stays: they are not known before they have left it.
    pub fn oldest(&self, pc: u64, left_alone: impl Fn(usize) -> bool) -> Option<usize> {
        let reach = self.source.reach(pc)?;
        let spawns = |index: usize| {
            let code = self.arenas.get(index);
            self.translations.spawns().any(|spawn| code.is_some_and(|code| code.contains(spawn)))
        };
        self.arenas.oldest(&reach, |index| spawns(index) || left_alone(index))
    }

    /// Forgets the code in an arena.
    pub fn retire(&mut self, index: usize) {
        let range = self.arenas.retire(index);
        self.bury(range.into_iter().collect());
    }

    /// Has every thread that is in the cache come by the dispatcher soon.
    pub fn cut_links(&mut self) {
        for code in self.arenas.iter_mut() {
            code.cut_links();
        }
        self.landings.empty_tables();
    }

    /// The arena's memory is there to be used again. False where it cannot be.
    pub fn empty(&mut self, index: usize) -> bool {
        let Some((range, hooks)) = self.arenas.empty(index, &self.lanes) else { return false };
        self.waiting.forget(|patch| range.contains(&patch));
        self.hooks.give_back(hooks);
        true
    }
}
