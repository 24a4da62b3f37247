//! Heap objects by where they were allocated: which block of memory a contended line lies in.
//!
//! While the program runs, the hooks of `malloc` and its kin enter every live block with the number of the call path that
//! allocated it: small ones in the shadow of the heap ([`shadow`]), large ones in a [`BlockTable`]. The signal handler looks
//! the addresses of sharing events up there and tells the host about the blocks that it finds; all others are never
//! reported.
//!
//! Programs allocate all the time. So the usual allocation takes neither a lock nor a system call, nor does it unwind:
//! its call path is recognised ([`tree`]), and the block is entered by one store. Only what is new takes the slow way
//! ([`slow`]). The functions of the usual way are inlined into the hooks, which are translated with the program's
//! code where the engine translates; what is called beyond runs natively and is an exit from the cache.
//!
//! A program's signal handler may allocate, or jump away, while a hook is at work on the same thread. So each
//! step is either lock-free or done under a lock that knows its holder ([`HolderLock`]), and memory for the
//! tables comes straight from the kernel.

mod caller;
mod lock;
mod path;
mod report;
mod reported;
mod shadow;
mod shard;
mod site;
mod slow;
mod table;
pub mod thread_heap;
mod tree;

pub use caller::Caller;
pub use report::{report, report_access};
pub use shard::Object;
pub use slow::has_room;

use std::{
    ffi::c_void,
    ops::Range,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

use lock::HolderLock;
use table::{BlockTable, Busy};

use crate::{hooks::heap::follow_heap, modules};

/// The live blocks of this process that the shadow does not have.
static TABLE: BlockTable = BlockTable::new();

/// The least size of a block that is entered, in bytes; `u64::MAX` while none is.
static LEAST: AtomicU64 = AtomicU64::new(u64::MAX);

/// Begins to follow blocks of at least `least` bytes.
pub fn start(least: u64) {
    // Nothing can lie in an empty block.
    LEAST.store(least.max(1), Relaxed);
    modules::when_code_goes(tree::forget);
    follow_heap(true);
}

/// Ends following; entered blocks stay.
pub fn stop() {
    follow_heap(false);
    LEAST.store(u64::MAX, Relaxed);
}

/// In a forked child: what another thread of the parent was changing starts over.
pub fn after_fork() {
    TABLE.after_fork();
    tree::after_fork();
}

/// Enters a block that was just allocated. Not for our own handlers.
#[inline(always)]
pub fn allocated(block: *mut c_void, size: usize, caller: Caller) {
    let (base, size) = (block.addr() as u64, size as u64);
    if base == 0 || size < LEAST.load(Relaxed) {
        return;
    }
    let site = tree::find(&caller);
    if site == 0 || !shadow::enter(Object { base, size, site }) {
        slow::enter(base, size, caller.ip, caller.sp, caller.fp);
    }
}

/// Removes and returns a block that is about to be freed. Not for our own handlers.
#[inline(always)]
pub fn freeing(block: *mut c_void) -> Option<Object> {
    let base = block.addr() as u64;
    let taken = shadow::take(base);
    if taken.is_some() || !TABLE.may_have(base) { taken } else { slow::take(base) }
}

/// Enters a block again that was not freed after all.
#[cold]
pub fn kept(object: Object) {
    if !shadow::enter(object) {
        TABLE.insert(object);
    }
}

/// A block that has a byte in `range`: of several the last one, and small ones before large ones. Signal-safe.
///
/// # Errors
/// [`Busy`]: it may exist.
fn find(range: Range<u64>) -> Result<Option<Object>, Busy> {
    shadow::find(&range).map_or_else(|| TABLE.find(range), |found| Ok(Some(found)))
}
