//! The engine of the process: the cache, and the threads that run in it.

mod calling;
mod life;
mod observer;

use std::sync::atomic::{AtomicU64, Ordering::*};

use carom_base_sys::lock::{self, Lock, Rank};

use crate::{cache::Cache, memory::LANE_BYTES, mode::Mode, thread::Thread};

#[cfg(debug_assertions)]
pub use calling::lose_thread;
pub use calling::{
    aside, attach, current, detach, give_lane_back, goes_back_to, is_attached, is_called_from_cache,
    is_on_engine_stack, runs_in_cache, set_gs_base, set_name, totals,
};
pub use life::{StartError, after_fork, is_started, start, stop};
pub use observer::{Observer, obstacle, tell_noticed, tell_streamed, tell_timed};

/// The engine.
pub struct Engine {
    pub cache: Cache,
    pub observer: &'static dyn Observer,
    threads: Vec<ThreadPointer>,
}

/// A thread that is attached.
struct ThreadPointer(*mut Thread);
// SAFETY: used under the engine's lock, while the thread is attached.
unsafe impl Send for ThreadPointer {}

static ENGINE: Lock<Option<Engine>> = Lock::inheriting(Rank::Engine, None);
/// Lanes that were used so far.
static OPENED: AtomicU64 = AtomicU64::new(0);
/// Where the lanes begin and end.
static LANES: [AtomicU64; 2] = [AtomicU64::new(0), AtomicU64::new(0)];

// SAFETY: everything in it is used under the engine's lock.
unsafe impl Send for Engine {}

/// Observes the program in another way from now on. Translated code is forgotten: each thread goes on in new code, or
/// natively, when it comes to the end of the block it is in, or back from the system call. Threads that run natively
/// because of [`Mode::Off`] come back as those do that left for other reasons ([`crate::witness`]). Signals must be
/// blocked.
pub fn set_mode(mode: Mode) {
    with(|engine| engine.cache.set_mode(mode));
}

/// Has translated code that calls `from`, a function of the embedder that only leads on to `to`, run `to` instead. Signals
/// must be blocked.
pub fn lead_on(from: u64, to: u64) {
    with(|engine| {
        engine.cache.aliases.insert(from, to);
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

/// Where the lane of this number begins, if it was ever used.
pub fn lane_base(index: u16) -> Option<u64> {
    let index = u64::from(index);
    (index < OPENED.load(Acquire)).then(|| LANES[0].load(Relaxed) + index * LANE_BYTES)
}

impl Engine {
    /// The threads that are attached.
    pub fn threads(&self) -> impl Iterator<Item = *const Thread> {
        self.threads.iter().map(|thread| thread.0.cast_const())
    }

    /// The one of that name.
    pub fn named(&self, name: u64) -> Option<*const Thread> {
        // SAFETY: attached, under the lock under which names change.
        self.threads().find(|&thread| unsafe { (*thread).name } == name)
    }

    /// Takes a thread off the list. Nobody else may have it.
    pub fn take(&mut self, pointer: *mut Thread) -> Option<Box<Thread>> {
        let index = self.threads.iter().position(|known| known.0 == pointer)?;
        self.threads.swap_remove(index);
        // SAFETY: it was a box, and only its own thread, which gives it up, had it.
        Some(unsafe { Box::from_raw(pointer) })
    }

    /// Has the exits of all threads lead to `passage`, and native functions return to where they were called.
    pub fn lead_out(&mut self, passage: u64) {
        for thread in &self.threads {
            // SAFETY: attached, and its dispatcher uses this under the lock that we hold.
            let thread = unsafe { &mut *thread.0 };
            let called_from = thread.native_calls.last().map_or(0, |call| call.back);
            thread.give_back();
            thread.slots().called_from = called_from;
            thread.slots().dispatch = passage;
        }
    }

    /// In the child of a fork: the calling thread is the only one.
    pub fn forget_others(&mut self, this: *mut Thread) {
        life::is_this_process();
        lock::forget_others();
        ENGINE.keep_in_child();
        self.cache.regions.all_done();
        self.cache.stale = true;
        for other in std::mem::take(&mut self.threads) {
            if other.0 == this {
                self.threads.push(other);
                continue;
            }
            // SAFETY: it was a box, and its thread does not exist here.
            let mut thread = unsafe { Box::from_raw(other.0) };
            // It may have been in the middle of telling these, which it does without the lock: half moved, they cannot be
            // freed.
            std::mem::forget(std::mem::take(&mut thread.noticed));
            self.cache.lanes.abandon(thread.lane);
        }
    }

    /// Tells the observer what every thread has executed.
    pub fn ending(&mut self) {
        let codes = &self.cache.codes;
        let mut threads = self.threads.iter().map(|thread| {
            // SAFETY: attached, and its dispatcher waits for the lock that we hold or is this one; counters are words.
            let thread = unsafe { &*thread.0 };
            (thread.name, thread.totals(codes))
        });
        self.observer.ending(&mut threads);
    }
}
