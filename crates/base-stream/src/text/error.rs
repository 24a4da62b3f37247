use carom_base::{ProcessId, ThreadId};
use thiserror::Error;

/// Why a text is not a stream.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}: {cause}")]
pub struct TextError {
    /// The line's number, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub cause: Cause,
}

/// What is wrong with a line.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Cause {
    /// The line ends too early.
    #[error("the {0} is missing")]
    Missing(&'static str),
    /// A word does not fit its place.
    #[error("{found:?} is not {expected}")]
    Malformed {
        /// What is expected there.
        expected: &'static str,
        /// The word.
        found: String,
    },
    /// A word after the end of the record.
    #[error("{0:?} is left over")]
    LeftOver(String),
    /// An access of no bytes.
    #[error("an access has at least one byte")]
    ZeroWidth,
    /// An access that is not within memory.
    #[error("the access goes past the end of the address space")]
    AddressWraps,
    /// A thread that belonged to another process before.
    #[error("thread {} was one of process {} before", thread.0, process.0)]
    OtherProcess {
        /// The thread.
        thread: ThreadId,
        /// That process.
        process: ProcessId,
    },
    /// A thread's records are not in the order of time.
    #[error("thread {} goes back in time", .0.0)]
    BackInTime(ThreadId),
}
