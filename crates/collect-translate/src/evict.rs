//! Full arenas: the oldest one is used again.
//!
//! It is *retired* first: its code is forgotten, so that nothing leads there any more, not even from itself. It is
//! *emptied* once no thread can be in it: each has been in the dispatcher since and gone on elsewhere, or runs natively,
//! or waits in a system call that other code has made. Threads in code where all jumps are linked do not come by the
//! dispatcher: all links are cut once, and made again one by one. As long as a thread is not known to be elsewhere, code
//! for which there is no room runs natively.

use std::ptr::NonNull;

use crate::{
    books::Books,
    cache::Cache,
    engine::{self, Engine},
    memory,
    thread::Thread,
};

/// How many arenas there are at most, unless code that is to be translated is beyond reach of all of them.
///
/// An arena holds 128 Ki blocks. With all that is known about them that is 25 to 45 MiB, and 1 MiB for each thread.
pub const MOST_ARENAS: usize = 6;

/// What [`Engine::make_room`] has reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// There is room now.
    Made,
    /// There will be as soon as other threads have run on a little.
    Soon,
    /// There is none.
    None,
}

/// Bounds the cache to so many arenas of so many blocks each, for tests. Returns how many arenas were retired so far.
#[doc(hidden)]
pub fn bound_cache(arenas: usize, blocks: usize) -> u64 {
    let mut retirements = 0;
    engine::with(|engine| {
        engine.cache.most_arenas = arenas;
        engine.cache.most_blocks = blocks;
        retirements = engine.cache.retirements;
    });
    retirements
}

impl Engine {
    /// Finds room for the translation of the code at `pc` in arenas that are full.
    pub fn make_room(&mut self, pc: u64) -> Room {
        let retired: Vec<usize> = self.cache.retired().collect();
        let left = |index: &&usize| self.is_left(**index);
        if let Some(&index) = retired.iter().find(left) {
            return self.reuse(index);
        }
        let waiting = self.waiting();
        let waited_in = |index: usize| {
            let code = self.cache.codes.get(index);
            code.is_some_and(|code| waiting.iter().any(|&at| code.contains(at)))
        };
        // Where a thread waits in a retired one, that may be for ever.
        if retired.iter().any(|&index| !waited_in(index)) {
            return Room::Soon;
        }
        let Some(index) = self.cache.oldest(pc, waited_in) else { return Room::None };
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

    /// The threads that are attached, but for the calling one.
    pub fn others(&self) -> impl Iterator<Item = &Books> {
        let current = engine::current_books();
        self.threads().filter(move |&books| Some(NonNull::from(books)) != current)
    }

    /// Whether no thread is in a retired arena, or can come there.
    fn is_left(&self, index: usize) -> bool {
        let Some(code) = self.cache.codes.get(index) else { return false };
        let since = code.retired().unwrap_or(u64::MAX);
        let waits_elsewhere = |thread: &Books| {
            let code = memory::waits_at(thread.clock.tid()).and_then(|at| self.cache.code_at(at));
            // In code of ours it may wait for the lock, on its way to anywhere.
            code.is_some_and(|(_, code)| code.retired().is_none())
        };
        let is_elsewhere = |thread: &Books| {
            thread.seen >= since || thread.clock.outside().is_some() || waits_elsewhere(thread)
        };
        !code.contains(self.cache.pinned) && self.others().all(is_elsewhere)
    }
}

impl Cache {
    /// The arenas that are to be emptied.
    fn retired(&self) -> impl Iterator<Item = usize> {
        let all = self.codes.iter().enumerate();
        all.filter(|(_, code)| code.retired().is_some()).map(|(index, _)| index)
    }

    /// The thread, which was in the dispatcher, goes on where its slots say.
    pub fn note_where(&self, thread: &mut Thread) {
        let next = thread.slots().next;
        let retired = |index: usize| self.codes.get(index).is_some_and(|code| code.contains(next));
        if !self.retired().any(retired) {
            thread.seen = self.retirements;
        }
    }

    /// The oldest of the full arenas that code at `pc` could be translated to, and that are not to be left alone. One
    /// that has code in which threads are made stays: they are not known before they have left it.
    fn oldest(&self, pc: u64, left_alone: impl Fn(usize) -> bool) -> Option<usize> {
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
    fn retire(&mut self, index: usize) {
        self.retirements += 1;
        let now = self.retirements;
        let range = self.codes.get_mut(index).map(|code| code.retire(now));
        self.bury(range.into_iter().collect());
    }

    /// Has every thread that is in the cache come by the dispatcher soon.
    fn cut_links(&mut self) {
        for code in &mut self.codes {
            code.cut_links();
        }
        self.empty_tables();
    }

    /// The arena's memory is there to be used again. False where it cannot be.
    fn empty(&mut self, index: usize) -> bool {
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
