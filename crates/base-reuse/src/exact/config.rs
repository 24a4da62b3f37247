/// What an [`Exact`](super::Exact) counts.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Sizes of a place in bytes, powers of two up to [`Config::MAX_GRANULARITY`]; 1 means exactly the range that is
    /// accessed. Each costs its own time and memory.
    pub granularities: Vec<u32>,
    /// Count [`Scope::Private`](carom_base::Scope::Private).
    pub private: bool,
    /// Count [`Scope::Shared`](carom_base::Scope::Shared).
    pub shared: bool,
    /// Count by pairs of instructions too.
    pub pairs: Option<Pairs>,
    /// Which places are followed.
    pub sampling: Sampling,
}

impl Config {
    /// The largest granularity.
    pub const MAX_GRANULARITY: u32 = carom_base::LARGEST_PLACE_BYTES;

    /// The granularities in order, each once.
    pub(super) fn all_granularities(&self) -> Vec<u32> {
        let mut granularities = self.granularities.clone();
        granularities.sort_unstable();
        granularities.dedup();
        granularities
    }

    pub(super) fn check(&self) -> Result<(), ConfigError> {
        if let Some(&bytes) = self
            .granularities
            .iter()
            .find(|bytes| !bytes.is_power_of_two() || **bytes > Self::MAX_GRANULARITY)
        {
            return Err(ConfigError::Granularity(bytes));
        }
        if let Some(pairs) = self.pairs.filter(|pairs| !self.granularities.contains(&pairs.granularity)) {
            return Err(ConfigError::PairsGranularity(pairs.granularity));
        }
        match self.sampling {
            Sampling::Rate(rate) if !(rate > 0.0 && rate <= 1.0) => Err(ConfigError::Rate(rate)),
            Sampling::Places(count) if count < Sampling::FEWEST_PLACES => Err(ConfigError::Places(count)),
            _ => Ok(()),
        }
    }
}

impl Default for Config {
    /// Private caches, by lines, all places followed, no pairs.
    fn default() -> Self {
        Self {
            granularities: vec![carom_base::LINE_BYTES as u32],
            private: true,
            shared: false,
            pairs: None,
            sampling: Sampling::All,
        }
    }
}

/// Counting by pairs of instructions: use and reuse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pairs {
    /// One of the granularities.
    pub granularity: u32,
    /// How many combinations of pair, kind and quarter of a doubling of the distance are distinguished, per thread
    /// and scope. Beyond that, the rare ones are added up.
    pub capacity: usize,
    /// Stack distances below this (rounded down to a power of two) are added up for all pairs: most reuses are nearer
    /// than the smallest cache is large.
    pub nearest: u64,
}

impl Pairs {
    /// `nearest`, rounded down to a power of two.
    pub(super) fn nearest_power(&self) -> u64 {
        self.nearest.checked_ilog2().map_or(0, |bit| 1 << bit)
    }
}

/// Which places are followed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sampling {
    /// All: exact.
    All,
    /// This fraction of them, above 0 and up to 1: SHARDS at a fixed rate.
    Rate(f64),
    /// At most about this many, at least [`Sampling::FEWEST_PLACES`], over all threads (or domains) of one
    /// granularity: the rate decreases as more places are accessed. SHARDS of fixed size.
    Places(usize),
}

impl Sampling {
    /// Fewer places than this give no curve.
    pub const FEWEST_PLACES: usize = 64;
}

/// An invalid [`Config`].
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// Not a power of two, or too large.
    #[error("a granularity of {0} bytes: not a power of two up to {max}", max = Config::MAX_GRANULARITY)]
    Granularity(u32),
    /// Pairs at a granularity that is not counted.
    #[error("pairs at a granularity of {0} bytes, which is not among those that are counted")]
    PairsGranularity(u32),
    /// Out of range.
    #[error("a sampling rate of {0}: not above 0 and up to 1")]
    Rate(f64),
    /// Too few.
    #[error("sampling of {0} places: fewer than {min}", min = Sampling::FEWEST_PLACES)]
    Places(usize),
}
