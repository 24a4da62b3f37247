//! Warnings to readers of distances and miss ratios.

use crate::{
    RunInfo, debug_info,
    model::{Reuse, Warning},
    words,
};

/// From this part of watches that could not be set on, invalidations are missed.
const UNARMED: f64 = 0.01;

/// The warnings that follow from the way reuse was measured.
pub fn of(run: &RunInfo, reuse: &Reuse) -> Vec<Warning> {
    let quality = &reuse.quality;
    let set = quality.threads_armed.saturating_add(quality.threads_unarmed);
    let paths = reuse.pairs.iter().flat_map(|pair| [&pair.earlier.call_path, &pair.reuse.call_path]);
    let mut warnings: Vec<Warning> = debug_info::warning(run, paths.flatten()).into_iter().collect();
    let mut warn = |code: &str, text: String| warnings.push(Warning { code: code.into(), text });
    if quality.threads_unarmed as f64 > UNARMED * set as f64 {
        warn(
            "unarmed-threads",
            format!(
                "{} of {} watches of other threads could not be set: invalidations by these threads were missed, and \
                 reuses by them in a shared cache.",
                words::thousands(quality.threads_unarmed),
                words::thousands(set)
            ),
        );
    }
    if quality.invalidated > 0 {
        warn(
            "sampled-invalidations",
            "Invalidations of lines that threads write often may be several times too many or too few: a thread that is sampled \
             stands still, and who writes next is not who would have been. Misses of private caches have them in it, and no \
             band does. --exact counts them."
                .into(),
        );
    }
    if quality.exact_accesses > 0 && run.threads.len() > 1 {
        warn(
            "order-of-this-run",
            "Each thread's own distances are exact. How often a line changes hands, and who uses it next in a shared cache, is \
             as it was in this run: threads stood still in turns while up to 8,000 accesses of theirs were analysed, and had \
             lines to themselves for longer than they have natively."
                .into(),
        );
    }
    if quality.cells_lost > 0 {
        warn(
            "cells-lost",
            format!(
                "{} of the exact mode found no room and are missing.",
                words::count(quality.cells_lost as usize, "count")
            ),
        );
    }
    if reuse.caches.is_empty() {
        warn(
            "caches-unknown",
            format!(
                "The sizes of this machine's caches are not in the recording; shares of misses are for {}.",
                words::size(reuse.cache_bytes)
            ),
        );
    }
    warnings
}
