use carom_base::{Addr, Domain, Nanos, ThreadId, VarintError, at_difference, take_varint};

use super::{
    blocks::Blocks,
    codes,
    error::FrameError,
    form::{AsRecorded, Form},
    head::{Head, take_byte, take_count, take_u32},
    sites::{Site, take_sites},
    stride::Stride,
};
use crate::{
    interleave::Stamp,
    record::Streamed,
    synchronisation::{Act, Mark, Synchronisation},
};

/// What a thread has handed over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame<A = Streamed> {
    /// The thread.
    pub thread: ThreadId,
    /// When.
    pub at: Nanos,
    /// The content.
    pub content: Content<A>,
}

/// The content of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content<A = Streamed> {
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
        accesses: Vec<A>,
    },
    /// The thread makes no more accesses.
    End,
}

impl Frame {
    /// Decodes the frame in `bytes`, which is without its length.
    ///
    /// # Errors
    /// The bytes are not what an [`Encoder`](super::Encoder) writes.
    pub fn decode(bytes: &[u8]) -> Result<Self, FrameError> {
        Self::decode_as(bytes, &mut AsRecorded)
    }
}

impl<A: Copy> Frame<A> {
    /// The same, with accesses in another form.
    ///
    /// # Errors
    /// As [`Frame::decode`].
    pub fn decode_as<F: Form<Access = A>>(bytes: &[u8], form: &mut F) -> Result<Self, FrameError> {
        let mut rest = bytes;
        let (Head { thread, at, accesses }, what) = Head::take(&mut rest)?;
        let content = match accesses {
            Some(count) => {
                let has_marks = what == codes::BATCH_WITH_MARKS;
                take_batch(&mut rest, at, count, has_marks, |first| form.site(thread, first), F::at)?
            }
            None if what == codes::BEGIN => Content::Begin,
            None => Content::End,
        };
        if rest.is_empty() { Ok(Self { thread, at, content }) } else { Err(FrameError::LeftOver(rest.len())) }
    }
}

fn take_batch<A: Copy>(
    rest: &mut &[u8],
    at: Nanos,
    count: usize,
    has_marks: bool,
    form: impl FnMut(&Streamed) -> A,
    place: impl Fn(A, Addr) -> A,
) -> Result<Content<A>, FrameError> {
    let domain = Domain(take_u32(rest, "a domain")?);
    let pauses = match take_byte(rest)? {
        byte @ 0..=1 => byte == 1,
        _ => return Err(FrameError::OutOfRange("whether the thread pauses")),
    };
    let stamps = take_stamps(rest, at)?;
    let marks = if has_marks { take_marks(rest, at)? } else { Vec::new() };
    if stamps.last().is_some_and(|last| last.accesses > count) {
        return Err(FrameError::StampBehindEnd);
    }
    if marks.last().is_some_and(|last| last.accesses > count) {
        return Err(FrameError::MarkBehindEnd);
    }
    let (blocks, sites, strides) = take_sites(rest, form)?;
    let length = take_count(rest, 1, "executions")?;
    let (mut executions, misses) = rest.split_at_checked(length).ok_or(VarintError::Incomplete)?;
    *rest = misses;
    let accesses = Vec::with_capacity(count);
    let (told, next_miss, wraps) = (0, NONE, false);
    let mut reader = Executions { blocks, sites, strides, count, accesses, told, next_miss, wraps, place };
    reader.take(&mut executions, rest)?;
    Ok(Content::Batch { domain, pauses, stamps, marks, accesses: reader.accesses })
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

/// Reads accesses.
struct Executions<A, P> {
    blocks: Blocks,
    sites: Vec<Site<A>>,
    strides: Vec<Stride>,
    /// How many there are to be.
    count: usize,
    accesses: Vec<A>,
    /// Addresses so far.
    told: usize,
    /// The number of the next address that was missed.
    next_miss: usize,
    /// An access goes past the end of the address space.
    wraps: bool,
    place: P,
}

impl<A: Copy, P: Fn(A, Addr) -> A> Executions<A, P> {
    fn take(&mut self, executions: &mut &[u8], misses: &mut &[u8]) -> Result<(), FrameError> {
        self.next_miss = next_miss(misses, 0)?;
        while !executions.is_empty() {
            let code = take_varint(executions)?;
            for _ in 0..code >> codes::FLAG_BITS {
                let number = self.blocks.expected();
                self.execute(number, self.blocks.times(number), misses)?;
            }
            let (other, differs) = (code & codes::OTHER_BLOCK != 0, code & codes::OTHER_TIMES != 0);
            if other || differs {
                let number = if other { take_u32(executions, "a block")? } else { self.blocks.expected() };
                let times = if differs {
                    take_u32(executions, "a number of executions")?
                } else {
                    self.blocks.times(number)
                };
                self.execute(number, times, misses)?;
            }
        }
        if self.wraps {
            return Err(FrameError::AddressWraps);
        }
        match self.count - self.accesses.len() {
            0 if self.next_miss == NONE => Ok(()),
            0 => Err(FrameError::MissBehindEnd),
            left => Err(FrameError::TooFew(left)),
        }
    }

    /// A block, executed so often in a row.
    fn execute(&mut self, number: u32, times: u32, misses: &mut &[u8]) -> Result<(), FrameError> {
        let block = self.blocks.get(number).ok_or(FrameError::UnknownBlock(number))?;
        let (sites, strides) = (self.sites.get(block.sites()), self.strides.get_mut(block.addresses()));
        let (Some(sites), Some(strides)) = (sites, strides) else {
            return Err(FrameError::UnknownBlock(number));
        };
        if times == 0 {
            return Err(FrameError::OutOfRange("a number of executions"));
        }
        if times as usize > (self.count - self.accesses.len()) / sites.len() {
            return Err(FrameError::TooMany("accesses"));
        }
        for time in 0..times {
            let repeats = time > 0;
            for (stride, number) in strides.iter_mut().zip(self.told..) {
                if number == self.next_miss {
                    stride.at(repeats, at_difference(0, take_varint(misses)?));
                    self.next_miss = next_miss(misses, number + 1)?;
                } else {
                    stride.hit(repeats);
                }
            }
            self.told += strides.len();
            let Self { place, wraps, .. } = self;
            self.accesses.extend(sites.iter().map(|site| {
                let from = strides.get(site.of as usize).map_or(0, Stride::last);
                let addr = from.wrapping_add(site.offset);
                *wraps |= addr.checked_add(site.width.into()).is_none();
                place(site.form, Addr(addr))
            }));
        }
        self.blocks.executed(number, times);
        Ok(())
    }
}

/// In place of the number of the next address that was missed: there is none.
const NONE: usize = usize::MAX;

/// Takes the number of the next address that was missed, from the one with the number `from` on.
fn next_miss(misses: &mut &[u8], from: usize) -> Result<usize, FrameError> {
    if misses.is_empty() {
        return Ok(NONE);
    }
    let until = usize::try_from(take_varint(misses)?).ok();
    until.and_then(|until| from.checked_add(until)).ok_or(FrameError::OutOfRange("a number of addresses"))
}
