//! Reading a recording, also one that is growing or was cut short.

mod chunks;
mod rows;
mod stream;

use std::path::{Path, PathBuf};

use crate::error::StoreError;
use crate::manifest::{self, Manifest};
use crate::rows::Row;
pub use rows::Rows;
pub use stream::Spread;

/// A recording on disk.
#[derive(Clone, Debug)]
pub struct Recording {
    dir: PathBuf,
    manifest: Manifest,
}

impl Recording {
    /// Opens the recording in `dir`. Rows are read when they are asked for.
    ///
    /// # Errors
    /// The manifest is missing, malformed, or of another schema.
    pub fn open(dir: &Path) -> Result<Self, StoreError> {
        Ok(Self { dir: dir.to_owned(), manifest: manifest::read(dir)? })
    }

    /// What ran, where, and how it was observed.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Where it lies.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The rows of one table, in the order in which they were written.
    pub fn rows<R: Row>(&self) -> Rows<R> {
        let name = R::KIND.file_name();
        let is_listed = self.manifest.files.iter().any(|file| file.name == name);
        Rows::new(&self.dir.join(name), !is_listed)
    }
}
