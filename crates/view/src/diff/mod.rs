//! From comparisons to what `carom diff` writes.

mod convert;
pub(crate) mod count;
mod gate;
mod issues;
mod markdown;
pub mod model;
mod text;
pub(crate) mod verdict;

pub use gate::Limits;
pub(crate) use issues::issues;
pub use markdown::markdown;
pub use text::text;

use carom_study::diff::{ASSUMED_SPREAD, CountDiff, ReuseDiff, ShareDiff};

use crate::model::{Carom, Real, SCHEMA_VERSION, Warning};
use model::{Diff, DiffSide, Spread, SpreadBasis};

/// What draws a comparison on a page.
pub(crate) const SCRIPT: &str = include_str!("page.js");

/// What was compared of both sides.
#[derive(Clone, Copy, Debug, Default)]
pub struct Compared<'a> {
    /// Contended data.
    pub share: Option<&'a ShareDiff>,
    /// Misses.
    pub reuse: Option<&'a ReuseDiff>,
    /// Counts, and what runs used.
    pub count: Option<&'a CountDiff>,
}

/// Both sides with what was compared. `warnings`: what could not be compared, and why.
pub fn diff(
    [before, after]: [DiffSide; 2],
    compared: Compared<'_>,
    limits: &Limits,
    warnings: Vec<Warning>,
) -> Diff {
    let several = before.runs + after.runs > 2;
    let mut diff = Diff {
        carom: Carom { version: env!("CARGO_PKG_VERSION").into(), schema: SCHEMA_VERSION },
        verdict: String::new(),
        before,
        after,
        spread: Spread {
            basis: if several { SpreadBasis::Measured } else { SpreadBasis::Assumed },
            assumed: (!several).then_some(Real(ASSUMED_SPREAD)),
        },
        gate: model::Gate::default(),
        share: compared.share.map(convert::share),
        reuse: compared.reuse.map(convert::reuse),
        count: compared.count.map(count::count),
        warnings,
    };
    diff.gate = gate::gate(limits, &diff, compared.count);
    diff.verdict = verdict::verdict(&diff);
    diff
}

/// The limits that could not be judged, in a sentence each.
pub fn not_judged(diff: &Diff) -> Vec<String> {
    diff.gate.conditions.iter().filter_map(count::gate::unknown).collect()
}

/// The comparison as JSON, with a newline at the end.
///
/// # Errors
/// None in practice: the model has string keys only and no fallible serialiser.
pub fn json(diff: &Diff) -> Result<String, serde_json::Error> {
    crate::json::indented(diff)
}
