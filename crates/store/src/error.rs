use std::io;
use std::path::{Path, PathBuf};

use carom_base_stream::frame::FrameError;
use thiserror::Error;

use crate::chunk::MAX_PAYLOAD_BYTES;

/// Why a recording cannot be written or read.
#[derive(Debug, Error)]
pub enum StoreError {
    /// The operating system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What it said.
        source: io::Error,
    },
    /// There is none.
    #[error("{}: {problem}", path.display())]
    NoRecording {
        /// Where it was looked for.
        path: PathBuf,
        /// What is there instead.
        problem: &'static str,
    },
    /// There is a recording already; recordings are never overwritten.
    #[error("{}: holds a recording already", .0.display())]
    Exists(PathBuf),
    /// The manifest is not what this version writes.
    #[error("{}: not a manifest: {source}", path.display())]
    Manifest {
        /// The file.
        path: PathBuf,
        /// Where and why parsing stopped.
        source: serde_json::Error,
    },
    /// Larger than any manifest can be.
    #[error("{}: a manifest of {bytes} bytes is not plausible", path.display())]
    ManifestTooLarge {
        /// The file.
        path: PathBuf,
        /// Its size.
        bytes: u64,
    },
    /// The recording was made by another version of carom.
    #[error("{}: schema version {found}, but this carom reads 1 to {}", path.display(), crate::SCHEMA)]
    Schema {
        /// The manifest.
        path: PathBuf,
        /// The version that it states.
        found: u32,
    },
    /// A chunk cannot be used. The rows before it are good.
    #[error("{}: chunk at byte {offset}: {damage}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where the chunk begins, in bytes from the start of the file.
        offset: u64,
        /// The damage.
        damage: Damage,
    },
    /// What a thread handed over cannot be used. The rows around it are good.
    #[error("{}: row {row} is not a frame of accesses: {error}", path.display())]
    Frame {
        /// The file.
        path: PathBuf,
        /// The row, from 0. Rows of damaged chunks count as one.
        row: u64,
        /// The damage.
        error: FrameError,
    },
}

impl StoreError {
    pub(crate) fn io(path: &Path, source: io::Error) -> Self {
        Self::Io { path: path.to_owned(), source }
    }
}

/// A defect of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Damage {
    /// It does not begin as a chunk does.
    #[error("not a chunk")]
    Magic,
    /// It is of a version that this carom does not know.
    #[error("chunk version {0} is not known")]
    Version(u8),
    /// It holds another kind of row than the file should.
    #[error("row kind {0} does not belong here")]
    Kind(u8),
    /// A flag is set that this carom does not know.
    #[error("flags {0:#x} are not known")]
    Flags(u8),
    /// A length is larger than the format allows, or two of them contradict each other.
    #[error("a length is out of bounds (at most {MAX_PAYLOAD_BYTES} bytes)")]
    Length,
    /// The bytes are not those that were written.
    #[error("checksum mismatch")]
    Checksum,
    /// The payload does not decompress to the stated length.
    #[error("not decompressible")]
    Compression,
    /// A column is missing, of another type, or too short.
    #[error("a column is malformed")]
    Column,
    /// A column holds a number that has no meaning there.
    #[error("a value is out of range")]
    Value,
}
