//! Stamps: readings of the time-stamp counter in the stream, which tell when accesses were made.
//!
//! Before code writes a record, it checks whether [`STAMP_EVERY_BYTES`] have been written since the last stamp, and
//! if so writes a stamp first. So there are never more accesses than that between two stamps, except for those of
//! repeated and masked instructions. Another stamp follows each locked instruction: by then the instruction has taken
//! effect, while a reading before it may precede another thread's use of the line. And a thread that comes back from
//! the dispatcher, or from a system call, begins with a stamp.

use std::arch::x86_64::{__cpuid, _mm_lfence, _rdtsc};

use super::thread::Thread;
use crate::lane::records::{NO_STAMP_YET, STAMP_WORDS, Token};

/// Reads the time-stamp counter, as stamps do. What is read from memory afterwards is at least as new.
pub fn now() -> u64 {
    // SAFETY: every x86-64 processor has it; where a program forbids itself to read it, translated code faults as
    // well.
    let now = unsafe { _rdtsc() };
    // SAFETY: part of x86-64.
    unsafe { _mm_lfence() };
    now
}

/// Whether the counter runs at a constant rate (AMD64 Architecture Programmer's Manual, volume 3, CPUID
/// Fn8000_0007_EDX).
pub fn is_invariant() -> bool {
    const POWER: u32 = 0x8000_0007;
    const INVARIANT: u32 = 1 << 8;
    __cpuid(0x8000_0000).eax >= POWER && __cpuid(POWER).edx & INVARIANT != 0
}

impl Thread {
    /// Appends a stamp, for which there must be room.
    pub fn stamp(&mut self) {
        let start = self.streamed().len();
        let words = [u64::from(Token::STAMP), now()];
        if let Some(places) = self.buffer_mut().get_mut(start..start + STAMP_WORDS) {
            places.copy_from_slice(&words);
            self.set_streamed(start + STAMP_WORDS);
        }
    }

    /// Makes its next record begin with a stamp.
    pub fn make_stamp_due(&mut self) {
        self.slots().stamp_at = NO_STAMP_YET;
    }
}
