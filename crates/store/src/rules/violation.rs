use std::fmt;

use carom_base::{Addr, Cpu, LogBin, Nanos, ProcessId, ReuseOutcome, StackId, ThreadId};
use carom_base_stream::frame::FrameError;
use thiserror::Error;

/// A rule that a recording breaks, and where.
#[derive(Clone, Debug, PartialEq)]
pub struct Violation {
    /// The file in the recording's directory.
    pub file: String,
    /// The row in it, from 0, where it is about a row. Rows of damaged chunks do not count.
    pub row: Option<u64>,
    /// The rule that is broken.
    pub rule: Rule,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file)?;
        if let Some(row) = self.row {
            write!(f, ", row {row}")?;
        }
        write!(f, ": {}", self.rule)
    }
}

/// How a rule can be broken.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum Rule {
    /// A number that must be finite and not negative is not.
    #[error("{0} is negative or not a number")]
    BadNumber(&'static str),
    /// A process's or thread's id is not its index.
    #[error("{0} at index {1} has another id")]
    IdIsNotIndex(&'static str, usize),
    /// A process names a parent that does not exist, or itself.
    #[error("process {} cannot be a parent here", .0.0)]
    BadParent(ProcessId),
    /// A range of addresses has no bytes.
    #[error("{0} has an empty range")]
    EmptyRange(String),
    /// Something ended before it began.
    #[error("{0} ends before it begins")]
    EndsBeforeStart(String),
    /// A build id is not lower-case hexadecimal.
    #[error("build id of {0} is not hexadecimal")]
    BadBuildId(String),
    /// A processor is listed twice.
    #[error("processor {} is listed twice", .0.0)]
    CpuTwice(Cpu),
    /// A thread has more of something than of what it is a part of.
    #[error("thread {thread} has more {part} than {whole}")]
    MoreThanWhole {
        /// The thread's index.
        thread: usize,
        /// What there is too much of.
        part: &'static str,
        /// What it is a part of.
        whole: &'static str,
    },
    /// A complete recording says that it was cut short.
    #[error("complete and cut short at once")]
    CompleteYetCutShort,

    /// The manifest lists a file that no recording has, or one twice.
    #[error("file {0:?} should not be listed, or not twice")]
    UnexpectedFile(String),
    /// The recording is finished, but the file is not listed.
    #[error("not listed in the manifest")]
    NotListed,
    /// The file has another length than when it was finished.
    #[error("{found} bytes where the manifest says {stated}")]
    Length {
        /// Bytes according to the manifest.
        stated: u64,
        /// Bytes on disk.
        found: u64,
    },
    /// The file's bytes are not those that were written.
    #[error("checksum {found:#010x} where the manifest says {stated:#010x}")]
    Checksum {
        /// CRC-32 according to the manifest.
        stated: u32,
        /// CRC-32 of the bytes on disk.
        found: u32,
    },
    /// The file, or a chunk of it, cannot be read.
    #[error("{0}")]
    Unreadable(String),
    /// The file of a finished recording ends in the middle of a chunk.
    #[error("ends in the middle of a chunk")]
    Truncated,

    /// A time before the recording began or after it ended.
    #[error("time {} is outside the run", .0.0)]
    OutsideRun(Nanos),
    /// There is no such thread.
    #[error("no thread {}", .0.0)]
    UnknownThread(ThreadId),
    /// There is no such process.
    #[error("no process {}", .0.0)]
    UnknownProcess(ProcessId),
    /// The machine has no such processor.
    #[error("no processor {}", .0.0)]
    UnknownCpu(Cpu),
    /// The manifest has no name for the counter.
    #[error("no counter {0}")]
    UnknownCounter(u32),
    /// The call path is not in the recording.
    #[error("no stack {:#x}", .0.0)]
    UnknownStack(StackId),
    /// An access of no bytes.
    #[error("access of width 0")]
    ZeroWidth,
    /// An access or object that goes past the end of the address space.
    #[error("goes past the end of the address space")]
    AddressWraps,

    /// A weight that is not finite or not positive.
    #[error("weight {0} is not a positive number")]
    BadWeight(f32),
    /// A thread shares with itself.
    #[error("both accesses are by thread {}", .0.0)]
    SameThread(ThreadId),
    /// The earlier access is a load.
    #[error("the earlier access does not write")]
    EarlierDoesNotWrite,
    /// The earlier access came later.
    #[error("the earlier write is later than the event")]
    EarlierIsLater,
    /// The two accesses have no line in common.
    #[error("the accesses touch different lines")]
    DifferentLines,
    /// The accesses overlap in false sharing, or do not in true sharing.
    #[error("class and bytes contradict each other")]
    WrongClass,

    /// A use that was reused or invalidated by no access, or given up because of one.
    #[error("outcome {0:?} and the later access contradict each other")]
    OutcomeAndAccess(ReuseOutcome),
    /// A thread reuses in its own cache what another used.
    #[error("thread {} reuses in its own cache what another used", .0.0)]
    OtherThread(ThreadId),
    /// What invalidates must write.
    #[error("invalidated by a load")]
    InvalidatedByLoad,
    /// A granularity that is no power of two.
    #[error("granularity {0} is not a power of two")]
    BadGranularity(u32),
    /// A bin that does not exist, or one of an access that has no distance.
    #[error("bin {} does not exist here", .0.0)]
    BadBin(LogBin),
    /// A count of nothing.
    #[error("a count of 0")]
    EmptyCell,
    /// An address of pairs that are counted together, which have none in common.
    #[error("address {:#x} cannot be that of all other pairs", .0.0)]
    AddressOfRest(Addr),

    /// An answer that is not JSON.
    #[error("the answer is not JSON")]
    NotJson,

    /// What a thread handed over is not what it should be.
    #[error("not a frame of accesses: {0}")]
    BadFrame(FrameError),

    /// A call path with the id that means that there is none.
    #[error("a stack cannot have the id of no stack")]
    StackIsNone,
    /// A call path of no frames.
    #[error("stack {:#x} has no frames", .0.0)]
    StackIsEmpty(StackId),
    /// A call path is stored twice.
    #[error("stack {:#x} is stored twice", .0.0)]
    StackTwice(StackId),
}
