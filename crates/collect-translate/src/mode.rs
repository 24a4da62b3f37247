//! What translated code does beside running.

/// How much the program is observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Nothing is translated: threads go on natively as soon as they leave the cache.
    Off,
    /// Translation alone, to see what it costs.
    Bare,
    /// Exact counts.
    Count,
    /// Exact counts, and every access of a kind is sampled with probability 1 / period. 0: none of that kind. Not sampled,
    /// but counted, are the lanes of gathers, scatters and masked moves.
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
}

impl Mode {
    /// The sampling periods of loads and stores, where samples are taken.
    pub const fn periods(self) -> Option<[u64; 2]> {
        match self {
            Self::Sample { loads, stores } | Self::Watch { loads, stores } => Some([loads, stores]),
            Self::Off | Self::Bare | Self::Count | Self::Stream => None,
        }
    }

    /// Whether each access has code of its own in front of it.
    pub const fn sees_every_access(self) -> bool {
        matches!(self, Self::Stream | Self::Watch { .. })
    }
}
