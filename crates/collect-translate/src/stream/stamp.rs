//! When accesses were made: readings of the time-stamp counter in the stream.
//!
//! Code that writes a record down looks whether [`STAMP_EVERY_BYTES`] have been written since the last stamp, and writes
//! one first: so there are never more accesses than that between two of them, but for those of repeated and masked
//! instructions. Another follows each locked instruction, when it has been executed: that is the moment by which it took
//! effect, while what comes in front of it may be from before the line was another's. And whoever comes back from the
//! dispatcher, or from a system call, begins with one.

use std::arch::x86_64::{__cpuid, _mm_lfence, _rdtsc};

use iced_x86::Mnemonic;

use super::{Token, record::STAMP_WORDS};
use crate::{block::Decoded, thread::Thread};

/// Bytes of a stamp in a thread's buffer.
pub const STAMP_BYTES: u32 = (STAMP_WORDS * size_of::<u64>()) as u32;

/// A stamp is written where more than so much follows the last one: 64 words, and so 63 accesses at most, with what the
/// record has itself.
pub const STAMP_EVERY_BYTES: u32 = 64 * size_of::<u64>() as u32;

/// A position that all others are behind: a stamp is due.
pub const NO_STAMP_YET: i64 = i32::MIN as i64;

/// Bytes that a buffer has beyond what records may take: a stamp in front of the last one, and one behind it.
pub const ROOM_FOR_STAMPS: u64 = 2 * STAMP_BYTES as u64;

/// The time-stamp counter, as stamps have it. What is read from memory afterwards is at least as new.
pub fn now() -> u64 {
    // SAFETY: every x86-64 processor has it; where a program forbids itself to read it, translated code faults as well.
    let now = unsafe { _rdtsc() };
    // SAFETY: part of x86-64.
    unsafe { _mm_lfence() };
    now
}

/// Whether the counter runs at one rate whatever the processor does (AMD64 Architecture Programmer's Manual, volume 3,
/// CPUID Fn8000_0007_EDX).
pub fn is_invariant() -> bool {
    const POWER: u32 = 0x8000_0007;
    const INVARIANT: u32 = 1 << 8;
    __cpuid(0x8000_0000).eax >= POWER && __cpuid(POWER).edx & INVARIANT != 0
}

/// Whether the time behind an instruction is to be known.
pub fn is_stamped(decoded: &Decoded) -> bool {
    decoded.statics.atomic
}

/// Whether the next record is to begin with a stamp: behind a fence.
pub fn is_fence(decoded: &Decoded) -> bool {
    matches!(decoded.instruction.mnemonic(), Mnemonic::Mfence)
}

impl Thread {
    /// Appends a stamp, for which there is room.
    pub fn stamp(&mut self) {
        let start = self.streamed().len();
        let words = [u64::from(Token::STAMP), now()];
        if let Some(places) = self.buffer_mut().get_mut(start..start + STAMP_WORDS) {
            places.copy_from_slice(&words);
            self.set_streamed(start + STAMP_WORDS);
        }
    }

    /// Its next record begins with a stamp.
    pub fn make_stamp_due(&mut self) {
        self.slots().stamp_at = NO_STAMP_YET;
    }
}
