use carom_base::VarintError;
use thiserror::Error;

use super::MAX_FRAME_BYTES;

/// Why bytes are not a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum FrameError {
    /// A number in it is none.
    #[error(transparent)]
    Number(#[from] VarintError),
    /// It is longer than any frame.
    #[error("a frame of {0} bytes is longer than {MAX_FRAME_BYTES}")]
    TooLong(u64),
    /// It is neither a beginning nor a batch nor an end.
    #[error("{0} is no kind of frame")]
    UnknownFrame(u8),
    /// A number has no meaning in its place.
    #[error("{0} is out of range")]
    OutOfRange(&'static str),
    /// It has more of something than it has bytes for.
    #[error("more {0} than bytes")]
    TooMany(&'static str),
    /// An access of a site that is not in it.
    #[error("there is no site {0}")]
    UnknownSite(u64),
    /// An access that is not within memory.
    #[error("an access goes past the end of the address space")]
    AddressWraps,
    /// A stamp behind the last access.
    #[error("a stamp lies behind the last access")]
    StampBehindEnd,
    /// It goes on behind its end.
    #[error("{0} bytes are left over")]
    LeftOver(usize),
}
