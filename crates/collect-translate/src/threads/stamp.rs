//! When accesses were made: readings of the time-stamp counter in the stream.
//!
//! Code that writes a record down looks whether [`STAMP_EVERY_BYTES`] have been written since the last stamp, and writes
//! one first: so there are never more accesses than that between two of them, but for those of repeated and masked
//! instructions. Another follows each locked instruction, when it has been executed: that is the moment by which it took
//! effect, while what comes in front of it may be from before the line was another's. And whoever comes back from the
//! dispatcher, or from a system call, begins with one.

use std::arch::x86_64::{__cpuid, _mm_lfence, _rdtsc};

use super::thread::Thread;
use crate::lane::records::{NO_STAMP_YET, STAMP_WORDS, Token};

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
