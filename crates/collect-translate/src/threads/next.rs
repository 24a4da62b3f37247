//! Where a thread continues.

use super::thread::Thread;
use crate::probes::coverage::Leave;

/// The thread continues at `cache`, which corresponds to `pc`.
pub fn go_on(thread: &mut Thread, cache: u64, pc: u64) {
    let slots = thread.slots();
    slots.next = cache;
    slots.pc = pc;
}

/// The thread continues at `pc` outside the cache.
pub fn leave(thread: &mut Thread, pc: u64, why: Leave) {
    thread.clock.leave(why);
    go_on(thread, pc, pc);
}
