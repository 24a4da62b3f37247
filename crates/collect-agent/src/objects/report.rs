//! Tells the host which blocks the threads contend for.

use carom_base::{Access, Addr, LINE_BYTES, Nanos, SharingEvent, StackId};
use carom_base_wire::{Counter, Record};

use super::{TABLE, shard::Object, table::Busy};
use crate::thread::State;

/// Reports the blocks that `event` is about: those that the two accesses touch, else one that lies in their
/// line. For the handler.
pub fn report(state: &mut State, event: &SharingEvent) {
    if state.heap.is_none() {
        return;
    }
    let bytes = |access: &Access| access.addr.0..access.end().0;
    let line = event.later.addr.line().start().0;
    let [later, earlier] = [&event.later, &event.earlier.access].map(|access| TABLE.find(bytes(access)));
    let found = match (later, earlier) {
        (Ok(None), Ok(None)) => [TABLE.find(line..line.wrapping_add(LINE_BYTES)), Ok(None)],
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
    match TABLE.find(access.addr.0..access.end().0) {
        Ok(Some(object)) => send(state, object, time),
        Ok(None) => {}
        Err(Busy) => state.slot.count(Counter::ObjectsUnknown, 1),
    }
}

fn send(state: &mut State, object: Object, seen: Nanos) {
    let State { heap: Some(heap), stacks, slot, .. } = state else { return };
    let site = object.site.map_or(StackId::NONE, |site| site.id());
    let remembered = heap.reported.place(object.base);
    let this = (object.base, object.size, site);
    if *remembered == this {
        return;
    }
    if let Some(site) = object.site {
        stacks.send(&mut site.stack(), slot);
    }
    if slot.push(&Record::Object { base: Addr(object.base), size: object.size, site, seen }) {
        *remembered = this;
    }
}
