//! Whether another thread runs at the same time, as far as two threads can tell each other at no cost to speak of.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::padded::Padded;

/// A thread's part: now and then it leaves a mark on a line of its own, and looks whether the other has.
pub struct Company<'a> {
    own: &'a Padded<AtomicU64>,
    other: &'a Padded<AtomicU64>,
    /// What the other had left at the latest look.
    seen: u64,
    /// Whether that was news.
    lately: bool,
}

impl<'a> Company<'a> {
    /// Of the thread whose marks go to `own`.
    pub fn new(own: &'a Padded<AtomicU64>, other: &'a Padded<AtomicU64>) -> Self {
        Self { own, other, seen: other.load(Relaxed), lately: false }
    }

    /// Leaves a mark. Whether the other thread has left one since the look before the latest: not since the latest, because
    /// of two threads that are as fast as each other either may be the first to have left two.
    pub fn look(&mut self) -> bool {
        self.own.fetch_add(1, Relaxed);
        let found = self.other.load(Relaxed);
        let news = found != self.seen;
        let together = news || self.lately;
        (self.seen, self.lately) = (found, news);
        together
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_one_mark_behind_is_still_there() {
        let marks = [const { Padded(AtomicU64::new(0)) }; 2];
        let [mut first, mut second] =
            [Company::new(&marks[0], &marks[1]), Company::new(&marks[1], &marks[0])];
        assert!(!first.look());
        assert!(second.look());
        // The second does nothing more: the first finds its mark, and then believes in it once more.
        assert_eq!([first.look(), first.look(), first.look()], [true, true, false]);
        // And so does the second, whom the first has left three.
        assert_eq!([second.look(), second.look(), second.look()], [true, true, false]);
    }
}
