use std::{io, path::PathBuf};

use crate::refusal::{Absence, Obstacle, Refusal};

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
    /// There is no such program, or not all of it.
    #[error("{}{missing}", of(program))]
    NotFound {
        /// As the user named it.
        program: String,
        /// What is missing.
        missing: Absence,
    },
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
    /// A tracepoint of the kernel cannot be counted.
    #[error(transparent)]
    Tracepoint(#[from] carom_base_sys::host::tracepoints::TracepointError),
    /// An event of a PMU cannot be counted.
    #[error(transparent)]
    Pmu(#[from] carom_base_sys::host::pmu::PmuError),
    /// The store refused.
    #[error(transparent)]
    Store(#[from] carom_store::StoreError),
}

impl CollectError {
    /// Why this program cannot be recorded.
    pub fn of(program: &str, obstacle: Obstacle) -> Self {
        let program = program.to_owned();
        match obstacle {
            Obstacle::Absent(missing) => Self::NotFound { program, missing },
            Obstacle::Io(source) => Self::NotExecutable { program, source },
            Obstacle::Refused(refusal) => Self::Refused { program, refusal },
        }
    }
}

/// What the sentence is about, where it has a name.
fn of(program: &str) -> String {
    if program.is_empty() { String::new() } else { format!("{program}: ") }
}
