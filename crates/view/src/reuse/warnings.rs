//! What a reader of distances and miss ratios must know.

use crate::{
    RunInfo,
    model::{Reuse, Warning},
    words,
};

/// More watches than this that could not be set let invalidations be missed.
const UNARMED: f64 = 0.01;

/// Warnings that follow from how reuse was looked for.
pub fn of(run: &RunInfo, reuse: &Reuse) -> Vec<Warning> {
    let quality = &reuse.quality;
    let set = quality.threads_armed.saturating_add(quality.threads_unarmed);
    let mut warnings = Vec::new();
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
    if quality.exact_accesses > 0 && run.threads.len() > 1 {
        warn(
            "order-by-batches",
            "Threads hand their accesses over in batches of up to 8,000, and the time of a single one is not known: those \
             of a batch are taken to have been made at an even pace, and those of different threads are put in order by \
             that. Each thread's own distances are exact; which of two threads was first is known to within a batch, so \
             that how often a line changes hands is an estimate, and too low where threads had to share processors."
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
