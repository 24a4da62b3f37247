//! Heap objects by where they were allocated: which block of memory a contended line lies in.
//!
//! While the program runs, the hooks of `malloc` and its kin enter every live block with the call path that allocated
//! it in one [`BlockTable`]. The signal handler looks the addresses of sharing events up there and tells the host about
//! the blocks that it finds; all others are never reported.
//!
//! A program's signal handler may allocate, or jump away, while a hook is at work on the same thread. So each
//! step is either lock-free or done under a lock that knows its holder ([`HolderLock`]), and memory for the
//! table comes straight from the kernel.

mod lock;
mod path;
mod report;
mod reported;
mod shard;
mod site;
mod table;
pub mod thread_heap;

pub use path::Caller;
pub use report::{report, report_access};
pub use shard::Object;

use std::{
    ffi::c_void,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

use carom_base_sys::signal;
use lock::HolderLock;
use site::Site;
use table::BlockTable;

use crate::{context::OwnMemory, hooks::heap::follow_heap, modules, registry, thread::State};

/// All live blocks of this process.
static TABLE: BlockTable = BlockTable::new();

/// The least size of a block that is entered, in bytes; `u64::MAX` while none is.
static LEAST: AtomicU64 = AtomicU64::new(u64::MAX);

/// Begins to follow blocks of at least `least` bytes.
pub fn start(least: u64) {
    LEAST.store(least, Relaxed);
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
}

/// Enters a block that was just allocated. Not for our own handlers.
pub fn allocated(block: *mut c_void, size: usize, caller: Caller) {
    let (base, size) = (block.addr() as u64, size as u64);
    // Nothing can lie in an empty block.
    if base == 0 || size < LEAST.load(Relaxed).max(1) {
        return;
    }
    aside(|state| {
        let site = state.and_then(|state| site_of(state, caller));
        TABLE.insert(Object { base, size, site });
    });
}

/// Removes and returns a block that is about to be freed. Not for our own handlers.
pub fn freeing(block: *mut c_void) -> Option<Object> {
    let base = block.addr() as u64;
    if base == 0 { None } else { aside(|_| TABLE.remove(base)) }
}

/// Enters a block again that was not freed after all.
pub fn kept(object: Object) {
    aside(|_| TABLE.insert(object));
}

/// Runs `work` with errno kept and without samples of the thread: the work of a hook is not the program's. The state is
/// `None` in threads that are not sampled, and where a signal handler of the program has interrupted a hook.
fn aside<R>(work: impl FnOnce(Option<&mut State>) -> R) -> R {
    let errno = signal::errno();
    let mut work = Some(work);
    let mut run = |state: Option<&mut State>| work.take().map(|work| work(state));
    let visited = registry::current().and_then(|thread| thread.visit(|state| run(Some(state))));
    let result = visited.flatten().or_else(|| run(None));
    signal::set_errno(errno);
    // `work` runs once on every path above.
    result.unwrap_or_else(|| std::process::abort())
}

/// Bytes of stack that must be left for the unwinder: it takes 11 KiB, and 30 KiB unoptimised.
const ROOM: u64 = if cfg!(debug_assertions) { 64 << 10 } else { 24 << 10 };

/// Whether enough of the thread's own stack is left for the unwinder. Not on another stack.
pub fn has_room(state: &State, sp: u64) -> bool {
    let low = state.slot.header().stack_low.load(Relaxed);
    low != 0 && (low.saturating_add(ROOM)..state.stack.end).contains(&sp)
}

/// The call path of `caller`, kept for as long as the process lives. Where little stack is left, or the thread is
/// on another stack than its own (a coroutine's, a signal handler's), only the caller itself.
fn site_of(state: &mut State, caller: Caller) -> Option<&'static Site> {
    let room = has_room(state, caller.sp);
    let heap = state.heap.as_mut()?;
    if !room {
        return heap.paths.site(caller, None, &OwnMemory::new(None, 0..0));
    }
    modules::with(|modules| {
        let memory = OwnMemory::new(modules, caller.sp..state.stack.end);
        heap.paths.site(caller, modules, &memory)
    })
}
