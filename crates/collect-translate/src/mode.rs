//! What translated code does beside running.

/// How much the program is observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
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
}
