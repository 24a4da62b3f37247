use std::any::Any;
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

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

    /// The file as the manifest describes it; `None` where no row has been written.
    fn info(&self) -> Option<FileInfo>;

    /// Lets a test write elsewhere.
    #[cfg(test)]
    fn replace_file(&mut self, file: File);
}

/// A table without rows. Its file must not exist, and is made with the first ones: short recordings have few tables, and where files
/// have just been removed ext4 takes its time to make another.
pub fn begin_table<R: Row>(dir: &Path) -> Result<Box<dyn AnyTable>, StoreError> {
    Ok(Box::new(Table::<R>::begin(dir)?))
}

/// One kind of row: the file, and what has not reached it yet.
#[derive(Debug)]
pub(super) struct Table<R> {
    rows: Vec<R>,
    /// Memory that the rows take.
    buffered: usize,
    path: PathBuf,
    /// `None`: nothing has been written.
    file: Option<File>,
    /// Bytes of good chunks in the file.
    written: u64,
    /// Checksum of those.
    checksum: crc32fast::Hasher,
}

impl<R: Row> Table<R> {
    fn begin(dir: &Path) -> Result<Self, StoreError> {
        let path = dir.join(R::KIND.file_name());
        if path.symlink_metadata().is_ok() {
            return Err(StoreError::Exists(dir.to_owned()));
        }
        let checksum = crc32fast::Hasher::new();
        Ok(Self { rows: Vec::new(), buffered: 0, path, file: None, written: 0, checksum })
    }

    /// Appends a chunk to the file.
    fn append(&mut self, chunk: &[u8]) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            None => {
                let made = OpenOptions::new().append(true).create_new(true).mode(FILE_MODE).open(&self.path);
                self.file.insert(made?)
            }
        };
        // One call, so that a reader rarely meets half a chunk.
        let appended = file.write_all(chunk);
        if appended.is_err() {
            // If even this fails the tail stays torn, and readers say so.
            let _ = file.set_len(self.written);
        }
        appended
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
        if let Err(error) = self.append(&chunk) {
            return Err((error.to_string(), rows));
        }
        self.written += chunk.len() as u64;
        self.checksum.update(&chunk);
        Ok(())
    }

    #[cfg(test)]
    fn replace_file(&mut self, file: File) {
        self.file = Some(file);
    }

    fn info(&self) -> Option<FileInfo> {
        self.file.as_ref().map(|_| FileInfo {
            name: R::KIND.file_name().to_owned(),
            bytes: self.written,
            crc32: self.checksum.clone().finalize(),
        })
    }
}
