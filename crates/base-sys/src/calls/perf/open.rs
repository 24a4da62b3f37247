//! The open events of all threads of this process.

use std::{
    os::fd::RawFd,
    sync::atomic::{AtomicI32, AtomicU64, Ordering::Relaxed},
};

/// How an event is kept open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    Descriptor(RawFd),
    Page(u64),
}

impl Hold {
    /// Not 0. Pages are aligned, so that they are even.
    const fn word(self) -> u64 {
        match self {
            Self::Descriptor(fd) => (fd as u64) << 1 | 1,
            Self::Page(page) => page,
        }
    }

    const fn of(word: u64) -> Self {
        if word & 1 == 1 { Self::Descriptor((word >> 1) as RawFd) } else { Self::Page(word) }
    }
}

/// Further events are not remembered.
const MOST: usize = 1 << 13;

/// 0 in free entries.
static OPEN: [AtomicU64; MOST] = [const { AtomicU64::new(0) }; MOST];

/// The process that opened them: a child of a fork has none of its parent's pages.
static OPENER: AtomicI32 = AtomicI32::new(0);

fn process() -> i32 {
    // SAFETY: no arguments.
    unsafe { libc::getpid() }
}

/// Adds an event that was opened.
pub fn add(hold: Hold) {
    let this = process();
    if OPENER.swap(this, Relaxed) != this {
        // Most of it was never touched.
        OPEN.iter().filter(|place| place.load(Relaxed) != 0).for_each(|place| place.store(0, Relaxed));
    }
    let free = |place: &&AtomicU64| place.compare_exchange(0, hold.word(), Relaxed, Relaxed).is_ok();
    let _found = OPEN.iter().find(free);
}

/// Removes an event that was closed.
pub fn remove(hold: Hold) {
    if let Some(place) = OPEN.iter().find(|place| place.load(Relaxed) == hold.word()) {
        place.store(0, Relaxed);
    }
}

/// Removes and visits all of them.
pub fn each(mut visit: impl FnMut(Hold)) {
    if OPENER.load(Relaxed) != process() {
        return;
    }
    for place in &OPEN {
        let word = place.swap(0, Relaxed);
        if word != 0 {
            visit(Hold::of(word));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_tells_what_it_stands_for() {
        for hold in [Hold::Descriptor(0), Hold::Descriptor(4096), Hold::Page(0x7fff_0000_1000)] {
            assert_eq!(Hold::of(hold.word()), hold);
        }
    }
}
