//! Whether another thread runs at the same time, as far as two threads can tell at negligible cost.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::padded::Padded;

/// A thread's part: from time to time it leaves a mark on a line of its own, and checks whether the other thread has
/// left one.
pub struct Company<'a> {
    own: &'a Padded<AtomicU64>,
    other: &'a Padded<AtomicU64>,
    /// The other thread's mark at the latest check.
    seen: u64,
    /// Whether that was new.
    lately: bool,
}

impl<'a> Company<'a> {
    /// Of the thread whose marks go to `own`.
    pub fn new(own: &'a Padded<AtomicU64>, other: &'a Padded<AtomicU64>) -> Self {
        Self { own, other, seen: other.load(Relaxed), lately: false }
    }

    /// Leaves a mark. Returns whether the other thread has left one since the check before the latest: not since the
    /// latest, because of two equally fast threads either may be the first to have left two.
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
        // The second does nothing more: the first finds its mark, and counts on it once more.
        assert_eq!([first.look(), first.look(), first.look()], [true, true, false]);
        // So does the second, for which the first has left three.
        assert_eq!([second.look(), second.look(), second.look()], [true, true, false]);
    }
}
