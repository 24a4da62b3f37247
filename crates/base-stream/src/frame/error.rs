use carom_base::VarintError;
use thiserror::Error;

use super::MAX_FRAME_BYTES;

/// Why bytes are not a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum FrameError {
    /// A number in it is malformed.
    #[error(transparent)]
    Number(#[from] VarintError),
    /// It is longer than any frame.
    #[error("a frame of {0} bytes is longer than {MAX_FRAME_BYTES}")]
    TooLong(u64),
    /// It is not a beginning, a batch, with or without marks, or an end.
    #[error("{0} is no kind of frame")]
    UnknownFrame(u8),
    /// A number has no meaning in its place.
    #[error("{0} is out of range")]
    OutOfRange(&'static str),
    /// It announces more items than it may have, or has bytes for.
    #[error("more {0} than there may be")]
    TooMany(&'static str),
    /// A batch in a form that is no longer read.
    #[error("these accesses are of an earlier version of carom: record them again")]
    Earlier,
    /// An execution of a block that is not in it.
    #[error("there is no block {0}")]
    UnknownBlock(u32),
    /// It ends before all accesses that it announces.
    #[error("{0} accesses are missing")]
    TooFew(usize),
    /// An access that is not within memory.
    #[error("an access goes past the end of the address space")]
    AddressWraps,
    /// A stamp behind the last access.
    #[error("a stamp lies behind the last access")]
    StampBehindEnd,
    /// A mark behind the last access.
    #[error("a mark lies behind the last access")]
    MarkBehindEnd,
    /// A missed address behind the last access.
    #[error("a miss lies behind the last access")]
    MissBehindEnd,
    /// It continues after its end.
    #[error("{0} bytes are left over")]
    LeftOver(usize),
}
