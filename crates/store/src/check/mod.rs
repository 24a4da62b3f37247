//! The checker: what every recording must satisfy, beyond being readable.

mod files;
mod manifest;
mod rows;

use std::path::Path;

use crate::error::StoreError;
use crate::read::Recording;
use crate::rules::{Findings, RowContext, Run, Violation};
use crate::tables::all;
pub use rows::check_rows;

/// Checks every invariant of the recording in `dir`, and returns what it found: nothing, where all is well.
/// At most 1000 violations are returned.
///
/// A recording that was never finished is judged by what it can know: its manifest may be older than its
/// rows, so that unknown threads and times after the end are no violations, and its files may end in part of
/// a chunk.
///
/// # Errors
/// The recording cannot be opened at all (see [`Recording::open`]).
pub fn check(dir: &Path) -> Result<Vec<Violation>, StoreError> {
    let recording = Recording::open(dir)?;
    let run = Run::new(recording.manifest());
    let mut found = Findings::default();
    manifest::check(recording.manifest(), &run, &mut found);
    files::check(&recording, &run, &mut found);
    let mut context = RowContext::new(&run);
    for table in all() {
        (table.check)(&recording, &mut context, &mut found);
    }
    Ok(found.into_violations())
}
