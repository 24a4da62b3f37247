use std::{io, path::PathBuf};

use crate::target::Refusal;

/// Why a program was not recorded. It has not run.
#[derive(Debug, thiserror::Error)]
pub enum CollectError {
    /// The program cannot be profiled.
    #[error("{program}: {refusal}")]
    Refused {
        /// As the user named it.
        program: String,
        /// Why not.
        refusal: Refusal,
    },
    /// No program of this name was found.
    #[error("{0}: no such program")]
    NotFound(String),
    /// The program exists but may not be executed.
    #[error("{program}: {source}")]
    NotExecutable {
        /// As the user named it.
        program: String,
        /// Why.
        source: io::Error,
    },
    /// The session's files cannot be made.
    #[error("cannot record into {}: {source}; choose another place with -o", path.display())]
    Session {
        /// The directory.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The store refused.
    #[error(transparent)]
    Store(#[from] carom_store::StoreError),
}
