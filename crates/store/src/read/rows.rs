use std::path::Path;
use std::vec;

use super::chunks::{Chunks, Source};
use crate::error::StoreError;
use crate::rows::Row;

/// The rows of one kind, read chunk by chunk.
///
/// After the last complete chunk the iterator returns `None`, and [`Rows::truncated`] says whether there is
/// part of another behind it. It is not fused: where the recording is still being written, asking again later
/// continues with what has been appended since.
///
/// A chunk that is damaged yields one error in the place of its rows, and the rows behind it follow as long
/// as the boundaries of the chunks can be found. A file that cannot be read yields one error.
#[derive(Debug)]
pub struct Rows<R> {
    chunks: Chunks,
    rows: vec::IntoIter<R>,
}

impl<R: Row> Rows<R> {
    /// Of a file; `may_be_missing`: without it there are no rows yet.
    pub(super) fn new(path: &Path, may_be_missing: bool) -> Self {
        Self::from_source(path, Source::Path { may_be_missing })
    }

    pub(crate) fn from_memory(bytes: &[u8]) -> Self {
        Self::from_source(Path::new("memory"), Source::Memory(bytes.to_vec()))
    }

    fn from_source(path: &Path, source: Source) -> Self {
        Self { chunks: Chunks::new(path, source, R::KIND), rows: Vec::new().into_iter() }
    }

    /// True when the last chunk was incomplete when the iterator last reached the end: the recording was cut
    /// short, or is being written at this moment.
    pub fn truncated(&self) -> bool {
        self.chunks.is_torn()
    }
}

impl<R: Row> Iterator for Rows<R> {
    type Item = Result<R, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(row) = self.rows.next() {
                return Some(Ok(row));
            }
            match self.chunks.read(R::decode)? {
                Ok(rows) => self.rows = rows.into_iter(),
                Err(error) => return Some(Err(error)),
            }
        }
    }
}
