use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::chunk::{self, ColumnReader, HEADER_BYTES, Header, Kind};
use crate::error::{Damage, StoreError};
use crate::manifest::open_regular;

/// Where the bytes of a chunk stream come from.
#[derive(Debug)]
pub(super) enum Source {
    /// A file that is opened when it is read first. Where it `may_be_missing`, it holds nothing until it is there.
    Path { may_be_missing: bool },
    /// An open file.
    File(File),
    /// Memory.
    Memory(Vec<u8>),
}

/// A position in a stream of chunks of one kind.
#[derive(Debug)]
pub(super) struct Chunks {
    path: PathBuf,
    source: Source,
    kind: Kind,
    /// Where the next chunk begins.
    offset: u64,
    /// The last read found part of a chunk at `offset`.
    torn: bool,
    /// The boundaries are lost, or the file is not readable: there is no way on.
    stopped: bool,
}

/// The bytes of one chunk.
struct Framed {
    header: Header,
    bytes: [u8; HEADER_BYTES],
    stored: Vec<u8>,
}

impl Chunks {
    pub(super) fn new(path: &Path, source: Source, kind: Kind) -> Self {
        Self { path: path.to_owned(), source, kind, offset: 0, torn: false, stopped: false }
    }

    pub(super) fn is_torn(&self) -> bool {
        self.torn
    }

    /// Decodes the next complete chunk, if there is one.
    pub(super) fn read<T>(
        &mut self,
        decode: impl FnOnce(u32, &mut ColumnReader<'_>) -> Result<T, Damage>,
    ) -> Option<Result<T, StoreError>> {
        if self.stopped {
            return None;
        }
        let framed = match self.framed() {
            Ok(framed) => framed?,
            Err(error) => {
                self.stopped = true;
                return Some(Err(error));
            }
        };
        let start = self.offset;
        self.offset += (HEADER_BYTES + framed.stored.len()) as u64;
        let decoded = chunk::payload(&framed.header, &framed.bytes, &framed.stored)
            .and_then(|columns| decode(framed.header.rows, &mut ColumnReader::new(&columns)));
        Some(decoded.map_err(|damage| self.damaged(start, damage)))
    }

    /// The next chunk, unless the stream ends before it or in it.
    fn framed(&mut self) -> Result<Option<Framed>, StoreError> {
        let mut bytes = [0; HEADER_BYTES];
        let found = self.fill(&mut bytes, self.offset)?;
        self.torn = (1..HEADER_BYTES).contains(&found);
        if found < HEADER_BYTES {
            return Ok(None);
        }
        let header = Header::parse(&bytes, self.kind).map_err(|damage| self.damaged(self.offset, damage))?;
        let mut stored = vec![0; header.stored];
        let found = self.fill(&mut stored, self.offset + HEADER_BYTES as u64)?;
        self.torn = found < header.stored;
        Ok((!self.torn).then_some(Framed { header, bytes, stored }))
    }

    /// Reads until `buffer` is full or the stream ends, and says how much it read.
    fn fill(&mut self, buffer: &mut [u8], offset: u64) -> Result<usize, StoreError> {
        let mut filled = 0;
        while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match self.read_at(rest, offset + filled as u64) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(StoreError::io(&self.path, error)),
            }
        }
        Ok(filled)
    }

    fn read_at(&mut self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        if let Source::Path { may_be_missing } = self.source {
            match open_regular(&self.path) {
                Err(error) if may_be_missing && error.kind() == io::ErrorKind::NotFound => return Ok(0),
                opened => self.source = Source::File(opened?),
            }
        }
        match &self.source {
            Source::File(file) => file.read_at(buffer, offset),
            Source::Memory(bytes) => {
                let from = usize::try_from(offset).ok().and_then(|offset| bytes.get(offset..));
                io::Read::read(&mut from.unwrap_or_default(), buffer)
            }
            Source::Path { .. } => Ok(0),
        }
    }

    fn damaged(&self, offset: u64, damage: Damage) -> StoreError {
        StoreError::Damaged { path: self.path.clone(), offset, damage }
    }
}
