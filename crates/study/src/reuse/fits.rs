//! What would have to fit.

use carom_base::Scope;

use super::{CurveScope, Fit, Pair, ReuseFindings, sizes};

/// Whoever misses at the chosen size, and what would do.
pub(super) fn fits(findings: &ReuseFindings) -> Vec<Fit> {
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

/// The pair with most of the misses of a scope, and its share of them.
fn worst(findings: &ReuseFindings, scope: CurveScope) -> Option<(usize, f64)> {
    let share = |pair: &Pair| match (scope, pair.scope) {
        (CurveScope::All, Scope::Private) | (CurveScope::Shared(_), Scope::Shared) => {
            Some(pair.share_of_misses)
        }
        (CurveScope::Thread(thread), Scope::Private) => {
            let index = pair.threads.iter().position(|each| *each == thread)?;
            pair.share_of_thread_misses.get(index).copied()
        }
        _ => None,
    };
    let shares =
        findings.pairs.iter().enumerate().rev().filter_map(|(index, pair)| Some((index, share(pair)?)));
    // Of equal ones the first, which has the larger share of all: the last to come here.
    shares.max_by(|a, b| a.1.total_cmp(&b.1)).filter(|(_, share)| *share > 0.0)
}
