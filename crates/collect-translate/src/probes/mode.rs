//! What translated code does beside running the program.

use crate::decode::block::Sums;

/// How the program is observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Nothing is translated: threads continue natively as soon as they leave the cache.
    Off,
    /// Translation alone, to measure its cost.
    Bare,
    /// Exact counts.
    Count,
    /// Exact counts, and every access of a kind is sampled with probability 1 / period. 0: none of that kind.
    Sample {
        /// Loads between two samples of loads, on average.
        loads: u64,
        /// Stores between two samples of stores, on average.
        stores: u64,
    },
    /// Exact counts, and the observer is handed every access ([`Observer::streamed`](crate::Observer::streamed)).
    Stream,
    /// As `Sample`, and every access is looked up in its thread's table of watched lines
    /// ([`Observer::touched`](crate::Observer::touched)).
    Watch {
        /// Loads between two samples of loads, on average; 0: none.
        loads: u64,
        /// Stores between two samples of stores, on average; 0: none.
        stores: u64,
    },
    /// As `Watch` during an episode ([`begin_episode`](crate::begin_episode)), otherwise as `Count`. Blocks have a translation
    /// for each ([`Version`]).
    Episodes {
        /// Loads between two samples of loads, on average; 0: none.
        loads: u64,
        /// Stores between two samples of stores, on average; 0: none.
        stores: u64,
    },
    /// Exact counts, and loads are timed individually, each with nothing overlapping it
    /// ([`Observer::timed`](crate::Observer::timed)). This includes only instructions that make one access, a load,
    /// and do not transfer control: not string instructions, gathers and masked moves, returns, pushes from memory.
    Time {
        /// Executions of a load between two that are timed, on average: each is timed with probability 1 / period. 1:
        /// all. 0: none.
        period: u64,
    },
    /// Exact counts, and the observer is handed every store and every load that `Time` would time, each load with its
    /// time ([`Observer::streamed`](crate::Observer::streamed)). Calls store a return address, which is left out.
    Trace {
        /// Whether loads are timed.
        loads: bool,
    },
}

/// Which translation of a block: in [`Mode::Episodes`] there are two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Version {
    /// The one to which jumps lead.
    #[default]
    Plain,
    /// The one that looks accesses up in [`Mode::Episodes`], to which the other one leads during an episode.
    Watching,
}

impl Mode {
    /// The sampling periods of loads and stores, where samples are taken.
    pub const fn periods(self) -> Option<[u64; 2]> {
        match self {
            Self::Sample { loads, stores }
            | Self::Watch { loads, stores }
            | Self::Episodes { loads, stores } => Some([loads, stores]),
            Self::Off | Self::Bare | Self::Count | Self::Stream | Self::Time { .. } | Self::Trace { .. } => {
                None
            }
        }
    }

    /// Whether some accesses are sampled.
    pub(crate) fn samples(self) -> bool {
        self.periods().is_some_and(|periods| periods != [0, 0])
    }

    /// The periods of loads and stores with which a counter of units like these counts down, if it does.
    pub(crate) fn countdown(self, unit: &Sums) -> Option<[u64; 2]> {
        match self {
            // All loads of an execution are timed, so executions are drawn.
            Self::Time { period } => Some([period.saturating_mul(u64::from(unit.loads)), 0]),
            _ => self.periods(),
        }
    }

    /// The mode for instructions that are not in the filter.
    pub(crate) const fn elsewhere(self) -> Self {
        match self {
            Self::Sample { .. } | Self::Stream | Self::Time { .. } => Self::Count,
            Self::Watch { .. } => Self::Watch { loads: 0, stores: 0 },
            Self::Episodes { .. } => Self::Episodes { loads: 0, stores: 0 },
            Self::Trace { .. } => Self::Trace { loads: false },
            Self::Off | Self::Bare | Self::Count => self,
        }
    }

    /// Whether added code may be many times as long as the program's.
    pub(crate) const fn adds_much(self) -> bool {
        self.sees_every_access() || matches!(self, Self::Time { .. } | Self::Episodes { .. })
    }

    /// The mode of this version of a block.
    pub(crate) const fn of(self, version: Version) -> Self {
        match (self, version) {
            (Self::Episodes { .. }, Version::Plain) => Self::Count,
            (Self::Episodes { loads, stores }, Version::Watching) => Self::Watch { loads, stores },
            _ => self,
        }
    }

    /// Whether accesses are looked up in tables, at all times or at some.
    pub const fn looks_up(self) -> bool {
        matches!(self, Self::Watch { .. } | Self::Episodes { .. })
    }

    /// Whether each access has code of its own in front of it.
    pub const fn sees_every_access(self) -> bool {
        self.streams() || matches!(self, Self::Watch { .. })
    }

    /// Whether accesses are recorded in the order in which they happen.
    pub const fn streams(self) -> bool {
        matches!(self, Self::Stream | Self::Trace { .. })
    }
}
