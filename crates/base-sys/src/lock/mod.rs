//! Locks for code inside the program's process, where the C library's locks belong to the program. A waiting thread
//! sleeps, so that the holder can run in any scheduling class.
//!
//! No thread may wait for something that never happens. Hence the rules:
//!
//! 1. A lock is waited for with all signals blocked ([`Quiet`](crate::calls::signal::Quiet)), or deferred until it is open
//!    again: system calls may be interrupted then, but nothing of the program runs. A signal handler of the
//!    program may end the process, fork, or execute another program, and each of these takes locks. It must not
//!    interrupt a thread that holds one.
//! 2. Locks are taken in the order of [`Rank`].
//! 3. The holder of a lock waits for nothing else that depends on another thread of the program: neither for a lock of
//!    the C library, nor for memory that a thread provides (userfaultfd, FUSE). The loader's list of libraries is the
//!    one exception ([`Rank::Modules`]).
//! 4. A forked child has no other threads. The forking thread takes the locks of data that the child needs whole. The
//!    child opens all others by force ([`Lock::open`]) and starts their data over.
//!
//! Debug builds check the first two rules at each wait, and that no wait takes too long.

mod futex;
mod inheriting;
mod order;

use std::{
    cell::UnsafeCell,
    ops::{Deref, DerefMut},
    sync::atomic::{AtomicU32, Ordering::*},
    time::Duration,
};

use crate::calls::signal;
pub use futex::sleep;
use inheriting::Bell;
pub use order::{Rank, defer_by, expect_quiet, forget_others};

/// The name of a holder that gives none.
const SOMEBODY: u32 = 1;

/// A bit beside the holder's name: there are threads to wake when the lock is opened. The kernel's bit, for locks with
/// priority inheritance.
const AWAITED: u32 = libc::FUTEX_WAITERS;

/// The bits of a holder's name: 30, as in the kernel's thread ids.
const HOLDER: u32 = libc::FUTEX_TID_MASK;

/// Mutual exclusion.
pub struct Lock<T> {
    /// The holder's name, perhaps with [`AWAITED`]; 0 while it is open.
    word: AtomicU32,
    rank: Rank,
    /// For a lock with priority inheritance, whose holder is named by its kernel thread id.
    inherits: Option<Bell>,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached only through the guard, by one thread at a time.
unsafe impl<T: Send> Sync for Lock<T> {}

/// Opens the lock when dropped.
pub struct Guard<'a, T>(&'a Lock<T>);

/// Why a lock could not be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shut {
    /// It is held by a holder of the same name.
    Mine,
    /// It was held for the whole time.
    Others,
}

impl<T> Lock<T> {
    /// An open lock.
    pub const fn new(rank: Rank, value: T) -> Self {
        Self { word: AtomicU32::new(0), rank, inherits: None, value: UnsafeCell::new(value) }
    }

    /// An open lock whose holder inherits the priority of waiting threads, where the kernel supports it.
    pub const fn inheriting(rank: Rank, value: T) -> Self {
        Self { word: AtomicU32::new(0), rank, inherits: Some(Bell::new()), value: UnsafeCell::new(value) }
    }

    /// Takes the lock if it is free. For handlers as well.
    pub fn try_lock(&self) -> Option<Guard<'_, T>> {
        let guard = self.try_lock_as(self.own_name()).ok()?;
        order::taken(self.rank);
        Some(guard)
    }

    /// Takes the lock in the name of `holder`, or of its last bits. For locks that a holder may abandon: their order is
    /// not checked.
    ///
    /// # Errors
    /// [`Shut::Mine`] where it is held in the same name.
    pub fn try_lock_as(&self, holder: u32) -> Result<Guard<'_, T>, Shut> {
        let holder = name(holder);
        // ATOMICS: pairs with the release in `open`.
        match self.word.compare_exchange(0, holder, Acquire, Relaxed) {
            Ok(_) => Ok(Guard(self)),
            Err(word) if word & HOLDER == holder => Err(Shut::Mine),
            Err(_) => Err(Shut::Others),
        }
    }

    /// Waits for the lock.
    pub fn lock(&self) -> Guard<'_, T> {
        order::check(self.rank);
        let holder = self.own_name();
        let mut waits = order::Waits::default();
        while !self.wait_as(holder, futex::LONGEST) {
            waits.one_more(self.rank);
        }
        self.taken()
    }

    /// As [`lock`](Self::lock), where the calling thread's number `tid` is known already.
    pub fn lock_as_thread(&self, tid: u32) -> Guard<'_, T> {
        if self.inherits.is_none() || self.word.compare_exchange(0, name(tid), Acquire, Relaxed).is_err() {
            return self.lock();
        }
        order::check(self.rank);
        self.taken()
    }

    /// As [`try_lock_as`](Self::try_lock_as), waiting for as long as `most`. Signals may come meanwhile.
    ///
    /// # Errors
    /// Why it could not be taken.
    pub fn lock_within(&self, holder: u32, most: Duration) -> Result<Guard<'_, T>, Shut> {
        match self.try_lock_as(holder) {
            Err(Shut::Others) if self.wait_as(name(holder), most) => Ok(Guard(self)),
            result => result,
        }
    }

    /// Waits once. False where the time is over.
    fn wait_as(&self, holder: u32, most: Duration) -> bool {
        match &self.inherits {
            Some(bell) => inheriting::take(&self.word, bell, holder, most),
            None => futex::take(&self.word, holder, most),
        }
    }

    /// The name of the calling thread, where the kernel needs it.
    fn own_name(&self) -> u32 {
        if self.inherits.is_some() { signal::thread_id() as u32 } else { SOMEBODY }
    }

    fn taken(&self) -> Guard<'_, T> {
        order::taken(self.rank);
        Guard(self)
    }

    /// Whether the lock is held now.
    pub fn is_held(&self) -> bool {
        self.word.load(Relaxed) != 0
    }

    /// Opens the lock, whether its holder is a thread that forgot the guard, or one that a forked child does not have.
    pub fn open(&self) {
        order::opened(self.rank);
        match &self.inherits {
            Some(bell) => inheriting::open(&self.word, bell),
            None => futex::open(&self.word),
        }
    }

    /// In a forked child, whose only thread has another number than it had in the parent: the lock that it took there is
    /// still its own.
    pub fn keep_in_child(&self) {
        self.word.store(self.own_name(), Relaxed);
        self.inherits.iter().for_each(Bell::forget);
    }

    /// For a thread that opens the lock and has no stack to return on: the word to be exchanged for 0. Where it was
    /// negative, a thread must be woken (`FUTEX_WAKE`). Not for a lock with priority inheritance.
    pub fn leave(&self) -> *mut u32 {
        order::opened(self.rank);
        self.word.as_ptr()
    }
}

/// The bits of a name that are kept.
const fn name(holder: u32) -> u32 {
    let kept = holder & HOLDER;
    if kept == 0 { SOMEBODY } else { kept }
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: the guard is the only access.
        unsafe { &*self.0.value.get() }
    }
}

impl<T> DerefMut for Guard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the guard is the only access.
        unsafe { &mut *self.0.value.get() }
    }
}

impl<T> Drop for Guard<'_, T> {
    fn drop(&mut self) {
        self.0.open();
    }
}

#[cfg(test)]
mod tests;
