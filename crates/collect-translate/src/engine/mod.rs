//! The engine of the process: the cache, and the threads that run in it.

pub mod calling;
pub mod enter;
pub mod observer;
pub mod process;
pub mod room;

use std::ptr::NonNull;

use carom_base_sys::lock::{self, Lock, Rank};

use crate::{
    blocks::cache::Cache,
    probes::{filter::IpSet, mode::Mode},
    threads::{books::Books, thread::Thread},
};
use observer::Observer;

/// The engine.
pub struct Engine {
    pub cache: Cache,
    pub visit: Visit,
    pub observer: &'static dyn Observer,
    threads: Vec<Attached>,
}

/// What is known of the thread that is in the dispatcher.
#[derive(Debug, Default)]
pub struct Visit {
    /// Where it goes on in the cache, whatever happens; 0 for nowhere.
    pub pinned: u64,
    /// It can be asked to wait for others.
    pub may_wait: bool,
}

/// A thread that is attached.
struct Attached {
    /// Its own.
    thread: *mut Thread,
    /// What is used of it under the engine's lock.
    books: NonNull<Books>,
}
// SAFETY: used under the engine's lock, while the thread is attached.
unsafe impl Send for Attached {}

static ENGINE: Lock<Option<Engine>> = Lock::inheriting(Rank::Engine, None);

// SAFETY: everything in it is used under the engine's lock.
unsafe impl Send for Engine {}

/// The engine is there from now on.
pub fn install(cache: Cache, observer: &'static dyn Observer) {
    *ENGINE.lock() = Some(Engine { cache, visit: Visit::default(), observer, threads: Vec::new() });
    observer::tell_it_to(observer);
}

/// Observes the program in another way from now on. Translated code is forgotten: each thread goes on in new code, or
/// natively, when it comes to the end of the block it is in, or back from the system call. Threads that run natively
/// because of [`Mode::Off`] come back as those do that left for other reasons ([`crate::witness`]). Signals must be
/// blocked.
pub fn set_mode(mode: Mode) {
    with(|engine| engine.cache.set_mode(mode));
}

/// Has only these instructions sampled, streamed and timed from now on; `None`: all. Counts stay those of all, and watched
/// places are looked up everywhere, for whoever comes by. Code whose instructions come in or fall out is translated anew: a
/// thread that is there notices at the end of the block that it is in. Signals must be blocked.
pub fn set_filter(instructions: Option<IpSet>) {
    with(|engine| engine.cache.set_filter(instructions.unwrap_or_else(IpSet::everything)));
}

/// Has translated code that calls `from`, a function of the embedder that only leads on to `to`, run `to` instead. Signals
/// must be blocked.
pub fn lead_on(from: u64, to: u64) {
    with(|engine| {
        engine.cache.source.lead_on(from, to);
    });
}

/// Works with the engine under its lock. Signals must be blocked.
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

/// Tells the observer what every thread has executed so far. Signals must be blocked.
pub fn tell_totals() {
    with(Engine::ending);
}

/// To be called when code was mapped or unmapped natively, as dlopen and dlclose do when the embedder calls them, before
/// anything else is mapped there. Signals must be blocked.
pub fn mappings_changed() {
    // Where the look fails, everything is forgotten.
    with(|engine| drop(engine.cache.look()));
}

impl Engine {
    /// The books of the threads that are attached.
    pub fn threads(&self) -> impl Iterator<Item = &Books> {
        // SAFETY: attached. Whoever changes them has the lock, which we hold.
        self.threads.iter().map(|attached| unsafe { attached.books.as_ref() })
    }

    /// The same, to be changed.
    pub fn threads_mut(&mut self) -> impl Iterator<Item = &mut Books> {
        each_mut(&self.threads)
    }

    /// An arena is to be used anew: each thread keeps what it has counted there.
    pub fn fold(&mut self, arena: usize) {
        if let Some(code) = self.cache.arenas.get(arena) {
            each_mut(&self.threads).for_each(|books| books.fold(arena, code));
        }
    }

    /// Those of the thread of that name.
    pub fn named(&self, name: u64) -> Option<&Books> {
        self.threads().find(|books| books.name == name)
    }

    /// Puts the calling thread on the list.
    pub fn add(&mut self, thread: Box<Thread>) {
        let books = thread.books;
        self.threads.push(Attached { thread: Box::into_raw(thread), books });
    }

    /// Takes the thread of that number off the list.
    pub fn take_by_tid(&mut self, tid: u32) -> Option<*mut Thread> {
        let index = self.threads().position(|books| books.clock.tid() == tid)?;
        Some(self.threads.swap_remove(index).thread)
    }

    /// Takes a thread off the list: nobody but itself knows it any more. False where it is not there.
    pub fn take(&mut self, books: NonNull<Books>) -> bool {
        let index = self.threads.iter().position(|known| known.books == books);
        index.map(|index| self.threads.swap_remove(index)).is_some()
    }

    /// Has the exits of all threads lead to `passage`, and native functions return to where they were called.
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
            // It may have been in the middle of telling these, which it does without the lock: half moved, they cannot be
            // freed.
            std::mem::forget(std::mem::take(&mut thread.noticed));
            self.cache.lanes.abandon(thread.lane);
        }
    }

    /// Tells the observer what every thread has executed.
    pub fn ending(&mut self) {
        let codes = self.cache.arenas.all();
        let mut threads = self.threads().map(|books| (books.name, books.totals(codes)));
        self.observer.ending(&mut threads);
    }
}

/// The books of these threads. Under the engine's lock.
fn each_mut(threads: &[Attached]) -> impl Iterator<Item = &mut Books> {
    threads.iter().map(|attached| {
        let mut books = attached.books;
        // SAFETY: attached; whoever uses them has the lock, and this reference is the only one to these.
        unsafe { books.as_mut() }
    })
}
