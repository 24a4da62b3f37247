//! Finds the calling thread's state without thread-local storage.
//!
//! `thread_local!` in a preloaded library may allocate at first use, and GS is inherited by new threads, so
//! that a thread made behind our back would find its creator's state. The thread pointer (FS base) is unique
//! among live threads and one instruction away: a lock-free table keyed by it serves all engines.

use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering::*};

use crate::thread::Thread;

/// Threads of one process that can be profiled at a time.
pub const CAPACITY: usize = 1 << 14;

/// A removed key. Look-ups go on past it.
const GONE: u64 = 1;

struct Registry {
    keys: [AtomicU64; CAPACITY],
    threads: [AtomicPtr<Thread>; CAPACITY],
}

static REGISTRY: Registry = Registry {
    keys: [const { AtomicU64::new(0) }; CAPACITY],
    threads: [const { AtomicPtr::new(std::ptr::null_mut()) }; CAPACITY],
};

pub use carom_base_sys::signal::thread_pointer;

/// The first entries of the table, and how many of them are tried first: so most programs touch one page of either
/// array instead of one per thread.
const FRONT: usize = 256;
const FRONT_TRIES: usize = 16;

/// Set once a thread has found no free entry among them.
static BEYOND_FRONT: AtomicBool = AtomicBool::new(false);

/// The entries where `key` may be, in order.
fn probe(key: u64) -> impl Iterator<Item = usize> {
    // Control blocks are 64-byte aligned; the multiplier is 2^64 over the golden ratio.
    let start = ((key >> 6).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize;
    let front = (0..FRONT_TRIES).map(move |step| start.wrapping_add(step) % FRONT);
    front.chain((0..CAPACITY).map(move |step| start.wrapping_add(step) % CAPACITY))
}

/// The calling thread's state. Signal-safe.
pub fn current() -> Option<&'static Thread> {
    find(thread_pointer())
}

/// The state of the thread with this thread pointer. Signal-safe.
pub fn find(key: u64) -> Option<&'static Thread> {
    for index in probe(key) {
        // ATOMICS: pairs with the release in `insert`: a key that is seen has its thread pointer set.
        match REGISTRY.keys[index].load(Acquire) {
            0 => return None,
            found if found == key => {
                let thread = REGISTRY.threads[index].load(Relaxed);
                // SAFETY: threads are never freed, only reused, and a removed key is not found.
                return unsafe { thread.as_ref() };
            }
            _ => {}
        }
    }
    None
}

/// Makes `thread` findable under `key`. False where the table is full.
pub fn insert(key: u64, thread: &'static Thread) -> bool {
    for index in probe(key) {
        let slot = &REGISTRY.keys[index];
        let seen = slot.load(Relaxed);
        if seen > GONE && seen != key {
            continue;
        }
        // Claim the entry with a key that no thread has, until its thread is set.
        if slot.compare_exchange(seen, CLAIMED, Relaxed, Relaxed).is_err() {
            continue;
        }
        REGISTRY.threads[index].store(std::ptr::from_ref(thread).cast_mut(), Relaxed);
        if index >= FRONT {
            BEYOND_FRONT.store(true, Relaxed);
        }
        // ATOMICS: pairs with the acquire in `find`.
        slot.store(key, Release);
        return true;
    }
    false
}

/// The key of an entry that is being written.
const CLAIMED: u64 = 2;

/// Removes `key`.
pub fn remove(key: u64) {
    for index in probe(key) {
        match REGISTRY.keys[index].load(Relaxed) {
            0 => return,
            found if found == key => {
                REGISTRY.keys[index].store(GONE, Release);
                return;
            }
            _ => {}
        }
    }
}

/// Whether a handler of ours runs on another thread than this one.
pub fn handles_elsewhere() -> bool {
    let own = thread_pointer();
    let keys = REGISTRY.keys.iter().enumerate();
    // Most of the table is untouched pages, which reading would allocate.
    let used = if BEYOND_FRONT.load(Relaxed) { REGISTRY.keys.len() } else { FRONT };
    keys.take(used).any(|(index, key)| {
        // ATOMICS: as in `find`.
        let key = key.load(Acquire);
        // SAFETY: threads are never freed.
        let thread = || unsafe { REGISTRY.threads[index].load(Relaxed).as_ref() };
        key > CLAIMED && key != own && thread().is_some_and(Thread::in_handler)
    })
}

/// Forgets every thread: a forked child starts over.
pub fn clear() {
    // Most of the table is zero pages that a look would make real.
    let used = if BEYOND_FRONT.load(Relaxed) { &REGISTRY.keys[..] } else { &REGISTRY.keys[..FRONT] };
    for key in used.iter().filter(|key| key.load(Relaxed) != 0) {
        key.store(0, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_threads_share_a_page_and_many_find_room() {
        let key = 0x7f12_3456_7740;
        assert!(probe(key).take(FRONT_TRIES).all(|index| index < FRONT));
        let mut reached = vec![false; CAPACITY];
        for index in probe(key) {
            reached[index] = true;
        }
        assert!(reached.into_iter().all(|reached| reached));
    }
}
