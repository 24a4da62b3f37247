use std::any::Any;
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::chunk::{self, ColumnWriter, Kind};
use crate::error::StoreError;
use crate::manifest::FileInfo;
use crate::replace::FILE_MODE;
use crate::rows::Row;

/// Rows that make a chunk, in bytes of memory: large enough that compression works, small enough that a crash
/// of the host loses little.
pub(super) const CHUNK_BYTES: usize = 64 << 10;

/// A table whatever its rows are.
pub trait AnyTable: Any + fmt::Debug + Send {
    /// Which table.
    fn kind(&self) -> Kind;

    /// Forgets the buffered rows, and says how many there were.
    fn discard(&mut self) -> u64;

    /// Appends a chunk with the buffered rows, if there are any.
    ///
    /// # Errors
    /// What went wrong, and how many rows were lost with it. The file is cut back to its last good chunk.
    fn write(&mut self) -> Result<(), (String, u64)>;

    /// The file as the manifest describes it.
    fn info(&self) -> FileInfo;

    /// Lets a test write elsewhere.
    #[cfg(test)]
    fn replace_file(&mut self, file: File);
}

/// Makes the file of a table, which must not exist.
pub fn create_table<R: Row>(dir: &Path) -> Result<Box<dyn AnyTable>, StoreError> {
    Ok(Box::new(Table::<R>::create(dir)?))
}

/// One kind of row: the file, and what has not reached it yet.
#[derive(Debug)]
pub(super) struct Table<R> {
    rows: Vec<R>,
    /// Memory that the rows take.
    buffered: usize,
    file: File,
    /// Bytes of good chunks in the file.
    written: u64,
    /// Checksum of those.
    checksum: crc32fast::Hasher,
}

impl<R: Row> Table<R> {
    /// Makes the file, which must not exist.
    fn create(dir: &Path) -> Result<Self, StoreError> {
        let path = dir.join(R::KIND.file_name());
        let file = OpenOptions::new().append(true).create_new(true).mode(FILE_MODE).open(&path).map_err(
            |error| match error.kind() {
                io::ErrorKind::AlreadyExists => StoreError::Exists(dir.to_owned()),
                _ => StoreError::io(&path, error),
            },
        )?;
        Ok(Self { rows: Vec::new(), buffered: 0, file, written: 0, checksum: crc32fast::Hasher::new() })
    }

    /// Buffers a row.
    pub(super) fn push(&mut self, row: &R) {
        self.buffered += row.bytes();
        self.rows.push(row.clone());
    }

    /// True once there is a chunk's worth of rows.
    pub(super) fn is_due(&self) -> bool {
        self.buffered >= CHUNK_BYTES
    }
}

impl<R: Row> AnyTable for Table<R> {
    fn kind(&self) -> Kind {
        R::KIND
    }

    fn discard(&mut self) -> u64 {
        let rows = self.rows.len() as u64;
        self.rows.clear();
        self.buffered = 0;
        rows
    }

    fn write(&mut self) -> Result<(), (String, u64)> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let mut columns = ColumnWriter::default();
        R::encode(&self.rows, &mut columns);
        let chunk = chunk::encode(R::KIND, self.rows.len(), &columns.into_payload());
        let rows = self.discard();
        let chunk = chunk.map_err(|damage| (damage.to_string(), rows))?;
        // One call, so that a reader rarely meets half a chunk.
        if let Err(error) = self.file.write_all(&chunk) {
            // If even this fails the tail stays torn, and readers say so.
            let _ = self.file.set_len(self.written);
            return Err((error.to_string(), rows));
        }
        self.written += chunk.len() as u64;
        self.checksum.update(&chunk);
        Ok(())
    }

    #[cfg(test)]
    fn replace_file(&mut self, file: File) {
        self.file = file;
    }

    fn info(&self) -> FileInfo {
        FileInfo {
            name: R::KIND.file_name().to_owned(),
            bytes: self.written,
            crc32: self.checksum.clone().finalize(),
        }
    }
}
