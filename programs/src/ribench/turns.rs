//! The barrier in front of the shared array.

use std::sync::atomic::{
    AtomicU32, Ordering::AcqRel, Ordering::Acquire, Ordering::Relaxed, Ordering::Release,
};

use rustix::thread::futex::{Flags, wait, wake};

use crate::padded::Padded;

/// A barrier that lets the threads out one after the other, always in the same order.
///
/// An ordinary barrier does not suffice. A thread that stores last in one pass and first in the next finds its bytes as it
/// left them, and with two threads that is the rule: the thread that is woken last arrives last, and then need not be
/// woken. With turns every other thread stores between any two passes of one.
///
/// Threads sleep in the kernel, as in `pthread_barrier_wait`: one that spins would make accesses without end.
pub struct Turns {
    /// How many wait for the turns of this pass to begin.
    arrived: Padded<AtomicU32>,
    /// How often each thread was called, modulo 2^32.
    calls: Vec<Padded<AtomicU32>>,
}

impl Turns {
    /// For this many threads.
    pub fn new(threads: usize) -> Self {
        Self {
            arrived: Padded(AtomicU32::new(0)),
            calls: (0..threads).map(|_| Padded(AtomicU32::new(0))).collect(),
        }
    }

    /// Waits until all threads have come here, and for the turn of this one; runs `work`; then calls the next.
    ///
    /// Inlined, since saving and restoring registers would be half of the accesses that it makes.
    #[inline(always)]
    pub fn take(&self, thread: usize, work: impl FnOnce()) {
        let Some(calls) = self.calls.get(thread) else { return };
        // Calls of this thread come only after it has arrived, so this is the number before its own.
        let before = calls.load(Relaxed);
        // ATOMICS: the last to arrive sees what all others did before they did.
        if self.arrived.fetch_add(1, AcqRel) + 1 == self.calls.len() as u32 {
            // No thread arrives again before the first thread was called.
            self.arrived.store(0, Relaxed);
            self.call(0);
        }
        // ATOMICS: pairs with the release in `call`.
        while calls.load(Acquire) == before {
            // It returns at once where the call has come meanwhile, and may return for other reasons: both are seen
            // by the next look.
            let _ = wait(calls, Flags::PRIVATE, before, None);
        }
        work();
        self.call(thread + 1);
    }

    fn call(&self, thread: usize) {
        if let Some(calls) = self.calls.get(thread) {
            calls.fetch_add(1, Release);
            // It fails only for addresses that are no memory.
            let _ = wake(calls, Flags::PRIVATE, 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::thread;

    use super::*;

    #[test]
    fn turns_go_round_in_the_threads_order() {
        for threads in [1, 2, 5] {
            let (turns, seen) = (Turns::new(threads), Mutex::new(Vec::new()));
            thread::scope(|scope| {
                for id in 0..threads {
                    let (turns, seen) = (&turns, &seen);
                    scope.spawn(move || {
                        (0..50).for_each(|_| turns.take(id, || seen.lock().unwrap().push(id)));
                    });
                }
            });
            let round: Vec<usize> = (0..threads).collect();
            assert_eq!(seen.into_inner().unwrap(), round.repeat(50));
        }
    }
}
