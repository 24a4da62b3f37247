//! Writing a recording while the program runs.

mod later;
mod table;

use std::any::Any;
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use crate::error::StoreError;
use crate::fresh::DIR_MODE;
use crate::manifest::{self, MANIFEST_NAME, Manifest};
use crate::rows::{Row, Stack};
use crate::tables::{TABLES, index_of};
pub use later::{store_instructions, store_names, store_places};
use table::Table;
pub use table::{AnyTable, begin_table};

/// Writes one recording. Rows are buffered and written in chunks of about 64 KiB.
///
/// Stacks are written before the rows that refer to them, provided that they come first: hand over the stacks
/// of a batch, then its samples, events and objects. A reader of a recording that is growing or was cut short
/// then finds every stack.
///
/// From the first write that fails on (a full disk, mostly) the writer keeps the recording as it is, counts
/// the rows that it drops, and reports no further error: a program must not suffer because its profile does
/// not fit. Dropping the writer without [`Writer::finish`] writes what is buffered and leaves the manifest as
/// it was.
#[derive(Debug)]
pub struct Writer {
    dir: PathBuf,
    /// In the order of [`TABLES`].
    tables: Vec<Box<dyn AnyTable>>,
    full: Option<Full>,
}

/// The state of a writer that can write no more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Full {
    /// What the operating system said, and of which file.
    pub reason: String,
    /// Rows of all kinds that were dropped since.
    pub dropped_rows: u64,
}

impl Writer {
    /// Begins a recording in `dir`, which is made (mode 0700) unless it exists.
    ///
    /// # Errors
    /// [`StoreError::Exists`] where the directory holds a recording, or files of one; [`StoreError::Io`]
    /// otherwise.
    pub fn create(dir: &Path, manifest: Manifest) -> Result<Self, StoreError> {
        match DirBuilder::new().mode(DIR_MODE).create(dir) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(StoreError::io(dir, error));
            }
            _ => {}
        }
        if dir.join(MANIFEST_NAME).symlink_metadata().is_ok() {
            return Err(StoreError::Exists(dir.to_owned()));
        }
        let tables = TABLES.iter().map(|table| (table.begin)(dir)).collect::<Result<_, _>>()?;
        let writer = Self { dir: dir.to_owned(), tables, full: None };
        manifest::write(dir, &manifest).map_err(|error| StoreError::io(&dir.join(MANIFEST_NAME), error))?;
        Ok(writer)
    }

    /// Appends rows to their table.
    pub fn push<R: Row>(&mut self, rows: &[R]) {
        for row in rows {
            let Some(table) = self.table::<R>() else { return };
            table.push(row);
            if table.is_due() {
                if R::HAS_STACKS {
                    self.write_chunk::<Stack>();
                }
                self.write_chunk::<R>();
            }
        }
    }

    /// Writes the buffered rows, so that a reader sees them.
    pub fn flush(&mut self) {
        for table in &mut self.tables {
            write_chunk(table.as_mut(), &mut self.full);
        }
    }

    fn write_chunk<R: Row>(&mut self) {
        if let Some(table) = self.tables.get_mut(const { index_of::<R>() }) {
            write_chunk(table.as_mut(), &mut self.full);
        }
    }

    fn table<R: Row>(&mut self) -> Option<&mut Table<R>> {
        let table: &mut dyn Any = self.tables.get_mut(const { index_of::<R>() })?.as_mut();
        table.downcast_mut()
    }

    /// Writes the buffered rows, and replaces the manifest.
    pub fn checkpoint(&mut self, manifest: &Manifest) {
        self.flush();
        if let Err(error) = manifest::write(&self.dir, manifest) {
            fail(&mut self.full, 0, MANIFEST_NAME, &error.to_string());
        }
    }

    /// Whether the writer has run into an error, and what it has dropped since.
    pub fn full(&self) -> Option<&Full> {
        self.full.as_ref()
    }

    /// Writes the buffered rows and the last manifest: `files` is filled here, and where rows were dropped,
    /// `complete` becomes false and `cut_short` says so.
    ///
    /// # Errors
    /// [`StoreError::Io`] where the manifest cannot be written. The last checkpoint then remains.
    pub fn finish(mut self, mut manifest: Manifest) -> Result<(), StoreError> {
        self.flush();
        // In the order of their codes, as ever.
        self.tables.sort_by_key(|table| table.kind().code());
        manifest.files = self.tables.iter().filter_map(|table| table.info()).collect();
        if let Some(full) = &self.full {
            manifest.complete = false;
            let text = format!("{}; {} rows were dropped", full.reason, full.dropped_rows);
            manifest.cut_short = Some(match manifest.cut_short.take() {
                Some(other) => format!("{other}; {text}"),
                None => text,
            });
        }
        manifest::write(&self.dir, &manifest)
            .map_err(|error| StoreError::io(&self.dir.join(MANIFEST_NAME), error))
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.flush();
    }
}

fn write_chunk(table: &mut dyn AnyTable, full: &mut Option<Full>) {
    if let Some(full) = full {
        full.dropped_rows += table.discard();
    } else if let Err((error, rows)) = table.write() {
        fail(full, rows, table.kind().file_name(), &error);
    }
}

fn fail(full: &mut Option<Full>, dropped_rows: u64, file: &str, error: &str) {
    let full =
        full.get_or_insert_with(|| Full { reason: format!("cannot write {file}: {error}"), dropped_rows: 0 });
    full.dropped_rows += dropped_rows;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::Recording;
    use crate::rows::HeapObject;

    /// A writer of objects whose disk is full after the first chunk.
    fn full_writer(dir: &Path) -> Writer {
        let mut writer = Writer::create(dir, Manifest::default()).unwrap();
        writer.push(&[HeapObject::default()]);
        writer.flush();
        // Every write to this device fails with ENOSPC.
        let objects = writer.tables.iter_mut().find(|table| table.kind() == HeapObject::KIND).unwrap();
        objects.replace_file(std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap());
        writer
    }

    #[test]
    fn a_full_disk_is_counted_not_reported() {
        let dir = tempfile::tempdir().unwrap();
        let mut writer = full_writer(dir.path());
        assert_eq!(writer.full(), None);
        writer.push(&[HeapObject::default(); 3]);
        writer.flush();
        assert_eq!(writer.full().unwrap().dropped_rows, 3);
        // Other files might still take rows, but a recording with holes is worse than one that ends.
        writer.push(&[Stack::default(), Stack::default()]);
        writer.flush();
        assert_eq!(writer.full().unwrap().dropped_rows, 5);
        assert!(!dir.path().join(Stack::KIND.file_name()).exists());

        let last = Manifest { complete: true, cut_short: Some("killed".to_owned()), ..Manifest::default() };
        writer.finish(last).unwrap();
        let recording = Recording::open(dir.path()).unwrap();
        assert!(!recording.manifest().complete);
        assert_eq!(
            recording.manifest().cut_short.as_deref(),
            Some(
                "killed; cannot write objects.chunks: No space left on device (os error 28); 5 rows were dropped"
            )
        );
        assert_eq!(recording.rows::<HeapObject>().count(), 1);
        assert_eq!(crate::check(dir.path()).unwrap().len(), 1, "the object of no process");
    }

    #[test]
    fn a_manifest_that_cannot_be_written_fills_the_writer() {
        let dir = tempfile::tempdir().unwrap();
        let mut writer = Writer::create(dir.path(), Manifest::default()).unwrap();
        std::fs::remove_dir_all(dir.path()).unwrap();
        writer.checkpoint(&Manifest::default());
        assert!(writer.full().unwrap().reason.starts_with("cannot write manifest.json"));
        assert!(matches!(writer.finish(Manifest::default()), Err(StoreError::Io { .. })));
    }
}
