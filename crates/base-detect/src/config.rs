/// The number of debug registers of an x86-64 processor.
pub const MAX_WATCHPOINTS: usize = 4;

/// Which published write a sample examines. The crate's documentation says what difference it makes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scheme {
    /// Algorithm 1 of the paper to the letter.
    ///
    /// A store is published only where its slot is free or expired. A sample is looked up among all entries of the
    /// board. Where that finds nothing new, and the watchpoints are old, one of the recent entries is watched, each
    /// *line* with equal probability.
    Paper,
    /// Every sample examines one write: the latest that another thread has published since this thread's previous
    /// sample. If that is on the sampled line, it is an event; otherwise its line is watched.
    ///
    /// Every store sample is published, in place of the entry in its slot. So the examined writes are an unbiased
    /// sample of the other threads' stores, independent of this thread's accesses. And each is examined completely:
    /// it counts exactly once if this thread then touches its line.
    ///
    /// Without watchpoints only half of that is possible, and the paper's rules are better: they are used then.
    #[default]
    Balanced,
}

/// What a thread can watch at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watch {
    /// Nothing: only look-ups find sharing.
    Nothing,
    /// This many chunks of one line, by debug registers. More than [`MAX_WATCHPOINTS`] count as that many, 0 as
    /// nothing.
    Chunks(u8),
    /// All bytes of one line, by code that looks up each of its accesses.
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
