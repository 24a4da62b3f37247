//! Whether fetching the neighbouring line would pay (thesis 6.5.7).

use carom_base::{DistanceKind, LINE_BYTES, ReuseKind, ReuseOutcome, Scope};

use super::{CurveScope, Prefetch, ReuseFindings, ReuseInput, at, weights::Weights};

/// G = Tm - Tfs: what memory would cost for the lines that the prefetcher would have brought, less what moving lines
/// between cores costs where threads share them falsely.
///
/// Rdram are spatial reuses by the same thread whose stack distance exceeds the last cache; Rfs are spatial reuses by
/// another thread, a write before them, with a time distance below the number of lines of the private cache: fewer
/// accesses cannot have evicted the line from it, so that it has to come from there.
///
/// `None` without latencies, without spatial events, or without a curve to convert distances by.
pub(super) fn prefetch(input: &dyn ReuseInput, findings: &ReuseFindings) -> Option<Prefetch> {
    let latencies = input.latencies()?;
    let last = findings.caches.iter().map(|cache| cache.bytes).max()?;
    let cut_off = findings.chosen_bytes / LINE_BYTES;
    let out_of_reach = shortest_miss(findings, last)?;
    let (mut events, mut memory, mut sharing) = (0, 0.0, 0.0);
    let weights = Weights::of(input);
    for event in input.events() {
        let (ReuseOutcome::Reused, Some(later)) = (event.outcome, event.later) else { continue };
        let told = event.locality == weights.tells_of_lines(event.scope);
        if !told || event.earlier.access.overlaps(later.access) {
            continue;
        }
        let weight = weights.accesses(&event);
        let kind = ReuseKind::of(event.earlier.access.kind, later.access.kind);
        let after_write = matches!(kind, ReuseKind::Raw | ReuseKind::Waw);
        let another = later.thread != event.earlier.thread;
        events += 1;
        match event.scope {
            Scope::Private if event.distance >= out_of_reach => memory += weight,
            Scope::Shared if another && after_write && event.distance < cut_off => sharing += weight,
            Scope::Private | Scope::Shared => {}
        }
    }
    let seconds = (memory * latencies.memory_ns - sharing * latencies.transfer_ns) / 1e9;
    (events > 0).then_some(Prefetch {
        gain_s: seconds,
        memory_reuses: memory,
        memory_ns: latencies.memory_ns,
        sharing_reuses: sharing,
        transfer_ns: latencies.transfer_ns,
        cut_off,
        last_cache_bytes: last,
        events,
    })
}

/// The shortest time distance at which a reuse misses a cache of this size, by the curve's own miss ratio: the part of
/// reuses that are longer is the part that misses.
fn shortest_miss(findings: &ReuseFindings, bytes: u64) -> Option<u64> {
    let stack = findings.main_curve(CurveScope::All)?;
    let time = findings.curves.iter().find(|curve| {
        let same = (curve.scope, curve.kind) == (stack.scope, stack.kind);
        same && curve.distance == DistanceKind::Time
    })?;
    let ratio = at(&stack.miss_ratio, bytes)?.value;
    let outcomes = time.outcomes;
    // Part of the reuses, longest first, that make up the misses beyond the compulsory ones.
    let mut missing = (ratio - outcomes.once - outcomes.invalidated) / outcomes.reused.max(f64::MIN_POSITIVE);
    let mut shortest = u64::MAX;
    for bin in time.histogram.iter().rev() {
        if missing < bin.fraction / 2.0 {
            break;
        }
        missing -= bin.fraction;
        shortest = bin.low;
    }
    Some(shortest)
}
