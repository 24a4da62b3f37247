//! Tells the host which blocks the threads contend for.

use carom_base::{Access, Addr, LINE_BYTES, Nanos, SharingEvent, StackId};
use carom_base_wire::{Counter, Record};

use super::{find, shard::Object, site, table::Busy};
use crate::thread::State;

/// Reports the blocks that `event` is about: those that the two accesses touch, else one that lies in their
/// line. For the handler.
pub fn report(state: &mut State, event: &SharingEvent) {
    if state.heap.is_none() {
        return;
    }
    let bytes = |access: &Access| access.addr.0..access.end().0;
    let line = event.later.addr.line().start().0;
    let [later, earlier] = [&event.later, &event.earlier.access].map(|access| find(bytes(access)));
    let found = match (later, earlier) {
        (Ok(None), Ok(None)) => [find(line..line.wrapping_add(LINE_BYTES)), Ok(None)],
        both => both.into(),
    };
    for found in found {
        match found {
            Ok(Some(object)) => send(state, object, event.time),
            Ok(None) => {}
            Err(Busy) => state.slot.count(Counter::ObjectsUnknown, 1),
        }
    }
}

/// Reports the block that an access touches. For the handler.
pub fn report_access(state: &mut State, access: &Access, time: Nanos) {
    if state.heap.is_none() {
        return;
    }
    match find(access.addr.0..access.end().0) {
        Ok(Some(object)) => send(state, object, time),
        Ok(None) => {}
        Err(Busy) => state.slot.count(Counter::ObjectsUnknown, 1),
    }
}

fn send(state: &mut State, object: Object, seen: Nanos) {
    let State { heap: Some(heap), stacks, slot, .. } = state else { return };
    let path = site::numbered(object.site);
    let site = path.map_or(StackId::NONE, |path| path.id());
    let remembered = heap.reported.place(object.base);
    let this = (object.base, object.size, site);
    if *remembered == this {
        return;
    }
    if let Some(path) = path {
        stacks.send(&mut path.stack(), slot);
    }
    if slot.push(&Record::Object { base: Addr(object.base), size: object.size, site, seen }) {
        *remembered = this;
    }
}

/// Tells which block has a byte at `address`: fills in its first byte and size, and the call path that allocated it. Returns
/// the path's depth, negative where it goes on, 0 where nothing is known. For a program of the tests.
///
/// # Safety
/// There is room for [`MAX_STACK_FRAMES`](carom_base_wire::MAX_STACK_FRAMES) frames and two words.
#[cfg(debug_assertions)]
#[unsafe(no_mangle)]
unsafe extern "C" fn carom_test_allocated_by(address: u64, frames: *mut u64, block: *mut [u64; 2]) -> i32 {
    // Another thread may be entering a large block of its own.
    let trials = std::iter::repeat_with(|| find(address..address.wrapping_add(1)));
    let Some(Ok(Some(object))) = trials.take(1_000_000).find(Result::is_ok) else { return 0 };
    let Some(path) = site::numbered(object.site).map(site::Site::stack) else { return 0 };
    // SAFETY: the caller vouches for it.
    unsafe { block.write([object.base, object.size]) };
    // SAFETY: as above.
    unsafe { frames.copy_from_nonoverlapping(path.frames.as_ptr(), path.depth) };
    if path.truncated { -(path.depth as i32) } else { path.depth as i32 }
}
