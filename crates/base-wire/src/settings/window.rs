/// When a program is observed: from one instant to another, in nanoseconds of CLOCK_MONOTONIC; once, or again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The first instant.
    pub opens_ns: u64,
    /// The first instant after it.
    pub closes_ns: u64,
    /// From one opening to the next; 0: there is no other.
    pub every_ns: u64,
    /// The program itself opens and closes it, instead.
    pub marked: bool,
}

impl Window {
    /// The whole run.
    pub const ALWAYS: Self = Self { opens_ns: 0, closes_ns: u64::MAX, every_ns: 0, marked: false };

    /// How often it has opened and closed by an instant: it is open where that is odd.
    pub const fn changes(&self, now_ns: u64) -> u64 {
        let Some(since) = now_ns.checked_sub(self.opens_ns) else { return 0 };
        let length = self.closes_ns.saturating_sub(self.opens_ns);
        let (before, at) = match since.checked_div(self.every_ns) {
            None => (0, since),
            Some(round) => (2 * round, since % self.every_ns),
        };
        before + if at < length { 1 } else { 2 }
    }

    /// Whether it is open after so many changes.
    pub const fn is_open_after(changes: u64) -> bool {
        changes % 2 == 1
    }

    /// Whether it is open at an instant.
    pub const fn is_open(&self, now_ns: u64) -> bool {
        Self::is_open_after(self.changes(now_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_has_its_first_instant_and_not_its_last() {
        let window = Window { opens_ns: 10, closes_ns: 12, every_ns: 0, marked: false };
        assert_eq!([9, 10, 11, 12, 99].map(|now| window.changes(now)), [0, 1, 1, 2, 2]);
        assert_eq!([9, 10, 11, 12, 99].map(|now| window.is_open(now)), [false, true, true, false, false]);
        assert!(Window::ALWAYS.is_open(0) && Window::ALWAYS.is_open(u64::MAX - 1));
    }

    #[test]
    fn a_window_comes_again() {
        let window = Window { opens_ns: 10, closes_ns: 12, every_ns: 5, marked: false };
        assert_eq!([9, 10, 12, 14, 15, 16, 17, 20].map(|now| window.changes(now)), [0, 1, 2, 2, 3, 3, 4, 5]);
    }
}
