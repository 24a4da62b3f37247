//! The study itself.

use carom_base::{LINE_BYTES, ProcessId};

use super::{
    Bins, Cache, CurveScope, ENOUGH_USES, FalseSharing, NotEnough, Pair, Quality, ReuseFindings, ReuseInput,
    ReuseOptions,
    cost::{costs, first_level},
    exact::Exact,
    false_sharing::false_sharing,
    findings::main_curve,
    fits::fits,
    input::chosen,
    pairs::pairs,
    prefetch::prefetch,
    sampled::Sampled,
};
use crate::recording::Names;

/// The parameters of an analysis, with the machine's caches.
pub(super) struct Question {
    pub bins: Bins,
    pub caches: Vec<Cache>,
    pub chosen_bytes: u64,
}

impl Question {
    /// Places of this many bytes that fit into the chosen cache, as if a cache held places smaller than a line one by one.
    pub fn places(&self, granularity: u32) -> u64 {
        self.chosen_bytes / u64::from(granularity.max(1))
    }
}

/// Concludes how far apart reuses are and what caches would miss, from everything that a recording holds.
///
/// Cells are summed up by key; of events their distance, outcome and instructions are kept.
pub fn analyse(input: &dyn ReuseInput, names: &mut dyn Names, options: &ReuseOptions) -> ReuseFindings {
    let mut caches = input.caches();
    caches.sort_by_key(|cache| (cache.bytes, cache.level));
    caches.dedup();
    let mut question = Question { bins: options.bins, chosen_bytes: chosen(&caches, options), caches };
    let mut exact = Exact::of(input, &question);
    let sampled = Sampled::of(input);
    let rate = sane_rate(input.place_rate());

    let quality = Quality {
        exact_accesses: exact.accesses(),
        place_rate: rate,
        in_episodes: input.in_episodes(),
        losses: input.losses(),
        ..sampled.quality()
    };
    let mut curves = exact.curves(&question, rate);
    curves.extend(sampled.curves(&question));
    curves.sort_by_key(|curve| {
        // Lines first: that is what caches hold.
        let by_size = (u64::from(curve.granularity) != LINE_BYTES, curve.granularity);
        (curve.scope, curve.kind, by_size, curve.distance, curve.reused_by)
    });
    let costs = costs(&question.caches, main_curve(&curves, CurveScope::All));
    if let Some(bytes) = first_level(&costs).filter(|_| options.cache_bytes.is_none()) {
        question.chosen_bytes = bytes;
        // The misses of its pairs are counted while it is read.
        exact = Exact::of(input, &question);
    }
    // Both at once in one recording would be two runs merged; the exact one tells more.
    let uses_only = exact.is_empty();
    let wholes = if uses_only { sampled.wholes(&question) } else { exact.wholes(&question) };
    let (tallies, origin) = if uses_only { sampled.pairs(&question) } else { exact.pairs(rate) };
    let (pairs, other_pairs) = pairs(tallies, wholes, origin, names);
    let pairs = pairs.into_iter().map(|pair| Pair { process: home(input, pair.process), ..pair }).collect();
    let mut findings = ReuseFindings {
        quality,
        caches: question.caches,
        costs,
        chosen_bytes: question.chosen_bytes,
        curves,
        pairs,
        other_pairs,
        fits: Vec::new(),
        false_sharing: false_sharing(input, names)
            .into_iter()
            .map(|found| FalseSharing { process: home(input, found.process), ..found })
            .collect(),
        prefetch: None,
        not_enough: not_enough(&quality, input.seconds()),
    };
    // Wide bins would put distances on the wrong side of a cache's size.
    findings.fits = fits(&findings, options.bins == Bins::Logarithmic);
    if options.prefetch {
        findings.prefetch = prefetch(input, &findings);
    }
    findings
}

/// The process of the first run that a process of any run does the same as.
fn home(input: &dyn ReuseInput, process: ProcessId) -> ProcessId {
    let threads = input.threads();
    let thread = threads.iter().find(|thread| thread.process == process);
    let first = thread.and_then(|thread| threads.get(input.in_first_run(thread.id).0 as usize));
    first.map_or(process, |thread| thread.process)
}

/// A rate that can be divided by.
fn sane_rate(rate: f64) -> f64 {
    if rate > 0.0 && rate <= 1.0 { rate } else { 1.0 }
}

fn not_enough(quality: &Quality, seconds: f64) -> Option<NotEnough> {
    let seen = quality.reused + quality.invalidated;
    let few = quality.exact_accesses < ENOUGH_USES && seen < ENOUGH_USES;
    few.then(|| NotEnough {
        seen,
        run_seconds: (seen > 0).then(|| seconds * ENOUGH_USES as f64 / seen as f64),
    })
}

#[cfg(test)]
mod tests;
