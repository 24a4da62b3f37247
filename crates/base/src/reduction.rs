//! Traces that keep only some of a program's accesses.

/// Which accesses a reduced trace keeps (Marathe, Mueller and de Supinski, "Analysis of Cache Coherence Bottlenecks with
/// Hybrid Hardware/Software Techniques", section 3).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reduction {
    /// Loads that take no longer than this are left out: ticks of the time-stamp counter, without those that timing costs.
    pub latency: u32,
    /// What is kept of the rest.
    pub keep: Keep,
}

/// What is kept of long loads and of stores.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Keep {
    /// One in `sample` of both together (section 3.1).
    Lossy {
        /// 1: all of them.
        sample: u32,
        /// Only those that the paper's hardware would track.
        itanium: bool,
    },
    /// All long loads, and each store with the probability `stores` (section 3.2).
    Targeted {
        /// From 0 to 1.
        stores: f64,
    },
    /// Long loads alone: they name the instructions that a targeted trace looks at.
    Loads,
}
