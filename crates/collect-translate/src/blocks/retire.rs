//! Full arenas are retired and emptied (`engine::room` tells when that can be).

use super::cache::Cache;

/// How many arenas there are at most, unless code that is to be translated is beyond reach of all of them.
///
/// An arena holds 128 Ki blocks. With all that is known about them that is 25 to 45 MiB, and 1 MiB for each thread.
pub const MOST_ARENAS: usize = 6;

impl Cache {
    /// The arenas that are to be emptied.
    pub fn retired(&self) -> impl Iterator<Item = usize> {
        let all = self.codes.iter().enumerate();
        all.filter(|(_, code)| code.retired().is_some()).map(|(index, _)| index)
    }

    /// Whether an address lies in an arena that is to be emptied.
    pub fn is_retired(&self, address: u64) -> bool {
        self.retired().any(|index| self.codes.get(index).is_some_and(|code| code.contains(address)))
    }

    /// The oldest of the full arenas that code at `pc` could be translated to, and that are not to be left alone. One
    /// that has code in which threads are made stays: they are not known before they have left it.
    pub fn oldest(&self, pc: u64, left_alone: impl Fn(usize) -> bool) -> Option<usize> {
        let reach = self.reach(pc)?;
        let spawns = |index: usize| {
            let code = self.codes.get(index);
            self.spawns.values().any(|&spawn| code.is_some_and(|code| code.contains(spawn)))
        };
        let full = self.codes.iter().enumerate().filter(|(index, code)| {
            let can = code.retired().is_none() && code.reaches(&reach) && !self.has_room(code);
            can && !spawns(*index) && !left_alone(*index)
        });
        full.min_by_key(|(_, code)| code.began).map(|(index, _)| index)
    }

    /// Forgets the code in an arena.
    pub fn retire(&mut self, index: usize) {
        self.retirements += 1;
        let now = self.retirements;
        let range = self.codes.get_mut(index).map(|code| code.retire(now));
        self.bury(range.into_iter().collect());
    }

    /// Has every thread that is in the cache come by the dispatcher soon.
    pub fn cut_links(&mut self) {
        for code in &mut self.codes {
            code.cut_links();
        }
        self.empty_tables();
    }

    /// The arena's memory is there to be used again. False where it cannot be.
    pub fn empty(&mut self, index: usize) -> bool {
        self.began += 1;
        let Some(code) = self.codes.get_mut(index) else { return false };
        let (range, hooks) = (code.range(), code.take_hooks());
        if self.lanes.clear_windows(code.windows()).is_err() || !code.restart(self.began) {
            return false;
        }
        self.waiting.forget(|patch| range.contains(&patch));
        self.unused_hooks.extend(hooks);
        self.new_counters.retain(|&(arena, _)| arena != index);
        true
    }
}
