//! A thread's signals while it is in the dispatcher: blocked by the kernel, or deferred (`signal::defer`).

use std::sync::atomic::{Ordering::SeqCst, compiler_fence};

use super::thread::Thread;
use crate::memory;

impl Thread {
    /// Whether signals are deferred on the way in and out, which takes no time.
    pub fn defers(&mut self) -> bool {
        self.slots().defers != 0
    }

    /// Blocks all signals if they are only deferred: before anything that a signal must not interrupt.
    pub fn block_signals(&mut self) {
        let slots = self.slots();
        let (blocked, mask) = (&raw mut slots.blocked, &raw mut slots.mask);
        // SAFETY: the calling thread's; a word that handlers write, too.
        if unsafe { blocked.read_volatile() } != 0 {
            return;
        }
        let before = block_all();
        compiler_fence(SeqCst);
        // What was deferred meanwhile has blocked all before.
        // SAFETY: as above.
        if unsafe { blocked.read_volatile() } == 0 {
            // SAFETY: as above.
            unsafe { mask.write_volatile(before) };
            // SAFETY: as above.
            unsafe { blocked.write_volatile(1) };
        }
    }
}

/// Blocks all signals, and returns which were.
fn block_all() -> u64 {
    let (every, mut before) = (u64::MAX, 0u64);
    let [new, old] = [&raw const every as u64, &raw mut before as u64];
    let arguments = [libc::SIG_SETMASK as u64, new, old, size_of::<u64>() as u64, 0, 0];
    // SAFETY: valid sets.
    let _ = unsafe { memory::call(libc::SYS_rt_sigprocmask, arguments) };
    before
}
