//! Full arenas: the oldest one is reused.
//!
//! It is *retired* first: its code is forgotten, so that nothing leads there any more, not even from itself. It is
//! *emptied* once no thread can be in it: each thread has since been in the dispatcher and continued elsewhere, or
//! runs natively, or waits in a system call of other code. Threads in code with all jumps linked do not enter the
//! dispatcher: so all links are cut once, and made again one by one. While any thread is not known to be elsewhere,
//! code for which there is no room runs natively.

use super::{Engine, calling};
use crate::{engine, memory, probes::mode::Version, threads::books::Books};

/// The result of [`Engine::make_room`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// There is room now.
    Made,
    /// There will be room as soon as other threads have run on a little.
    Soon,
    /// There is none.
    None,
}

/// Limits the cache to this many arenas with this many blocks each, for tests. Returns how many arenas were retired
/// before.
#[doc(hidden)]
pub fn bound_cache(arenas: usize, blocks: usize) -> u64 {
    let mut retirements = 0;
    engine::with(|engine| {
        engine.cache.arenas.bound(arenas, blocks);
        retirements = engine.cache.arenas.retirements();
    });
    retirements
}

impl Engine {
    /// Makes room for the translation of this version of the code at `pc` when its arenas are full.
    pub fn make_room(&mut self, pc: u64, version: Version) -> Room {
        let is_of = |index: &usize| self.cache.arenas.get(*index).is_some_and(|code| code.version == version);
        let retired: Vec<usize> = self.cache.arenas.retired().filter(is_of).collect();
        let left = |index: &&usize| self.is_left(**index);
        if let Some(&index) = retired.iter().find(left) {
            return self.reuse(index);
        }
        let waiting = self.waiting();
        let waited_in = |index: usize| {
            let code = self.cache.arenas.get(index);
            code.is_some_and(|code| waiting.iter().any(|&at| code.contains(at)))
        };
        // A thread may wait in a retired arena forever.
        if retired.iter().any(|&index| !waited_in(index)) {
            return Room::Soon;
        }
        let Some(index) = self.cache.oldest(pc, version, waited_in) else { return Room::None };
        self.cache.retire(index);
        if self.is_left(index) {
            return self.reuse(index);
        }
        self.cache.cut_links();
        Room::Soon
    }

    fn reuse(&mut self, index: usize) -> Room {
        self.fold(index);
        if self.cache.empty(index) { Room::Made } else { Room::None }
    }

    /// Where the other threads wait in system calls.
    fn waiting(&self) -> Vec<u64> {
        self.others().filter_map(|thread| memory::waits_at(thread.clock.tid())).collect()
    }

    /// The attached threads, except the calling one, also once the engine has stopped.
    pub fn others(&self) -> impl Iterator<Item = &Books> {
        let current = calling::slots();
        self.threads().filter(move |books| Some(books.slots) != current)
    }

    /// Whether no thread is in a retired arena, or can get there.
    fn is_left(&self, index: usize) -> bool {
        let Some(code) = self.cache.arenas.get(index) else { return false };
        let since = code.retired().unwrap_or(u64::MAX);
        let waits_elsewhere = |thread: &Books| {
            let code = memory::waits_at(thread.clock.tid()).and_then(|at| self.cache.arenas.at(at));
            // A thread in the engine's code may wait for the lock, on its way to anywhere.
            code.is_some_and(|(_, code)| code.retired().is_none())
        };
        let is_elsewhere = |thread: &Books| {
            thread.seen >= since || thread.clock.outside().is_some() || waits_elsewhere(thread)
        };
        !code.contains(self.visit.pinned) && self.others().all(is_elsewhere)
    }
}
