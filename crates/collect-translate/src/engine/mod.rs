//! The engine of the process: the cache, and the threads that run in it.

pub mod by_instruction;
pub mod calling;
pub mod enter;
pub mod observer;
pub mod process;
pub mod room;
pub mod superblocks;

use std::{ops::Range, ptr::NonNull};

use carom_base_sys::lock::{self, Lock, Rank};

use crate::{
    blocks::cache::Cache,
    probes::{filter::IpSet, mode::Mode},
    threads::{books::Books, thread::Thread},
};
use by_instruction::Divided;
use observer::Observer;
use superblocks::Turns;

/// The engine.
pub struct Engine {
    pub cache: Cache,
    pub visit: Visit,
    pub observer: &'static dyn Observer,
    /// `None` where nobody asks for counts by instruction.
    by_instruction: Option<Divided>,
    threads: Vec<Attached>,
    /// When superblocks are made next.
    pub turns: Turns,
}

/// What is known about the thread that is in the dispatcher.
#[derive(Debug, Default)]
pub struct Visit {
    /// Where it will certainly continue in the cache; 0 for nowhere.
    pub pinned: u64,
    /// It can be told to wait for others.
    pub may_wait: bool,
}

/// An attached thread.
struct Attached {
    /// Its private state.
    thread: *mut Thread,
    /// The part of its state that is used under the engine's lock.
    books: NonNull<Books>,
}
// SAFETY: used under the engine's lock, while the thread is attached.
unsafe impl Send for Attached {}

static ENGINE: Lock<Option<Engine>> = Lock::inheriting(Rank::Engine, None);

// SAFETY: everything in it is used under the engine's lock.
unsafe impl Send for Engine {}

/// Makes the engine available.
pub fn install(cache: Cache, observer: &'static dyn Observer) {
    *ENGINE.lock() = Some(Engine {
        cache,
        visit: Visit::default(),
        observer,
        by_instruction: None,
        threads: Vec::new(),
        turns: Turns::default(),
    });
    observer::tell_it_to(observer);
}

/// Changes how the program is observed. Translated code is forgotten: each thread continues in new code, or natively,
/// when it reaches the end of its block or returns from its system call. Threads that run natively because of
/// [`Mode::Off`] come back like those that left for other reasons ([`crate::witness`]). Signals must be blocked.
pub fn set_mode(mode: Mode) {
    with(|engine| engine.cache.set_mode(mode));
}

/// In [`Mode::Episodes`]: accesses are looked up from now on. A thread notices within some instructions. Signals must be blocked. Does
/// not allocate.
pub fn begin_episode() {
    with(|engine| engine.cache.switch(true));
}

/// In [`Mode::Episodes`]: accesses are looked up no longer. Signals must be blocked.
pub fn end_episode() {
    with(|engine| engine.cache.switch(false));
}

/// Samples, streams and times only these instructions from now on; `None`: all. Counts still include all
/// instructions, and watched places are still looked up everywhere. Code with an instruction that is added or removed
/// is translated anew: a thread inside notices at the end of its block. Signals must be blocked.
pub fn set_filter(instructions: Option<IpSet>) {
    with(|engine| engine.cache.set_filter(instructions.unwrap_or_else(IpSet::everything)));
}

/// Makes translated code that calls the function `from` run `to` instead. What `to` leads on to is not replaced again: so `to`
/// reaches `from` by a function of the embedder that stands for it. Signals must be blocked.
pub fn lead_on(from: u64, to: u64) {
    with(|engine| {
        engine.cache.source.lead_on(from, to);
    });
}

/// Neither counts nor samples translated code in `range`: code of the embedder that runs among the program's. Must be
/// called before the first thread is attached. Signals must be blocked.
pub fn leave_uncounted(range: Range<u64>) {
    with(|engine| engine.cache.source.leave_uncounted(range));
}

/// Counts in memory alone, so that [`totals`](crate::totals) and [`accesses_of`](crate::accesses_of) are exact for all threads at
/// any time. Otherwise what a thread counts inside a loop is missing from its last exit, sample or [`catch_up`](crate::catch_up)
/// on. Must be called before the first thread is attached. Signals must be blocked.
pub fn count_in_memory() {
    with(|engine| engine.cache.counts_in_registers = false);
}

/// Tells the observer what the process executes by instruction, too. Must be called before the first thread is attached. Signals
/// must be blocked.
pub fn count_by_instruction() {
    with(|engine| engine.by_instruction = Some(Divided::default()));
}

/// Calls `work` with the engine, under its lock. Signals must be blocked.
pub fn with(work: impl FnOnce(&mut Engine)) {
    if let Some(engine) = ENGINE.lock().as_mut() {
        work(engine);
    }
}

/// The same in the dispatcher of `thread`, which is the calling one.
pub fn with_thread(thread: &mut Thread, work: impl FnOnce(&mut Engine, &mut Thread)) {
    if let Some(engine) = ENGINE.lock_as_thread(thread.clock.tid()).as_mut() {
        work(engine, thread);
    }
}

/// Tells the observer what every thread has executed. Signals must be blocked.
pub fn tell_totals() {
    with(Engine::ending);
}

/// Must be called when code was mapped or unmapped natively, as by a dlopen or dlclose of the embedder, before
/// anything else is mapped there. Signals must be blocked.
pub fn mappings_changed() {
    // If the look fails, everything is forgotten.
    with(|engine| drop(engine.cache.look()));
}

impl Engine {
    /// The books of all attached threads.
    pub fn threads(&self) -> impl Iterator<Item = &Books> {
        // SAFETY: attached. Whoever changes them has the lock, which we hold.
        self.threads.iter().map(|attached| unsafe { attached.books.as_ref() })
    }

    /// The same, mutable.
    pub fn threads_mut(&mut self) -> impl Iterator<Item = &mut Books> {
        each_mut(&self.threads)
    }

    /// An arena is about to be reused: each thread keeps what it has counted there.
    pub fn fold(&mut self, arena: usize) {
        self.divide_at_last(arena);
        if let Some(code) = self.cache.arenas.get(arena) {
            each_mut(&self.threads).for_each(|books| books.fold(arena, code));
        }
    }

    /// The books of the thread with this name.
    pub fn named(&self, name: u64) -> Option<&Books> {
        self.threads().find(|books| books.name == name)
    }

    /// Adds the calling thread to the list.
    pub fn add(&mut self, mut thread: Box<Thread>) {
        thread.corrections = self.by_instruction.is_some().then(Box::default);
        let books = thread.books;
        self.threads.push(Attached { thread: Box::into_raw(thread), books });
    }

    /// Removes the thread with this number from the list.
    pub fn take_by_tid(&mut self, tid: u32) -> Option<*mut Thread> {
        let index = self.threads().position(|books| books.clock.tid() == tid)?;
        Some(self.remove(index).thread)
    }

    /// Removes a thread from the list, after which only the thread itself knows it. False where it is not in the
    /// list.
    pub fn take(&mut self, books: NonNull<Books>) -> bool {
        let index = self.threads.iter().position(|known| known.books == books);
        index.map(|index| self.remove(index)).is_some()
    }

    fn remove(&mut self, index: usize) -> Attached {
        let removed = self.threads.swap_remove(index);
        let mut books = removed.books;
        // SAFETY: the thread keeps them until it has left the engine; changed under the engine's lock, which we hold.
        self.keep_counts_of(unsafe { books.as_mut() });
        removed
    }

    /// Makes the exits of all threads lead to `passage`, and native functions return to where they were called.
    pub fn lead_out(&mut self, passage: u64) {
        self.threads_mut().for_each(|books| books.lead_out(passage));
    }

    /// In the child of a fork: the calling thread is the only one.
    pub fn forget_others(&mut self, this: *mut Thread) {
        process::is_this_process();
        lock::forget_others();
        ENGINE.keep_in_child();
        self.cache.source.end_all_changes();
        for other in std::mem::take(&mut self.threads) {
            if other.thread == this {
                self.threads.push(other);
                continue;
            }
            // SAFETY: it was a box, and its thread does not exist here.
            let mut thread = unsafe { Box::from_raw(other.thread) };
            // The thread may have been reporting these, without the lock: half moved, they cannot be freed.
            std::mem::forget(std::mem::take(&mut thread.noticed));
            self.cache.lanes.abandon(thread.lane);
        }
    }

    /// Tells the observer what every thread has executed.
    pub fn ending(&mut self) {
        // First: threads that run on count meanwhile, and what instructions have counted must be in the totals.
        let mut executed = self.executed().peekable();
        if executed.peek().is_some() {
            self.observer.executed(&mut executed);
        }
        drop(executed);
        let codes = self.cache.arenas.all();
        let mut threads = self.threads().map(|books| (books.name, books.totals(codes)));
        self.observer.ending(&mut threads);
    }
}

/// The books of these threads, under the engine's lock.
fn each_mut(threads: &[Attached]) -> impl Iterator<Item = &mut Books> {
    threads.iter().map(|attached| {
        let mut books = attached.books;
        // SAFETY: attached; whoever uses them has the lock, and this reference is the only one to these.
        unsafe { books.as_mut() }
    })
}
