//! What the hooks of the allocator seldom do: find a new call path, enter a large block.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use carom_base_sys::signal;
use carom_base_wire::MAX_STACK_FRAMES;
use carom_collect_translate::is_called_from_cache;

use super::{
    Caller, Object, TABLE,
    path::{End, Limits},
    shadow, site, tree,
};
use crate::{
    context::OwnMemory,
    modules, registry,
    thread::State,
    translated::{goes_back_to, undisturbed},
};

/// Enters a block that the usual way could not. The last three arguments are the allocation's [`Caller`].
#[cold]
#[inline(never)]
pub extern "C" fn enter(base: u64, size: u64, ip: u64, sp: u64, fp: u64) {
    let errno = signal::errno();
    let caller = Caller { ip, sp, fp };
    let site = match tree::find(&caller) {
        0 => undisturbed(|| learn(&caller)),
        known => known,
    };
    let object = Object { base, size, site };
    if site == 0 || !shadow::enter_anywhere(object) {
        TABLE.insert(object);
    }
    signal::set_errno(errno);
}

/// Removes and returns a block that the shadow does not have.
#[cold]
#[inline(never)]
pub fn take(base: u64) -> Option<Object> {
    let errno = signal::errno();
    let taken = TABLE.remove(base);
    signal::set_errno(errno);
    taken
}

/// The number of a new call path, which the usual way recognises from now on. Only the caller itself is known in threads
/// that are not sampled, and where a signal handler of the program has interrupted a hook. Runs with signals blocked, on a
/// stack with room for the unwinder.
fn learn(caller: &Caller) -> u32 {
    let known = registry::current().and_then(|thread| thread.visit(|state| path_of(state, caller)));
    known.flatten().unwrap_or(0)
}

fn path_of(state: &mut State, caller: &Caller) -> Option<u32> {
    // A native function of ours allocates, and returns to the engine.
    let back = if is_called_from_cache(caller.ip) { goes_back_to(caller.sp.wrapping_sub(8)) } else { None };
    let caller = &Caller { ip: back.unwrap_or(caller.ip), ..*caller };
    let paths = &mut state.heap.as_mut()?.paths;
    let stack = if state.stack.contains(&caller.sp) { caller.sp..state.stack.end } else { 0..0 };
    modules::with(|modules| {
        let memory = OwnMemory::new(modules, stack);
        paths.find(caller, Limits::now(), modules, &memory);
    });
    let site = site::intern(&paths.stack())?.number();
    if paths.recurses() {
        RECURSIVE.fetch_add(1, Relaxed);
    }
    if back.is_none() {
        let goes_on = paths.end() == End::Cut;
        tree::Path { ip: caller.ip, marks: paths.marks(), site, goes_on }.add();
    }
    Some(site)
}

/// How many paths have a function that is called again before it has returned.
static RECURSIVE: AtomicUsize = AtomicUsize::new(0);

impl Limits {
    /// Those of a further path. A program that recurses, and allocates on every level, may have any number of paths; each
    /// costs as much as a hundred allocations, and many are slow to tell apart. Their inner frames tell more than the
    /// outer ones.
    fn now() -> Self {
        let frames = match site::count() {
            0..16384 => MAX_STACK_FRAMES,
            16384..65536 => 8,
            _ => 4,
        };
        let recursions = match RECURSIVE.load(Relaxed) {
            0..64 => MAX_STACK_FRAMES,
            64..256 => 1,
            _ => 0,
        };
        Self { frames, recursions }
    }
}

/// Bytes of stack that must be left for the unwinder: it takes 11 KiB, and 30 KiB unoptimised.
const ROOM: u64 = if cfg!(debug_assertions) { 64 << 10 } else { 24 << 10 };

/// Whether enough of the thread's own stack is left for the unwinder. Not on another stack.
pub fn has_room(state: &State, sp: u64) -> bool {
    let low = state.slot.header().stack_low.load(Relaxed);
    low != 0 && (low.saturating_add(ROOM)..state.stack.end).contains(&sp)
}
