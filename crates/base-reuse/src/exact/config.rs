/// What an [`Exact`](super::Exact) counts.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Bytes of a place, powers of two up to [`Config::MAX_GRANULARITY`]; 1 means the very range that is accessed.
    /// Each costs its own time and memory.
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
    /// Private caches, by lines, everything followed, no pairs.
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
    /// At which of the granularities.
    pub granularity: u32,
    /// How many combinations of pair, kind and quarter of a doubling of the distance are told apart, per thread and scope.
    /// Of more, the rare ones are added up.
    pub capacity: usize,
    /// Stack distances below the power of two that this is, or is above, are added up whatever the pair: most reuses are
    /// nearer than any cache is small.
    pub nearest: u64,
}

/// Which places are followed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sampling {
    /// All: exact.
    All,
    /// This share of them, above 0 and up to 1: SHARDS at a fixed rate.
    Rate(f64),
    /// At most about so many, at least [`Sampling::FEWEST_PLACES`], over all threads (or domains) of one granularity: the
    /// rate falls as more are met. SHARDS of fixed size.
    Places(usize),
}

impl Sampling {
    /// Of fewer places than this no curve can be drawn.
    pub const FEWEST_PLACES: usize = 64;
}

/// A [`Config`] that makes no sense.
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
