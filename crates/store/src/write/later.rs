//! Rows that are stored once the recording has ended: names, counts by place, and by instruction.

use std::io::{self, Write};
use std::path::Path;

use super::table::CHUNK_BYTES;
use crate::chunk::{self, ColumnWriter};
use crate::error::StoreError;
use crate::replace::replace;
use crate::rows::{InstructionCounts, Name, PlaceCounts, Row};

/// Stores names in the recording in `dir`, instead of those that were stored before. A reader sees the old ones or the new
/// ones, whole. The manifest does not list them: it was finished before.
///
/// # Errors
/// [`StoreError::Io`] where the file cannot be written. The old one then remains.
pub fn store_names(dir: &Path, names: &[Name]) -> Result<(), StoreError> {
    store(dir, names)
}

/// Stores counts by place in the recording in `dir`, as [`store_names`] stores names.
///
/// # Errors
/// [`StoreError::Io`] where the file cannot be written.
pub fn store_places(dir: &Path, places: &[PlaceCounts]) -> Result<(), StoreError> {
    store(dir, places)
}

/// Stores counts by instruction in the recording in `dir`, as [`store_names`] stores names.
///
/// # Errors
/// [`StoreError::Io`] where the file cannot be written.
pub fn store_instructions(dir: &Path, instructions: &[InstructionCounts]) -> Result<(), StoreError> {
    store(dir, instructions)
}

fn store<R: Row>(dir: &Path, rows: &[R]) -> Result<(), StoreError> {
    let file = R::KIND.file_name();
    replace(dir, file, |out| write(out, rows)).map_err(|error| StoreError::io(&dir.join(file), error))
}

fn write<R: Row>(out: &mut impl Write, rows: &[R]) -> io::Result<()> {
    let mut rest = rows;
    while !rest.is_empty() {
        let (due, behind) = rest.split_at(first_chunk(rest));
        let mut columns = ColumnWriter::default();
        R::encode(due, &mut columns);
        let chunk = chunk::encode(R::KIND, due.len(), &columns.into_payload());
        out.write_all(&chunk.map_err(io::Error::other)?)?;
        rest = behind;
    }
    Ok(())
}

/// How many rows make the first chunk: one at least.
fn first_chunk<R: Row>(rows: &[R]) -> usize {
    let mut bytes = 0;
    let full = rows.iter().position(|row| {
        bytes += row.bytes();
        bytes >= CHUNK_BYTES
    });
    full.map_or(rows.len(), |last| last + 1)
}
