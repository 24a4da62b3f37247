//! The report as one self-contained page: no requests, no build step, works from file://.

mod embed;

use crate::{diff::model::Diff, model::Report};

/// The page.
///
/// # Errors
/// None in practice: see [`crate::json`].
pub fn html(report: &Report) -> Result<String, serde_json::Error> {
    embed::page(report)
}

/// The page of a comparison.
///
/// # Errors
/// As [`html`].
pub fn comparison(diff: &Diff) -> Result<String, serde_json::Error> {
    embed::comparison(diff)
}
