//! How far apart the uses of data are, and what caches would miss.

mod curve;
mod fits;
mod histogram;
mod pairs;
mod sharing;
mod trust;

use super::verdict;
use crate::{
    model::{Reuse, ReuseBasis, ReuseCurve, ReuseDistance, ReuseScope, ReusedBy},
    text::{Options, page::Page},
    words::{self, ThreadNames},
};

pub use trust::{in_brief, measured};

/// Curves, histograms, what would have to fit, and the pairs.
pub fn print(page: &mut Page, reuse: &Reuse, names: &ThreadNames, options: &Options) {
    if reuse.not_enough.is_some() {
        return;
    }
    let main = main_curve(reuse, ReuseScope::All);
    if let Some(curve) = main {
        curve::print(page, reuse, curve);
    }
    fits::print(page, reuse, names, options);
    let histograms = main.or_else(|| times(reuse)).into_iter().chain(shared(reuse));
    for curve in histograms.filter(|_| options.verbose || main.is_none()) {
        histogram::print(page, reuse, curve);
    }
    pairs::print(page, reuse, names, options);
    sharing::print(page, reuse, names);
}

/// `misses: 12% at 32 KiB of private L1, 3.1% at 1 MiB of private L2`, by the curve of all threads.
pub fn summary(reuse: &Reuse) -> Vec<String> {
    let Some(curve) = main_curve(reuse, ReuseScope::All).filter(|_| reuse.not_enough.is_none()) else {
        return Vec::new();
    };
    let mut sizes: Vec<u64> = reuse.caches.iter().map(|cache| cache.bytes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let at = |bytes: u64| {
        let ratio = words::percent(curve::ratio(&curve.miss_ratio, bytes));
        format!("{ratio} at {}", verdict::cache(reuse, bytes))
    };
    let all: Vec<String> = sizes.into_iter().map(at).collect();
    if all.is_empty() { Vec::new() } else { vec![format!("misses: {}", all.join(", "))] }
}

/// The curve from which miss ratios are read: an exact one before a modelled one.
fn main_curve(reuse: &Reuse, scope: ReuseScope) -> Option<&ReuseCurve> {
    let mine = |curve: &&ReuseCurve| curve.scope == scope && verdict::is_main(curve);
    reuse.curves.iter().filter(mine).min_by_key(|curve| curve.basis != ReuseBasis::Exact)
}

/// Time distances of all threads, where there are no others.
fn times(reuse: &Reuse) -> Option<&ReuseCurve> {
    let time = |curve: &&ReuseCurve| curve.scope == ReuseScope::All && curve.distance == ReuseDistance::Time;
    reuse.curves.iter().filter(time).max_by_key(|curve| curve.observations)
}

/// Reuses by other threads, as definition 6.2.3 of the thesis has them, by stack distance where that is known.
fn shared(reuse: &Reuse) -> Option<&ReuseCurve> {
    let by_others = |curve: &&ReuseCurve| {
        curve.reused_by == ReusedBy::OtherThread
            && !curve.histogram.is_empty()
            && curve.granularity_bytes == 64
    };
    reuse
        .curves
        .iter()
        .filter(by_others)
        .max_by_key(|curve| (curve.distance == ReuseDistance::Stack, curve.observations))
}

/// `all threads`, `worker-1`, `L3, all threads together`.
fn whose(
    reuse: &Reuse,
    (scope, thread, domain): (ReuseScope, Option<u32>, Option<u32>),
    names: &ThreadNames,
) -> String {
    match scope {
        ReuseScope::All => "all threads".into(),
        ReuseScope::Thread => names.get(thread.unwrap_or(0)).into_owned(),
        ReuseScope::Shared => verdict::shared_cache(reuse, domain),
    }
}

/// `exact`, `modelled by StatStack`.
fn basis(curve: &ReuseCurve) -> String {
    match curve.model {
        Some(model) => format!("modelled by {}", model.name()),
        None => curve.basis.name().into(),
    }
}

#[cfg(test)]
mod tests;
