//! How `carom` itself can fail, and with which status. The profiled program's own end comes before all of these.

use std::{fmt, process::ExitCode};

use carom_base_sys::host::signals;
use carom_collect::CollectError;
use carom_store::Exit;

/// A comparison failed as it was asked to.
const FAILED: u8 = 124;
/// Nothing was profiled: carom's own fault or the machine's.
const CANNOT_PROFILE: u8 = 125;
/// The program cannot be executed, as `env` says it.
const NOT_EXECUTABLE: u8 = 126;
/// There is no such program, as `env` says it.
const NOT_FOUND: u8 = 127;

/// A failure with its status and its one sentence.
#[derive(Debug)]
pub struct Failure {
    status: u8,
    text: String,
}

impl Failure {
    /// carom could not do what was asked.
    pub fn new(error: impl fmt::Display) -> Self {
        Self { status: CANNOT_PROFILE, text: error.to_string() }
    }

    /// The exit status.
    pub fn status(&self) -> ExitCode {
        ExitCode::from(self.status)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl From<CollectError> for Failure {
    fn from(error: CollectError) -> Self {
        let status = match error {
            CollectError::NotFound { .. } => NOT_FOUND,
            CollectError::NotExecutable { .. } => NOT_EXECUTABLE,
            CollectError::Refused { .. }
            | CollectError::Session { .. }
            | CollectError::Store(_)
            | CollectError::Tracepoint(_)
            | CollectError::Pmu(_) => CANNOT_PROFILE,
        };
        Self { status, text: error.to_string() }
    }
}

/// How a successful run of `carom` ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// By its own work.
    Success,
    /// `carom diff` found what was to fail.
    Failed,
    /// A limit could not be judged.
    NotJudged,
    /// `carom doctor` found nothing that works here.
    NoEngine,
    /// As the profiled program did.
    Program(Exit),
}

impl End {
    /// Ends the process, by the same signal where a signal ended the program.
    pub fn leave(self) -> ExitCode {
        match self {
            Self::Failed => ExitCode::from(FAILED),
            Self::NotJudged | Self::NoEngine => ExitCode::from(CANNOT_PROFILE),
            Self::Success | Self::Program(Exit::Unknown) => ExitCode::SUCCESS,
            Self::Program(Exit::Code(code)) => ExitCode::from(code as u8),
            Self::Program(Exit::Signal(number)) => {
                signals::die_of(number);
                // What a shell makes of it.
                ExitCode::from((128 + number) as u8)
            }
        }
    }
}
