//! The `translate` engine in this process: its counts go into the threads' slots.
//!
//! This file has the calls to the engine that all of the agent uses. [`life`] begins and ends threads in it;
//! [`observer`] starts it and receives its calls; [`by_instruction`] writes what instructions have executed.

mod by_instruction;
pub mod life;
pub mod observer;

#[cfg(not(feature = "static-link"))]
use std::ffi::c_void;
use std::sync::atomic::Ordering::Relaxed;

use carom_base_sys::signal;
use carom_base_wire::{Count, SlotHeader};
use carom_collect_translate as engine;
use carom_collect_translate::{Counts, Totals};

use crate::{registry, ring::Slot, session};

/// Thread CPU time between two signals that bring a thread back into the cache, and write down its counts.
pub const TIMER_NS: u64 = 10_000_000;

/// Whether programs' code is translated in this process.
pub fn is_on() -> bool {
    engine::is_started()
}

/// Runs `work`, which calls the engine, with signals blocked and on the handler stack: the program's stack may be
/// small.
pub fn undisturbed<R>(work: impl FnOnce() -> R) -> R {
    signal::quietly(|| match registry::current() {
        Some(thread) => thread.handler_stack().with_room(work),
        None => work(),
    })
}

/// The engine's name for the thread that writes into `slot`.
pub fn name(slot: &Slot) -> u64 {
    std::ptr::from_ref(slot.header()).expose_provenance() as u64
}

/// The original return address of a hook that was called from translated code. `at`: where its return address lies.
pub fn goes_back_to(at: u64) -> Option<u64> {
    if is_on() { undisturbed(|| engine::goes_back_to(at)) } else { None }
}

/// Sends the calling thread's counts to another slot, in the child of a fork, or nowhere.
pub fn set_slot(slot: Option<Slot>) {
    if is_on() {
        undisturbed(|| engine::set_name(slot.map_or(NOWHERE, |slot| name(&slot))));
    }
}

/// The name of a thread that has no slot.
const NOWHERE: u64 = 0;

/// Code was mapped or unmapped by a function that ran natively. `then` is called once the engine knows, with signals blocked.
pub fn code_changed(then: impl FnOnce()) {
    if is_on() {
        undisturbed(|| {
            engine::mappings_changed();
            then();
        });
    }
}

/// Has translated code that calls the first function of each pair run the second one instead.
#[cfg(not(feature = "static-link"))]
pub fn lead_on(ways: &[(*const c_void, *const c_void)]) {
    if is_on() && !ways.is_empty() {
        undisturbed(|| {
            ways.iter().for_each(|(from, to)| engine::lead_on(from.addr() as u64, to.addr() as u64));
        });
    }
}

/// Writes the counts of the calling thread. For handlers, with all signals blocked.
pub fn write_here(slot: &Slot) {
    if let Some(totals) = engine::totals() {
        write(name(slot), &totals);
    }
}

/// The timer has interrupted the calling thread at `context`. Time outside the cache is counted, and the thread goes on
/// in the cache where it can. For handlers, with all signals blocked.
///
/// `late`: the time was up while the thread blocked the signal, which it does in code of ours. Where it unblocks it says nothing
/// of where it is: often in a function of a library that it is about to call natively.
pub fn witness(context: &mut libc::ucontext_t, late: bool) {
    if session::current().is_some() {
        engine::witness(context, if late { 0 } else { TIMER_NS });
    }
}

/// Has the calling thread run natively without the engine's knowledge. For a program of the tests.
#[cfg(debug_assertions)]
#[unsafe(no_mangle)]
extern "C" fn carom_test_lose_thread() {
    undisturbed(engine::lose_thread);
}

/// The head of the slot whose address is a thread's name.
pub fn header(name: u64) -> Option<&'static SlotHeader> {
    if name == NOWHERE {
        return None;
    }
    let header = std::ptr::with_exposed_provenance::<SlotHeader>(name as usize);
    // SAFETY: slots are mapped for good; all fields are atomics.
    Some(unsafe { &*header })
}

/// Writes the counts of a thread.
pub fn write(name: u64, totals: &Totals) {
    let Some(header) = header(name) else { return };
    for (count, value) in by_count(totals) {
        if let Some(place) = header.counts.get(count as usize) {
            // A negative part may be read after the part that it is taken from, while the thread runs on.
            place.store(value.max(0) as u64, Relaxed);
        }
    }
    let coverage = totals.coverage;
    header.translated_ns.store(coverage.cpu_ns.saturating_sub(coverage.outside_ns), Relaxed);
    header.native_ns.store(coverage.outside_ns, Relaxed);
    header.ticks.store(coverage.ticks, Relaxed);
    header.unbooked_ns.store(coverage.unbooked_ns, Relaxed);
    for (place, times) in header.leaves.iter().zip(coverage.leaves) {
        place.store(times, Relaxed);
    }
}

/// Counts with their numbers.
const fn by_count(counts: &Counts) -> [(Count, i64); Count::COUNT] {
    [
        (Count::Instructions, counts.instructions),
        (Count::Loads, counts.loads),
        (Count::Stores, counts.stores),
        (Count::LoadedBytes, counts.loaded_bytes),
        (Count::StoredBytes, counts.stored_bytes),
        (Count::Branches, counts.branches),
        (Count::BranchesTaken, counts.branches_taken),
        (Count::Calls, counts.calls),
        (Count::Returns, counts.returns),
        (Count::Atomics, counts.atomics),
        (Count::SystemCalls, counts.system_calls),
    ]
}
