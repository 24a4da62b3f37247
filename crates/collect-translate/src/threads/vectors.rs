//! The program's vector registers while its thread is in the dispatcher.
//!
//! Compiled code of the engine and the embedder uses XMM0 to XMM15, which are saved on the way to the dispatcher. The
//! other vector registers, and the upper parts of these, are the program's until something may use them: they are saved
//! before that, and only then. Samples are taken and blocks are linked without, because saving and restoring all takes 100 ns (an EPYC).
//!
//! What may use them is code of other libraries, first of all the memory functions of the C library, which compiled code
//! calls everywhere. So exits do without only where [`functions`] stands for those. Debug builds check afterwards that
//! the registers are what they were.

use std::arch::x86_64::_xsave64;

use super::thread::Thread;
use crate::{
    blocks::passages::{MXCSR_OFFSET, WIDE},
    lane::exit::Reason,
    memory::functions,
};

/// The size of an area. The standard format ends at byte 2688 with AVX-512 (Intel SDM volume 1, 13.5.6); the processor
/// reports the offsets of its parts.
pub const VECTORS_BYTES: usize = 8 << 10;

impl Thread {
    /// The thread has left the cache for this reason, and nothing but the way to the dispatcher has run: saves the
    /// vector registers that may be used until it is back.
    pub fn save_vectors_for(&mut self, reason: Reason) {
        if !(reason.defers() && functions::are_ours()) {
            self.save_vectors();
        }
    }

    /// Saves all vector registers that were not saved yet, before something uses them. Signals are blocked then: the
    /// frame of one that is deferred must have these registers.
    pub fn save_vectors(&mut self) {
        if self.slots().whole == 0 {
            self.block_signals();
            self.slots().whole = 1;
            save(self.vectors_area());
        }
    }

    /// The area, as far as it was saved.
    pub fn vectors(&mut self) -> &[u8] {
        if self.slots().whole == 0 {
            return &[];
        }
        // SAFETY: the area lies in the lane, and only the dispatcher of this thread writes there.
        unsafe { std::slice::from_raw_parts(self.vectors_area(), VECTORS_BYTES) }
    }

    fn vectors_area(&mut self) -> *mut u8 {
        std::ptr::with_exposed_provenance_mut(self.slots().vectors as usize)
    }
}

/// Adds what is missing to an area that has XMM0 to XMM15 and MXCSR.
fn save(area: *mut u8) {
    let control = area.wrapping_add(MXCSR_OFFSET).cast::<u32>();
    // SAFETY: within the area, aligned.
    let programs = unsafe { control.read() };
    // SAFETY: an area is large enough and aligned. That the processor has XSAVE was checked at the start, as it has
    // FSGSBASE, which came later.
    unsafe { wide(area) };
    // With AVX, XSAVE also stores MXCSR, which is the engine's by now.
    // SAFETY: as above.
    unsafe { control.write(programs) };
}

/// # Safety
/// The area is 64-byte aligned and has room for all vector registers, and the processor has XSAVE.
#[target_feature(enable = "xsave")]
unsafe fn wide(area: *mut u8) {
    // SAFETY: the caller's promise.
    unsafe { _xsave64(area, u64::from(WIDE)) };
}

/// What debug builds remember of the registers that are not saved.
#[cfg(debug_assertions)]
#[repr(C, align(64))]
pub struct Unsaved([u8; VECTORS_BYTES]);

#[cfg(debug_assertions)]
impl Unsaved {
    /// Where the part begins that is not XMM0 to XMM15, MXCSR or a header (Intel SDM volume 1, 13.4).
    const BEGIN: usize = 576;

    /// The registers now.
    pub fn now() -> Self {
        let mut area = Self([0; VECTORS_BYTES]);
        save(area.0.as_mut_ptr());
        area
    }

    /// Ends the process where the registers of `thread`, which was this before, have been used and not saved.
    pub fn check(&self, thread: &mut Thread) {
        let now = Self::now();
        if thread.slots().whole == 0 && self.0.get(Self::BEGIN..) != now.0.get(Self::BEGIN..) {
            std::process::abort();
        }
    }
}
