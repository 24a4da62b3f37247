//! From comparisons to what `carom diff` writes.

mod convert;
mod gate;
mod issues;
mod markdown;
pub mod model;
mod text;
mod verdict;

pub use gate::Limits;
pub(crate) use issues::issues;
pub use markdown::markdown;
pub use text::text;

use carom_study::diff::{ASSUMED_SPREAD, ReuseDiff, ShareDiff};

use crate::model::{Carom, Real, SCHEMA_VERSION, Warning};
use model::{Diff, DiffSide, Spread, SpreadBasis};

/// What draws a comparison on a page.
pub(crate) const SCRIPT: &str = include_str!("page.js");

/// Both sides with what was compared. `warnings`: what could not be compared, and why.
pub fn diff(
    [before, after]: [DiffSide; 2],
    share: Option<&ShareDiff>,
    reuse: Option<&ReuseDiff>,
    limits: Limits,
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
        share: share.map(convert::share),
        reuse: reuse.map(convert::reuse),
        warnings,
    };
    diff.gate = gate::gate(limits, &diff);
    diff.verdict = verdict::verdict(&diff);
    diff
}

/// The comparison as JSON, with a newline at the end.
///
/// # Errors
/// None in practice: the model has string keys only and no fallible serialiser.
pub fn json(diff: &Diff) -> Result<String, serde_json::Error> {
    crate::json::indented(diff)
}
