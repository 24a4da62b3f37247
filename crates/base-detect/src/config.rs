/// Debug registers of an x86-64 processor.
pub const MAX_WATCHPOINTS: usize = 4;

/// Which published write a sample examines. See the crate's documentation for what the difference is worth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scheme {
    /// Algorithm 1 of the paper to the letter.
    ///
    /// A store is published only where its slot is free or expired; a sample is looked up against whatever
    /// is on the board; where that finds nothing new, and the watchpoints are old, one of the recent
    /// entries is watched, each *line* with equal probability.
    Paper,
    /// Every sample examines one write: the latest that another thread has published since this thread's
    /// previous sample. Is it on the sampled line, that is an event; else its line is watched.
    ///
    /// Every store sample is published, in place of what was in its slot. So the examined writes are an
    /// unbiased sample of the other threads' stores, whatever this thread does; and each is examined
    /// completely: it counts once where this thread goes on to touch its line, and not otherwise.
    ///
    /// Without watchpoints only half of that can be done, and the paper's rules are the better ones: they
    /// are followed then.
    #[default]
    Balanced,
}

/// What a thread can watch at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watch {
    /// Nothing: look-ups alone serve.
    Nothing,
    /// So many chunks of one line by debug registers, up to [`MAX_WATCHPOINTS`]; more count as that, 0 as nothing.
    Chunks(u8),
    /// All bytes of one line, by code that looks each of its accesses up.
    Line,
}

impl Watch {
    /// Whether anything can be watched.
    pub const fn is_possible(self) -> bool {
        !matches!(self, Self::Nothing | Self::Chunks(0))
    }
}

/// How a detector works; the same for all threads of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// What this thread can watch.
    pub watch: Watch,
    /// The rules.
    pub scheme: Scheme,
}

impl Default for Config {
    fn default() -> Self {
        Self { watch: Watch::Chunks(MAX_WATCHPOINTS as u8), scheme: Scheme::default() }
    }
}
