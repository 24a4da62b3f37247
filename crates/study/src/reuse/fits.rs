//! What would have to fit.

use carom_base::{LINE_BYTES, Scope};
use carom_study_stats::reuse::part_missing;

use super::{ByGeometry, Cache, Curve, CurveScope, Fit, Pair, ReuseFindings, sizes};

/// The misses of each thread and shared cache at the chosen size, and the size that would do. `narrow`: whether the bins of
/// histograms are narrow enough to model caches with sets.
pub(super) fn fits(findings: &ReuseFindings, narrow: bool) -> Vec<Fit> {
    let bytes = findings.chosen_bytes;
    let mut scopes: Vec<CurveScope> = findings.curves.iter().map(|curve| curve.scope).collect();
    scopes.sort_unstable();
    scopes.dedup();
    let fit = |scope: &CurveScope| {
        let curve = findings.main_curve(*scope)?;
        let worst = worst(findings, *scope);
        let fit = Fit {
            scope: *scope,
            cache_bytes: bytes,
            ratio: sizes::at(&curve.miss_ratio, bytes)?,
            compulsory: curve.outcomes.once + curve.outcomes.invalidated,
            enough_bytes: sizes::enough(&curve.miss_ratio, bytes),
            worst_pair: worst.map(|(index, _)| index),
            worst_share: worst.map_or(0.0, |(_, share)| share),
            by_geometry: if narrow { by_geometry(findings, curve) } else { Vec::new() },
        };
        Some((fit, curve.accesses))
    };
    let mut fits: Vec<(Fit, f64)> = scopes.iter().filter_map(fit).collect();
    // Misses by number: a thread that does little is no problem, however much of it misses.
    fits.sort_by(|a, b| {
        (b.0.ratio.value * b.1).total_cmp(&(a.0.ratio.value * a.1)).then(a.0.scope.cmp(&b.0.scope))
    });
    fits.into_iter().map(|(fit, _)| fit).collect()
}

/// What the machine's caches miss with their sets.
fn by_geometry(findings: &ReuseFindings, stack: &Curve) -> Vec<ByGeometry> {
    let of = |cache: &Cache| {
        let known = cache.ways > 0 && u64::from(cache.line_bytes) == LINE_BYTES;
        let sets = cache.bytes / LINE_BYTES / u64::from(cache.ways.max(1));
        let missing = |bin: &super::Bin| {
            let last = if bin.high == u64::MAX { bin.low } else { bin.high - 1 };
            bin.fraction * part_missing(bin.low.midpoint(last), sets, cache.ways)
        };
        let reuses: f64 = stack.histogram.iter().map(missing).sum();
        let outcomes = stack.outcomes;
        let ratio = outcomes.once + outcomes.invalidated + outcomes.reused * reuses;
        (known && sets > 0).then_some(ByGeometry { bytes: cache.bytes, ways: cache.ways, ratio })
    };
    findings.caches.iter().filter_map(of).collect()
}

/// The pair with most of the misses of a scope, and its share of them.
fn worst(findings: &ReuseFindings, scope: CurveScope) -> Option<(usize, f64)> {
    let share = |pair: &Pair| match scope {
        CurveScope::All => (pair.scope == Scope::Private).then_some(pair.share_of_misses),
        CurveScope::Thread(_) | CurveScope::Shared(_) => {
            let own = pair.share_by_cache.iter().find(|(cache, _)| *cache == scope);
            own.map(|(_, share)| *share)
        }
    };
    let shares =
        findings.pairs.iter().enumerate().rev().filter_map(|(index, pair)| Some((index, share(pair)?)));
    // Of equal ones the first, which has the larger share of all: the last to come here.
    shares.max_by(|a, b| a.1.total_cmp(&b.1)).filter(|(_, share)| *share > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reuse::{Bin, MissRatio, Outcomes, testing::stack_curve};

    /// Four lines in two sets of two. Of three lines in between, at least two fall into the same set for (3 + 1) of 8
    /// combinations, so that of 80% reuses half miss, and of 20% first accesses all: 60%. Fully associative, none of the
    /// reuses would.
    #[test]
    fn sets_miss_where_a_cache_without_them_does_not() {
        let curve = stack_curve(
            Outcomes { reused: 0.8, invalidated: 0.0, once: 0.2 },
            vec![Bin { low: 3, high: 4, fraction: 1.0, by_kind: [1.0, 0.0, 0.0, 0.0] }],
            vec![MissRatio { bytes: 4 * LINE_BYTES, ..MissRatio::default() }],
        );
        let cache =
            Cache { bytes: 4 * LINE_BYTES, line_bytes: LINE_BYTES as u32, ways: 2, ..Cache::default() };
        let unknown = Cache { ways: 0, ..cache };
        let mut findings = ReuseFindings {
            caches: vec![cache, unknown],
            chosen_bytes: cache.bytes,
            curves: vec![curve],
            ..ReuseFindings::default()
        };
        let found = &fits(&findings, true)[0].by_geometry;
        assert_eq!((found.len(), found[0].bytes, found[0].ways), (1, 4 * LINE_BYTES, 2));
        assert!((found[0].ratio - 0.6).abs() < 1e-12, "{found:?}");
        assert!(fits(&findings, false)[0].by_geometry.is_empty(), "the bins are too wide to tell");
        findings.caches.clear();
        assert!(fits(&findings, true)[0].by_geometry.is_empty());
    }
}
