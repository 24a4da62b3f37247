/// When a program is observed: from one instant to another, in nanoseconds of CLOCK_MONOTONIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The first instant.
    pub opens_ns: u64,
    /// The first instant after it.
    pub closes_ns: u64,
}

/// Before, in or after a window; in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// It will open.
    Before,
    /// It is open.
    Open,
    /// It was open.
    Behind,
}

impl Window {
    /// The whole run.
    pub const ALWAYS: Self = Self { opens_ns: 0, closes_ns: u64::MAX };

    /// The phase of an instant.
    pub const fn phase(&self, now_ns: u64) -> Phase {
        if now_ns < self.opens_ns {
            Phase::Before
        } else if now_ns < self.closes_ns {
            Phase::Open
        } else {
            Phase::Behind
        }
    }

    /// Whether it is open at an instant.
    pub const fn is_open(&self, now_ns: u64) -> bool {
        matches!(self.phase(now_ns), Phase::Open)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_has_its_first_instant_and_not_its_last() {
        let window = Window { opens_ns: 10, closes_ns: 12 };
        let phases = [9, 10, 11, 12].map(|now| window.phase(now));
        assert_eq!(phases, [Phase::Before, Phase::Open, Phase::Open, Phase::Behind]);
        assert!(Window::ALWAYS.is_open(0) && Window::ALWAYS.is_open(u64::MAX - 1));
    }
}
