//! Names, which are stored once the recording has ended.

use std::io::{self, Write};
use std::path::Path;

use super::table::CHUNK_BYTES;
use crate::chunk::{self, ColumnWriter};
use crate::error::StoreError;
use crate::replace::replace;
use crate::rows::{Name, Row};

/// Stores names in the recording in `dir`, instead of those that were stored before. A reader sees the old ones or the new
/// ones, whole. The manifest does not list them: it was finished before.
///
/// # Errors
/// [`StoreError::Io`] where the file cannot be written. The old one then remains.
pub fn store_names(dir: &Path, names: &[Name]) -> Result<(), StoreError> {
    let file = Name::KIND.file_name();
    replace(dir, file, |out| write(out, names)).map_err(|error| StoreError::io(&dir.join(file), error))
}

fn write(out: &mut impl Write, names: &[Name]) -> io::Result<()> {
    let mut rest = names;
    while !rest.is_empty() {
        let (due, behind) = rest.split_at(first_chunk(rest));
        let mut columns = ColumnWriter::default();
        Name::encode(due, &mut columns);
        let chunk = chunk::encode(Name::KIND, due.len(), &columns.into_payload());
        out.write_all(&chunk.map_err(io::Error::other)?)?;
        rest = behind;
    }
    Ok(())
}

/// How many names make the first chunk: one at least.
fn first_chunk(names: &[Name]) -> usize {
    let mut bytes = 0;
    let full = names.iter().position(|name| {
        bytes += name.bytes();
        bytes >= CHUNK_BYTES
    });
    full.map_or(names.len(), |last| last + 1)
}
