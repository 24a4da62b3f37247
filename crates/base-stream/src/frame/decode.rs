use carom_base::{
    Access, Addr, Domain, Ip, MAX_VARINT_BYTES, Nanos, ThreadId, VarintError, at_difference, put_varint,
    skip_varints, take_varint,
};

use super::{
    MAX_FRAME_BYTES, codes,
    error::FrameError,
    site::{Expected, Site},
};
use crate::{
    interleave::Stamp,
    record::Streamed,
    synchronisation::{Act, Mark, Synchronisation},
};

/// What a thread has handed over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The thread.
    pub thread: ThreadId,
    /// When.
    pub at: Nanos,
    /// The content.
    pub content: Content,
}

/// The content of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// The thread begins to access memory.
    Begin,
    /// The thread has made these accesses. See [`Batch`](crate::Batch).
    Batch {
        /// The shared cache that it ran on.
        domain: Domain,
        /// Whether the thread accesses nothing until it begins again.
        pauses: bool,
        /// In the order of the program.
        stamps: Vec<Stamp>,
        /// In the order of the program.
        marks: Vec<Mark>,
        /// In the order of the program.
        accesses: Vec<Streamed>,
    },
    /// The thread makes no more accesses.
    End,
}

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

impl Frame {
    /// Decodes the frame in `bytes`, which is without its length.
    ///
    /// # Errors
    /// The bytes are not what an [`Encoder`](super::Encoder) writes.
    pub fn decode(bytes: &[u8]) -> Result<Self, FrameError> {
        let mut rest = bytes;
        let thread = take_thread(&mut rest)?;
        let at = Nanos(take_varint(&mut rest)?);
        let content = match take_byte(&mut rest)? {
            codes::BEGIN => Content::Begin,
            codes::BATCH => take_batch(&mut rest, at, |_| Ok(Vec::new()))?,
            codes::BATCH_WITH_MARKS => take_batch(&mut rest, at, |rest| take_marks(rest, at))?,
            codes::END => Content::End,
            other => return Err(FrameError::UnknownFrame(other)),
        };
        if rest.is_empty() { Ok(Self { thread, at, content }) } else { Err(FrameError::LeftOver(rest.len())) }
    }
}

fn take_batch(
    rest: &mut &[u8],
    at: Nanos,
    take_marks: impl FnOnce(&mut &[u8]) -> Result<Vec<Mark>, FrameError>,
) -> Result<Content, FrameError> {
    let domain = Domain(take_u32(rest, "a domain")?);
    let pauses = match take_byte(rest)? {
        byte @ 0..=1 => byte == 1,
        _ => return Err(FrameError::OutOfRange("whether the thread pauses")),
    };
    let stamps = take_stamps(rest, at)?;
    let marks = take_marks(rest)?;
    let sites = take_sites(rest)?;
    let accesses = take_accesses(rest, &sites)?;
    if stamps.last().is_some_and(|last| last.accesses > accesses.len()) {
        return Err(FrameError::StampBehindEnd);
    }
    if marks.last().is_some_and(|last| last.accesses > accesses.len()) {
        return Err(FrameError::MarkBehindEnd);
    }
    Ok(Content::Batch { domain, pauses, stamps, marks, accesses })
}

fn take_stamps(rest: &mut &[u8], at: Nanos) -> Result<Vec<Stamp>, FrameError> {
    let mut before = Stamp { accesses: 0, at };
    let count = take_count(rest, 2, "stamps")?;
    let stamp = |_| {
        before = take_stamp(rest, before)?.ok_or(FrameError::StampBehindEnd)?;
        Ok(before)
    };
    (0..count).map(stamp).collect()
}

fn take_marks(rest: &mut &[u8], at: Nanos) -> Result<Vec<Mark>, FrameError> {
    let (mut before, mut object) = (Stamp { accesses: 0, at }, 0);
    let count = take_count(rest, 4, "marks")?;
    if count == 0 {
        return Err(FrameError::OutOfRange("a number of marks"));
    }
    let mark = |_| {
        before = take_stamp(rest, before)?.ok_or(FrameError::MarkBehindEnd)?;
        let what = Act::from_u8(take_byte(rest)?).ok_or(FrameError::OutOfRange("a synchronisation"))?;
        object = at_difference(object, take_varint(rest)?);
        let synchronisation = Synchronisation { what, object: Addr(object) };
        Ok(Mark { accesses: before.accesses, at: before.at, synchronisation })
    };
    (0..count).map(mark).collect()
}

/// The stamp after the one `before`; `None` where its number of accesses is none.
fn take_stamp(rest: &mut &[u8], before: Stamp) -> Result<Option<Stamp>, FrameError> {
    let since = usize::try_from(take_varint(rest)?).ok();
    let at = Nanos(at_difference(before.at.0, take_varint(rest)?));
    let accesses = since.and_then(|since| before.accesses.checked_add(since));
    Ok(accesses.map(|accesses| Stamp { accesses, at }))
}

fn take_sites(rest: &mut &[u8]) -> Result<Vec<Site>, FrameError> {
    let mut ip = 0;
    let count = take_count(rest, 3, "sites")?;
    let site = |_| {
        ip = at_difference(ip, take_varint(rest)?);
        let width = take_u32(rest, "a width")?;
        let site = Site { ip: Ip(ip), width, kind: take_byte(rest)? };
        if width == 0 {
            return Err(FrameError::OutOfRange("a width"));
        }
        site.kind().map(|_| site).ok_or(FrameError::OutOfRange("a kind"))
    };
    (0..count).map(site).collect()
}

fn take_accesses(rest: &mut &[u8], sites: &[Site]) -> Result<Vec<Streamed>, FrameError> {
    let count = take_count(rest, 2, "accesses")?;
    // The addresses follow the sites of all accesses, which end after that many numbers.
    let mut addresses = *rest;
    skip_varints(&mut addresses, count)?;
    let mut expected = Expected::default();
    sites.iter().for_each(|_| expected.add_site());
    // What all accesses of a site have in common.
    let common = |site: &Site| {
        let (kind, atomic) = site.kind().ok_or(FrameError::OutOfRange("a kind"))?;
        Ok(Streamed { access: Access { ip: site.ip, addr: Addr(0), width: site.width, kind }, atomic })
    };
    let sites: Vec<Streamed> = sites.iter().map(common).collect::<Result<_, FrameError>>()?;
    let mut accesses = Vec::with_capacity(count);
    for _ in 0..count {
        let number = match take_varint(rest)? {
            0 => expected.site().into(),
            code => code - 1,
        };
        let known =
            u32::try_from(number).ok().and_then(|n| Some((n, sites.get(n as usize)?, expected.address(n)?)));
        let (number, site, before) = known.ok_or(FrameError::UnknownSite(number))?;
        let addr = Addr(at_difference(before.0, take_varint(&mut addresses)?));
        expected.note(number, addr);
        if addr.0.checked_add(site.access.width.into()).is_none() {
            return Err(FrameError::AddressWraps);
        }
        accesses.push(Streamed { access: Access { addr, ..site.access }, ..*site });
    }
    *rest = addresses;
    Ok(accesses)
}

/// A number of things that take at least `bytes` bytes each.
fn take_count(rest: &mut &[u8], bytes: usize, what: &'static str) -> Result<usize, FrameError> {
    let count = usize::try_from(take_varint(rest)?).ok();
    count.filter(|count| *count <= rest.len() / bytes).ok_or(FrameError::TooMany(what))
}

fn take_thread(rest: &mut &[u8]) -> Result<ThreadId, FrameError> {
    take_u32(rest, "a thread").map(ThreadId)
}

fn take_u32(rest: &mut &[u8], what: &'static str) -> Result<u32, FrameError> {
    u32::try_from(take_varint(rest)?).map_err(|_| FrameError::OutOfRange(what))
}

fn take_byte(rest: &mut &[u8]) -> Result<u8, FrameError> {
    let (&byte, behind) = rest.split_first().ok_or(VarintError::Incomplete)?;
    *rest = behind;
    Ok(byte)
}
