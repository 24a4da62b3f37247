//! The words of a thread's buffer, and where it lies.

use crate::memory::{BUFFER_BYTES, BUFFER_OFFSET};

/// The first word of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token(pub u64);

impl Token {
    /// In place of a template's number: an explicit record follows, of as many accesses as the upper half says.
    pub const EXPLICIT: u32 = i32::MAX as u32;

    /// In place of a template's number: a stamp follows, a reading of the time-stamp counter.
    pub const STAMP: u32 = Self::EXPLICIT - 1;

    /// A block of which only the first `accesses` have taken place.
    pub const fn cut(template: u32, accesses: u32) -> Self {
        Self(template as u64 | (accesses as u64) << 32)
    }

    /// An explicit record.
    pub const fn explicit(accesses: u32) -> Self {
        Self(Self::EXPLICIT as u64 | (accesses as u64) << 32)
    }

    /// In place of a template's number's uppermost bit, and of all above: a load that was timed follows. So an instruction
    /// can store it as a constant of 32 bits.
    const TIMED: i32 = i32::MIN;

    /// The constant whose sign, extended, makes the token of a load that was timed.
    pub const fn timed(template: u32) -> u32 {
        template | Self::TIMED as u32
    }

    /// Whether a load that was timed follows.
    pub const fn is_timed(self) -> bool {
        (self.0 as i64) < 0
    }

    /// The number of the block's first template.
    pub const fn template(self) -> u32 {
        self.0 as u32 & !(Self::TIMED as u32)
    }

    /// How many accesses the record has; 0: as many as the block.
    pub const fn accesses(self) -> u32 {
        (self.0 >> 32) as u32
    }
}

/// Words of a load that was timed: token, address, and when it began and ended, the lower halves of what the time-stamp
/// counter said.
pub const TIMED_WORDS: usize = 3;

/// The same in bytes.
pub const TIMED_BYTES: u8 = (TIMED_WORDS * size_of::<u64>()) as u8;

/// Words of a stamp: token and time.
pub const STAMP_WORDS: usize = 2;

/// Words of an explicit record in front of its accesses: token, instruction, repetitions, stride.
pub const EXPLICIT_WORDS: usize = 4;

/// Words of each of its accesses: first address, width and kind.
pub const EXPLICIT_ACCESS_WORDS: usize = 2;

/// Where the kind begins in the word that begins with the width.
pub const KIND_SHIFT: u32 = 32;

/// Bytes of a stamp in a thread's buffer.
pub const STAMP_BYTES: u32 = (STAMP_WORDS * size_of::<u64>()) as u32;

/// A stamp is written where more than so much follows the last one: 64 words, and so 63 accesses at most, with what the
/// record has itself.
pub const STAMP_EVERY_BYTES: u32 = 64 * size_of::<u64>() as u32;

/// A position that all others are behind: a stamp is due.
pub const NO_STAMP_YET: i64 = i32::MIN as i64;

/// Bytes that a buffer has beyond what records may take: a stamp in front of the last one, and one behind it.
pub const ROOM_FOR_STAMPS: u64 = 2 * STAMP_BYTES as u64;

/// Bytes of a buffer that records may take.
pub const RECORDS_BYTES: u64 = BUFFER_BYTES - ROOM_FOR_STAMPS;

/// One past these, relative to GS.
pub const BUFFER_END: u32 = (BUFFER_OFFSET + RECORDS_BYTES) as u32;

/// An empty buffer's position.
pub const EMPTY: i64 = -(RECORDS_BYTES as i64);
