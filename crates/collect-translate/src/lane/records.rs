//! The words of a thread's buffer, and its place.

use crate::memory::{BUFFER_BYTES, BUFFER_OFFSET};

/// The first word of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token(pub u64);

impl Token {
    /// In place of a template's number: an explicit record follows, with as many accesses as the upper half says.
    pub const EXPLICIT: u32 = i32::MAX as u32;

    /// In place of a template's number: a stamp follows, a reading of the time-stamp counter.
    pub const STAMP: u32 = Self::EXPLICIT - 1;

    /// In place of a template's number: a note follows, a reading of the time-stamp counter and two words of the embedder.
    pub const NOTE: u32 = Self::STAMP - 1;

    /// A block of which only the first `accesses` took place.
    pub const fn cut(template: u32, accesses: u32) -> Self {
        Self(template as u64 | (accesses as u64) << 32)
    }

    /// An explicit record.
    pub const fn explicit(accesses: u32) -> Self {
        Self(Self::EXPLICIT as u64 | (accesses as u64) << 32)
    }

    /// In place of the uppermost bit of a template's number, and of all bits above: a timed load follows. So an
    /// instruction can store it as a 32-bit constant.
    const TIMED: i32 = i32::MIN;

    /// The constant that becomes the token of a timed load when its sign is extended.
    pub const fn timed(template: u32) -> u32 {
        template | Self::TIMED as u32
    }

    /// Whether a timed load follows.
    pub const fn is_timed(self) -> bool {
        (self.0 as i64) < 0
    }

    /// The number of the block's first template.
    pub const fn template(self) -> u32 {
        self.0 as u32 & !(Self::TIMED as u32)
    }

    /// How many accesses the record has; 0: all of the block's.
    pub const fn accesses(self) -> u32 {
        (self.0 >> 32) as u32
    }
}

/// Words of a timed load: token, address, and its begin and end as the lower halves of the time-stamp counter.
pub const TIMED_WORDS: usize = 3;

/// The same in bytes.
pub const TIMED_BYTES: u8 = (TIMED_WORDS * size_of::<u64>()) as u8;

/// Bytes of a store that is recorded by itself: token and address.
pub const STORED_BYTES: u8 = 2 * size_of::<u64>() as u8;

/// Words of a stamp: token and time.
pub const STAMP_WORDS: usize = 2;

/// Words of a note: token, time, and the embedder's.
pub const NOTE_WORDS: usize = 4;

/// Words of an explicit record in front of its accesses: token, instruction, repetitions, stride.
pub const EXPLICIT_WORDS: usize = 4;

/// Words of each of its accesses: first address, width and kind.
pub const EXPLICIT_ACCESS_WORDS: usize = 2;

/// Where the kind begins in the word that begins with the width.
pub const KIND_SHIFT: u32 = 32;

/// Bytes of a stamp in a thread's buffer.
pub const STAMP_BYTES: u32 = (STAMP_WORDS * size_of::<u64>()) as u32;

/// A stamp is written when more than this follows the last one: 64 words, so at most 63 accesses, plus those of the
/// record itself.
pub const STAMP_EVERY_BYTES: u32 = 64 * size_of::<u64>() as u32;

/// A position before all others: a stamp is due.
pub const NO_STAMP_YET: i64 = i32::MIN as i64;

/// Bytes of a buffer beyond those for records: a stamp before the last record, and one after it.
pub const ROOM_FOR_STAMPS: u64 = 2 * STAMP_BYTES as u64;

/// Bytes of a buffer that records may take.
pub const RECORDS_BYTES: u64 = BUFFER_BYTES - ROOM_FOR_STAMPS;

/// The end of these bytes, relative to GS.
pub const BUFFER_END: u32 = (BUFFER_OFFSET + RECORDS_BYTES) as u32;

/// The position of an empty buffer.
pub const EMPTY: i64 = -(RECORDS_BYTES as i64);
