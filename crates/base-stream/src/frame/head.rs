use carom_base::{MAX_VARINT_BYTES, Nanos, ThreadId, VarintError, put_varint, take_varint};

use super::{MAX_FRAME_BYTES, MOST_ACCESSES, codes, error::FrameError};

/// The bytes of a frame, without its length, and those that follow it.
pub type FrameAndRest<'a> = (&'a [u8], &'a [u8]);

/// Cuts off the first frame. `None` where it is incomplete.
///
/// # Errors
/// No frame begins here. Then the start of the next one is unknown, too.
pub fn split(bytes: &[u8]) -> Result<Option<FrameAndRest<'_>>, FrameError> {
    let mut rest = bytes;
    let length = match take_varint(&mut rest) {
        Ok(length) => length,
        Err(VarintError::Incomplete) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    match usize::try_from(length).ok().filter(|length| *length <= MAX_FRAME_BYTES) {
        Some(length) => Ok(rest.split_at_checked(length)),
        None => Err(FrameError::TooLong(length)),
    }
}

/// The same frame for another thread, for readers that number threads differently. Both are without their length.
///
/// # Errors
/// The frame does not begin with a thread.
pub fn with_thread(frame: &[u8], other: impl FnOnce(ThreadId) -> ThreadId) -> Result<Vec<u8>, FrameError> {
    let mut rest = frame;
    let thread = other(take_thread(&mut rest)?);
    let mut renumbered = Vec::with_capacity(rest.len() + MAX_VARINT_BYTES);
    put_varint(&mut renumbered, thread.0.into());
    renumbered.extend_from_slice(rest);
    Ok(renumbered)
}

/// What a frame begins with, which is read without the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The thread.
    pub thread: ThreadId,
    /// When it was handed over.
    pub at: Nanos,
    /// The number of accesses of a batch; `None` for a thread's beginning or end.
    pub accesses: Option<usize>,
}

impl Head {
    /// Reads the beginning of the frame in `bytes`, which is without its length.
    ///
    /// # Errors
    /// The bytes do not begin as those of a frame.
    pub fn decode(bytes: &[u8]) -> Result<Self, FrameError> {
        Self::take(&mut &*bytes).map(|(head, _)| head)
    }

    /// Takes it from the front of `rest`, with the code of what the frame is.
    pub(super) fn take(rest: &mut &[u8]) -> Result<(Self, u8), FrameError> {
        let thread = take_thread(rest)?;
        let at = Nanos(take_varint(rest)?);
        let what = take_byte(rest)?;
        let accesses = match what {
            codes::BEGIN | codes::END => None,
            codes::BATCH | codes::BATCH_WITH_MARKS => Some(take_accesses(rest)?),
            what if codes::EARLIER.contains(&what) => return Err(FrameError::Earlier),
            other => return Err(FrameError::UnknownFrame(other)),
        };
        Ok((Self { thread, at, accesses }, what))
    }
}

fn take_accesses(rest: &mut &[u8]) -> Result<usize, FrameError> {
    let count = usize::try_from(take_varint(rest)?).ok();
    count.filter(|count| *count <= MOST_ACCESSES).ok_or(FrameError::TooMany("accesses"))
}

fn take_thread(rest: &mut &[u8]) -> Result<ThreadId, FrameError> {
    take_u32(rest, "a thread").map(ThreadId)
}

pub(super) fn take_u32(rest: &mut &[u8], what: &'static str) -> Result<u32, FrameError> {
    u32::try_from(take_varint(rest)?).map_err(|_| FrameError::OutOfRange(what))
}

pub(super) fn take_byte(rest: &mut &[u8]) -> Result<u8, FrameError> {
    let (&byte, behind) = rest.split_first().ok_or(VarintError::Incomplete)?;
    *rest = behind;
    Ok(byte)
}

/// A number of things that take at least `bytes` bytes each.
pub(super) fn take_count(rest: &mut &[u8], bytes: usize, what: &'static str) -> Result<usize, FrameError> {
    let count = usize::try_from(take_varint(rest)?).ok();
    count.filter(|count| *count <= rest.len() / bytes).ok_or(FrameError::TooMany(what))
}
