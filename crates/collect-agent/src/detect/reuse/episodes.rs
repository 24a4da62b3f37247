//! When translated code looks its accesses up: always at first, later in episodes.
//!
//! Looking accesses up takes several times as long as the accesses. But which part of all uses is reused after so many accesses
//! can be told from uses in some parts of the run, if each is followed for long enough (bursty tracing: Hirzel and Chilimbi,
//! FDDO 2001). So accesses are looked up in one of ten. An episode has two halves of equal length: uses that are sampled in the
//! first one are followed to the end of the second. Those that have not ended by then are censored, after a distance that does
//! not depend on what they would have become.
//!
//! Episodes begin at equal distances from a random start, so each access has the same probability to lie in a first half. Lengths
//! are in accesses, by what samples stand for in episodes and by counts between them, and for each thread that can run at once: so that a thread that shares the process
//! with others is followed for as long as one that is alone.

use std::sync::atomic::{
    AtomicU8, AtomicU64,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};

/// Accesses that are looked up at the beginning of a process, in periods of the session; 40 million with the default period. Many
/// processes make no more, and are seen completely.
const FIRST: u64 = 6400;

/// The same from one episode to the next: 200 million.
const EVERY: u64 = 32_000;

/// The same in each half of an episode: 10 million. They cover all caches: a thread that touches a line with each eighth of 10
/// million accesses goes through 76 MiB.
const HALF: u64 = 1600;

/// The number of episodes in which all uses are sampled that fit.
const FULL: u64 = 16;

/// The part of the run in which a process is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Part {
    /// At its beginning, where all accesses are looked up.
    Beginning,
    /// Between two episodes.
    Between,
    /// In the first half of an episode, in which uses are sampled.
    Sampled,
    /// In the second half, in which uses are followed.
    Followed,
}

impl Part {
    const ALL: [Self; 4] = [Self::Beginning, Self::Between, Self::Sampled, Self::Followed];

    const fn next(self) -> Self {
        match self {
            Self::Beginning | Self::Followed => Self::Between,
            Self::Between => Self::Sampled,
            Self::Sampled => Self::Followed,
        }
    }

    /// How many uses one stands for that is sampled in this part, in units of those of the session's period; `None` where none is
    /// sampled.
    pub const fn weight(self) -> Option<f32> {
        match self {
            Self::Beginning => Some(1.0),
            Self::Sampled => Some((EVERY / HALF) as f32),
            Self::Between | Self::Followed => None,
        }
    }

    /// How often the session's period is doubled. In a first half, a twentieth of all accesses, uses are sampled 16 times as often
    /// as at the beginning. In a second half the period must not be longer: a stratum that began there would last into the next
    /// first half.
    pub const fn doublings(self) -> u8 {
        match self {
            Self::Beginning => 4,
            Self::Between | Self::Sampled | Self::Followed => 0,
        }
    }
}

/// How far a process is.
#[derive(Debug)]
pub struct Episodes {
    period: u64,
    part: AtomicU8,
    /// Accesses so far, those at the end of the part, and those at which the next episode is to begin.
    made: AtomicU64,
    end: AtomicU64,
    begin: AtomicU64,
}

/// The end of a part is being decided on.
const UNDECIDED: u64 = u64::MAX;

impl Episodes {
    /// At the beginning of a process. `random`: any number.
    pub const fn new(period: u64, random: u64) -> Self {
        let first = FIRST.saturating_mul(period);
        Self {
            period,
            part: AtomicU8::new(Part::Beginning as u8),
            made: AtomicU64::new(0),
            end: AtomicU64::new(first),
            begin: AtomicU64::new(first.saturating_add(random % EVERY.saturating_mul(period))),
        }
    }

    /// In the child of a process that is past its beginning.
    pub const fn between(period: u64, random: u64) -> Self {
        let begin = random % EVERY.saturating_mul(period);
        Self {
            part: AtomicU8::new(Part::Between as u8),
            end: AtomicU64::new(begin),
            begin: AtomicU64::new(begin),
            ..Self::new(period, random)
        }
    }

    /// The part.
    pub fn part(&self) -> Part {
        Part::ALL.get(usize::from(self.part.load(Acquire))).copied().unwrap_or(Part::Between)
    }

    /// How often the periods of this part are doubled: in later episodes once for each doubling of their number, so that a long run
    /// has not so many uses that a report on them takes as long as the run.
    pub fn doublings(&self, part: Part) -> u8 {
        let episodes = self.begin.load(Relaxed) / EVERY.saturating_mul(self.period);
        let later = match part {
            Part::Beginning => 0,
            _ => (episodes / FULL).checked_ilog2().map_or(0, |doublings| doublings + 1),
        };
        part.doublings().saturating_add(later as u8)
    }

    /// `accesses` were made in a process in which this many threads can run at once. Returns the part that ends with them and the
    /// one that begins, which the caller is to bring about.
    pub fn pass(&self, accesses: u64, threads: u64) -> Option<(Part, Part)> {
        let more = accesses / threads.max(1);
        let made = self.made.fetch_add(more, Relaxed).saturating_add(more);
        let end = self.end.load(Acquire);
        if made < end {
            return None;
        }
        // Of several threads one goes on.
        self.end.compare_exchange(end, UNDECIDED, AcqRel, Relaxed).ok()?;
        let part = self.part();
        let next = part.next();
        if part == Part::Between {
            // They keep their distance, however late one is noticed to be due.
            self.begin.fetch_add(EVERY.saturating_mul(self.period), Relaxed);
        }
        let end = match next {
            Part::Between => self.begin.load(Relaxed),
            _ => made.saturating_add(HALF.saturating_mul(self.period)),
        };
        self.part.store(next as u8, Release);
        self.end.store(end, Release);
        Some((part, next))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD: u64 = 6250;
    const STEP: u64 = 1_000_000;
    const CYCLE: u64 = EVERY * PERIOD;

    /// Steps of a million accesses: where uses are sampled, and what those stand for together.
    fn sampled(random: u64, length: u64) -> (f64, Vec<u64>) {
        let (episodes, mut weight, mut begun) = (Episodes::new(PERIOD, random), 0.0, Vec::new());
        for at in (0..length).step_by(STEP as usize) {
            weight += f64::from(episodes.part().weight().unwrap_or(0.0)) * STEP as f64;
            if let Some((_, Part::Sampled)) = episodes.pass(STEP, 1) {
                begun.push(at + STEP);
            }
        }
        (weight, begun)
    }

    /// Over all places at which the first episode may begin, each access has the same chance.
    #[test]
    fn uses_stand_for_all_accesses() {
        let length = FIRST * PERIOD + 5 * CYCLE;
        let runs: Vec<f64> = (0..CYCLE).step_by(5_000_000).map(|random| sampled(random, length).0).collect();
        let mean = runs.iter().sum::<f64>() / runs.len() as f64;
        assert!((mean / length as f64 - 1.0).abs() < 0.02, "{mean} of {length}");
    }

    #[test]
    fn later_episodes_have_fewer_uses() {
        let of = |episodes: u64| Episodes::between(PERIOD, 0).at(episodes).doublings(Part::Sampled);
        assert_eq!([0, 15, 16, 31, 32, 64, 200].map(of), [0, 0, 1, 1, 2, 3, 4]);
        assert_eq!(Episodes::new(PERIOD, 0).at(100).doublings(Part::Beginning), 4);
    }

    impl Episodes {
        fn at(self, episodes: u64) -> Self {
            self.begin.store(episodes * CYCLE, Relaxed);
            self
        }
    }

    #[test]
    fn episodes_keep_their_distance() {
        let (_, begun) = sampled(7_000_000, FIRST * PERIOD + 3 * CYCLE);
        assert_eq!(begun, [47_000_000, 247_000_000, 447_000_000]);
    }

    /// The timer comes late: the halves are as long as ever, and the next episode begins where it would have.
    #[test]
    fn a_late_beginning_delays_nothing_else() {
        let episodes = Episodes::between(PERIOD, 50_000_000);
        assert_eq!(episodes.pass(58_000_000, 1), Some((Part::Between, Part::Sampled)));
        assert_eq!(episodes.pass(9_000_000, 1), None);
        assert_eq!(episodes.pass(1_000_000, 1), Some((Part::Sampled, Part::Followed)));
        assert_eq!(episodes.pass(10_000_000, 1), Some((Part::Followed, Part::Between)));
        assert_eq!(episodes.pass(171_000_000, 1), None);
        assert_eq!(episodes.pass(1_000_000, 1), Some((Part::Between, Part::Sampled)));
    }

    /// Two threads that make a million accesses at a time are as far as one after half as many.
    #[test]
    fn lengths_are_for_each_thread() {
        let episodes = Episodes::new(PERIOD, 0);
        let changes = (1..).find(|_| episodes.pass(STEP, 2).is_some());
        assert_eq!(changes, Some(2 * FIRST * PERIOD / STEP));
        assert_eq!(episodes.part(), Part::Between);
    }
}
