//! Locks for code inside a stranger's process, where the C library's are the program's business. What waits for one
//! sleeps, so that its holder runs whatever the scheduling classes of the two.
//!
//! Nothing may be waited for that never comes. Hence the rules:
//!
//! 1. A lock is waited for with all signals blocked ([`Quiet`](crate::calls::signal::Quiet)). A signal handler of the program may
//!    end the process, fork, or execute another program, each of which takes locks: it must not have interrupted its own
//!    thread while that held one.
//! 2. Locks are taken in the order of [`Rank`].
//! 3. While one is held, nothing else is waited for that another thread of the program has to do or may never do: giving
//!    back a lock of the C library, or providing memory (userfaultfd, FUSE). The loader's list of libraries is the one
//!    exception ([`Rank::Modules`]).
//! 4. A forked child has no other threads. What it must find whole is taken before the fork by the thread that forks;
//!    everything else the child opens by force ([`Lock::open`]) and begins anew.
//!
//! Debug builds check the first two wherever a lock is waited for, and that no wait goes on and on.

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
pub use order::{Rank, expect_quiet, forget_others};

/// Whoever takes the lock without giving a name.
const SOMEBODY: u32 = 1;

/// Beside the holder: there are threads to wake when the lock is opened. The kernel's bit, for locks that inherit priority.
const AWAITED: u32 = libc::FUTEX_WAITERS;

/// What names a holder: 30 bits, as the kernel's numbers of threads.
const HOLDER: u32 = libc::FUTEX_TID_MASK;

/// Mutual exclusion.
pub struct Lock<T> {
    /// Who holds it, perhaps with [`AWAITED`]; 0 while it is open.
    word: AtomicU32,
    rank: Rank,
    /// Of a lock whose holder runs with the priority of whoever waits, and is named by the kernel's number of its thread.
    inherits: Option<Bell>,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached only through the guard, by one thread at a time.
unsafe impl<T: Send> Sync for Lock<T> {}

/// Opens the lock when dropped.
pub struct Guard<'a, T>(&'a Lock<T>);

/// Why a lock could not be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shut {
    /// It is held in the same name.
    Mine,
    /// It was held for all the time that there was.
    Others,
}

impl<T> Lock<T> {
    /// An open lock.
    pub const fn new(rank: Rank, value: T) -> Self {
        Self { word: AtomicU32::new(0), rank, inherits: None, value: UnsafeCell::new(value) }
    }

    /// An open lock whose holder inherits the priority of those who wait, where the kernel lets it.
    pub const fn inheriting(rank: Rank, value: T) -> Self {
        Self { word: AtomicU32::new(0), rank, inherits: Some(Bell::new()), value: UnsafeCell::new(value) }
    }

    /// Takes the lock if it is free. For handlers as well.
    pub fn try_lock(&self) -> Option<Guard<'_, T>> {
        let guard = self.try_lock_as(self.own_name()).ok()?;
        order::taken(self.rank);
        Some(guard)
    }

    /// Takes the lock in the name of `holder`, or of its last bits. For whoever may leave it behind: nothing checks in what
    /// order such locks are taken.
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
    /// Why it could not be had.
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

    /// The name of the calling thread, where the kernel wants to know it.
    fn own_name(&self) -> u32 {
        if self.inherits.is_some() { signal::thread_id() as u32 } else { SOMEBODY }
    }

    fn taken(&self) -> Guard<'_, T> {
        order::taken(self.rank);
        Guard(self)
    }

    /// Whether somebody holds the lock now.
    pub fn is_held(&self) -> bool {
        self.word.load(Relaxed) != 0
    }

    /// Opens the lock, whoever holds it: the thread that took it and forgot the guard, or one that a forked child does not
    /// have.
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

    /// For whoever opens the lock without a stack to return on: the word that is to be exchanged for 0, and then a thread to
    /// be woken (`FUTEX_WAKE`) where it was negative. Not of a lock that inherits priority.
    pub fn leave(&self) -> *mut u32 {
        order::opened(self.rank);
        self.word.as_ptr()
    }
}

/// What is kept of a holder's name.
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
