//! Threads are attached and detached.

use super::arrive;
use crate::{
    engine::{
        calling::{current, give_lane_back, has_gs_of_program},
        process::is_started,
        with,
    },
    memory::opened,
    observe::streams,
    probes::totals::Totals,
    signal::defer,
    threads::thread::Thread,
};

/// Attaches the calling thread, so that it can enter the cache. The observer knows it as `name`. Signals must be
/// blocked. False where it cannot be attached.
pub fn attach(name: u64) -> bool {
    let dispatcher = arrive::dispatch as *const () as u64;
    let deliverer = defer::deliver as *const () as u64;
    let mut attached = false;
    if !is_started() || has_gs_of_program() {
        return attached;
    }
    with(|engine| {
        if let Some(thread) = Thread::attach(&mut engine.cache.lanes, name, [dispatcher, deliverer]) {
            opened::open(thread.lane);
            engine.add(thread);
            attached = true;
        }
    });
    attached
}

/// Detaches the calling thread: native code that was called from the cache returns to native code. Returns what the
/// thread executed, `None` where it is not attached. Signals must be blocked.
pub fn detach() -> Option<Totals> {
    let Some(pointer) = current() else { return detach_without_gs() };
    // SAFETY: the calling thread's, and outside the dispatcher.
    let thread = unsafe { &mut *pointer };
    streams::hand_over(thread);
    thread.turn.wait();
    let mut totals = None;
    let mut left = None;
    with(|engine| {
        if engine.take(thread.books) {
            totals = Some(thread.totals(engine.cache.arenas.all()));
            thread.detach();
            thread.turn.give();
            left = Some(thread.lane);
        }
    });
    if left.is_some() {
        // SAFETY: it was a box, and only its own thread, which gives it up, had it.
        drop(unsafe { Box::from_raw(pointer) });
    }
    left.into_iter().for_each(give_lane_back);
    totals
}

/// As [`detach`], for a thread that left for good because the program uses GS itself: GS keeps the program's value.
fn detach_without_gs() -> Option<Totals> {
    let tid = carom_base_sys::signal::thread_id() as u32;
    let (mut totals, mut left) = (None, None);
    with(|engine| {
        let Some(pointer) = engine.take_by_tid(tid) else { return };
        // SAFETY: it was a box, and only its own thread, which gives it up, had it.
        let thread = unsafe { Box::from_raw(pointer) };
        totals = Some(thread.totals(engine.cache.arenas.all()));
        left = Some(thread.lane);
    });
    left.into_iter().for_each(give_lane_back);
    totals
}
