//! What misses cost, by usual latencies.

use carom_base_sim::Counts;

/// Cycles from L2, from L3 and from memory beyond those from L1 (Intel 64 and IA-32 Architectures Optimization Reference
/// Manual, parameters of the caches of Skylake Server: 14, and 50 to 70; memory: 70 to 100 ns).
const L2: f64 = 10.0;
const L3: f64 = 56.0;
const MEMORY: f64 = 246.0;

/// Cycles from another core of the socket that has written the line, and for the right to write: a little more than L3, which
/// asks that core.
const CORE: f64 = 100.0;

/// Cycles from another socket.
const REMOTE: f64 = 300.0;

/// Cycles that accesses of these counts wait beyond L1's latency, by these latencies, if nothing overlaps.
pub(super) fn cycles(counts: &Counts) -> f64 {
    let sources = counts.sources;
    let beyond = sources.core + sources.l3 + sources.remote + sources.memory;
    let of = |number: u64, cycles: f64| number as f64 * cycles;
    of(counts.l1.total().saturating_sub(beyond), L2)
        + of(sources.core + counts.upgrades, CORE)
        + of(sources.l3, L3)
        + of(sources.remote, REMOTE)
        + of(sources.memory, MEMORY)
}

/// The part of them that is for lines which other cores have written, or have copies of.
pub(super) fn coherence_cycles(counts: &Counts, has_l2: bool) -> f64 {
    let sources = counts.sources;
    let core_misses = if has_l2 { counts.l2 } else { counts.l1 };
    // A coherence miss is mostly served by the core that took the line.
    let from_cores = core_misses.coherence.min(sources.core);
    let from_remote = (core_misses.coherence - from_cores).min(sources.remote);
    let elsewhere = core_misses.coherence - from_cores - from_remote;
    from_cores as f64 * CORE
        + from_remote as f64 * REMOTE
        + elsewhere as f64 * L3
        + counts.upgrades as f64 * CORE
}
