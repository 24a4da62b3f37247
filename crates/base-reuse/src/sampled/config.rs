use carom_base::{Locality, Scope, ThreadId};

use super::clocks::Clocks;
use super::random::Random;
use crate::Domain;

/// The largest number of slots of a detector.
pub const MAX_SLOTS: usize = 64;

/// Debug registers of an x86-64 processor: the slots when they watch.
pub const REGISTERS: usize = 4;

/// How a detector works; the same for all threads of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// Which use is replaced when all slots are taken.
    pub replacement: Replacement,
    /// How often each kind of reuse is watched for.
    pub odds: Odds,
    /// What one watch can cover.
    pub reach: Reach,
}

impl Config {
    /// For how many samples, including its own, a use is not replaced ([`Replacement::Balanced`]).
    ///
    /// Most reuses come soon. With a part of the slots for uses on trial these are all found, and only uses that are
    /// still waiting then compete for the rest. Otherwise slots that are full of uses that wait for a long time, or
    /// forever, would exclude most others. Debug registers have no trials: every sample would change them in all
    /// threads.
    pub(super) fn trial(self, slots: usize) -> u64 {
        /// This fraction is on trial.
        const ONE_IN: usize = 4;
        match self.reach {
            Reach::Line => (slots / ONE_IN) as u64,
            Reach::Chunk => 0,
        }
    }
}

/// Which use is replaced when all slots are taken. The module's documentation says what difference it makes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Replacement {
    /// Algorithm 2 of the thesis to the letter: each slot in turn is replaced with probability 1 over the number of
    /// samples that it has been offered since it last found a reuse. Weights stay as sampled. A replaced use is a
    /// censored observation: it was not reused up to the distance that it had reached.
    Reservoir,
    /// The lightest uses are replaced, and their weight passes to those that stay (VarOpt: Cohen, Duffield, Kaplan,
    /// Lund and Thorup, "Stream sampling for variance-optimal estimation of subset sums", SODA 2009). A replaced use
    /// weighs nothing, and sums of weights over all others are unbiased for any program.
    #[default]
    Balanced,
}

/// What one watch can cover.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reach {
    /// A whole line: a filter in software.
    #[default]
    Line,
    /// 1, 2, 4 or 8 bytes at a multiple of their number: a debug register.
    Chunk,
}

/// Relative frequencies of the kinds of watch for sampled uses. A kind that is drawn rarely weighs more, so the odds
/// affect how precise each result is, but not its expectation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Odds {
    /// The same bytes, by the same thread.
    pub private_temporal: u16,
    /// The rest of the line, by the same thread.
    pub private_spatial: u16,
    /// Any bytes of the line, by the same thread: this determines a private cache's miss ratio.
    pub private_line: u16,
    /// The same bytes, by any thread that shares the cache.
    pub shared_temporal: u16,
    /// The rest of the line, by any thread that shares the cache.
    pub shared_spatial: u16,
    /// The line, by any thread that shares the cache.
    pub shared_line: u16,
}

impl Odds {
    /// All kinds equally.
    pub const ALL: Self = Self {
        private_temporal: 1,
        private_spatial: 1,
        private_line: 1,
        shared_temporal: 1,
        shared_spatial: 1,
        shared_line: 1,
    };

    /// Only reuses by the same thread.
    pub const PRIVATE: Self = Self { shared_temporal: 0, shared_spatial: 0, shared_line: 0, ..Self::ALL };

    /// None.
    pub const NONE: Self = Self {
        private_temporal: 0,
        private_spatial: 0,
        private_line: 0,
        shared_temporal: 0,
        shared_spatial: 0,
        shared_line: 0,
    };

    /// One of them, and how many uses it stands for. `None` if all odds are 0.
    pub(super) fn draw(self, random: &mut Random) -> Option<(Scope, Locality, f64)> {
        let all = [
            (self.private_temporal, Scope::Private, Locality::Temporal),
            (self.private_spatial, Scope::Private, Locality::Spatial),
            (self.private_line, Scope::Private, Locality::Line),
            (self.shared_temporal, Scope::Shared, Locality::Temporal),
            (self.shared_spatial, Scope::Shared, Locality::Spatial),
            (self.shared_line, Scope::Shared, Locality::Line),
        ];
        let total: u32 = all.iter().map(|(odds, ..)| u32::from(*odds)).sum();
        let mut ticket = random.below(total);
        for (odds, scope, locality) in all {
            let odds = u32::from(odds);
            if ticket < odds {
                return Some((scope, locality, f64::from(total) / f64::from(odds)));
            }
            ticket -= odds;
        }
        None
    }
}

impl Default for Odds {
    fn default() -> Self {
        Self::ALL
    }
}

/// What the embedder knows about its threads. Called in handlers.
pub trait Positions {
    /// The cache that a thread uses. It should stay the same while the thread lives, because how a thread watches a
    /// place depends on it.
    fn domain(&self, thread: ThreadId) -> Domain;

    /// The number of accesses of a thread; a read-modify-write is two. For the calling thread: those before the
    /// current access, exactly; for others as precisely as possible. On an engine that cannot count: the time in
    /// nanoseconds.
    fn of_thread(&self, thread: ThreadId) -> u64;

    /// The sum over the threads of a domain, including those that have ended.
    fn of_domain(&self, domain: Domain) -> u64;

    /// The state of the clocks for `thread` among the threads of `domain`. `None` where threads are not held, or
    /// nothing is known about it: then all accesses up to now count as those that would have been made.
    fn clocks(&self, _thread: ThreadId, _domain: Domain) -> Option<Clocks> {
        None
    }

    /// How long the calling thread had run since then when it was stopped. `None` where it was stopped before, or too
    /// long ago to be known.
    fn ran_since(&self, _at: u64) -> Option<u64> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1 : 2 : 0 : 5 of 8: weights 8, 4, none and 1.6, and the weights of what is drawn sum up to 1 per use and kind.
    #[test]
    fn what_is_drawn_rarely_weighs_more() {
        let odds = Odds { private_temporal: 1, private_spatial: 2, shared_line: 5, ..Odds::NONE };
        let mut random = Random::new(1);
        let mut sums = [[0.0; 3]; 2];
        const DRAWS: u32 = 80_000;
        for _ in 0..DRAWS {
            let (scope, locality, weight) = odds.draw(&mut random).unwrap();
            assert!([8.0, 4.0, 1.6].contains(&weight), "{weight}");
            sums[scope as usize][locality as usize] += weight / f64::from(DRAWS);
        }
        // The standard error of the rarest is sqrt(7 / 80,000), less than 0.01.
        for (sum, expected) in sums.iter().flatten().zip([1.0, 1.0, 0.0, 0.0, 0.0, 1.0]) {
            assert!((sum - expected).abs() < 0.04, "{sums:?}");
        }
    }

    #[test]
    fn without_odds_nothing_is_drawn() {
        assert_eq!(Odds::NONE.draw(&mut Random::new(1)), None);
    }
}
