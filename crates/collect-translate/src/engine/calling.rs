//! The calling thread, found by the GS register.

use std::ptr::NonNull;

use super::{process::is_started, with};
use crate::{
    blocks::passages,
    lane::slots::Slots,
    memory::{LaneId, opened},
    probes::totals::Totals,
    threads::{books::Books, spent::Spent, thread::Thread},
};

/// No thread uses the lane any more. Its memory goes back to the kernel without the engine's lock, because that takes
/// long.
pub fn give_lane_back(lane: LaneId) {
    let mut left = None;
    with(|engine| left = Some(engine.cache.lanes.leave(lane)));
    // Memory that cannot be given back stays allocated.
    if left.is_some_and(|left| left.give_back().is_ok()) {
        with(|engine| engine.cache.lanes.free(lane));
    }
}

/// Whether the calling function runs on the engine's stack, where all signals are blocked or deferred.
pub fn is_on_engine_stack() -> bool {
    let here = 0u8;
    opened::contains((&raw const here).addr() as u64)
}

/// Makes the calling function, which was called from the cache, return to native code unnoticed: for tests of the
/// timer that checks the coverage.
#[cfg(debug_assertions)]
pub fn lose_thread() {
    if let Some(thread) = current() {
        // SAFETY: the calling thread's own, and outside the dispatcher.
        unsafe { &mut *thread }.give_back();
    }
}

/// Whether the calling function was called from the cache, and returns there.
pub fn runs_in_cache() -> bool {
    // SAFETY: the calling thread's own, and outside the dispatcher.
    current_books().is_some_and(|books| unsafe { books.as_ref() }.clock.outside().is_none())
}

/// Where the native function whose return address lies at `at` will return to, if it was called from the cache: `at`
/// itself holds an address of the engine. Signals must be blocked.
pub fn goes_back_to(at: u64) -> Option<u64> {
    // SAFETY: the calling thread's own, and outside the dispatcher.
    unsafe { current_books()?.as_ref() }.goes_back_to(at)
}

/// Whether a function that returns to `back` was called from the cache.
pub fn is_called_from_cache(back: u64) -> bool {
    back == passages::native_return as *const () as u64
}

/// Whether the calling thread is attached.
pub fn is_attached() -> bool {
    current().is_some()
}

/// What the calling thread has executed. Signals must be blocked.
pub fn totals() -> Option<Totals> {
    let books = current_books()?;
    let mut totals = None;
    with(|engine| {
        // SAFETY: the calling thread's, under the lock.
        totals = Some(unsafe { books.as_ref() }.totals(engine.cache.arenas.all()));
    });
    totals
}

/// What observation took of the calling thread so far, the exit that is being handled excluded.
pub fn spent() -> Spent {
    // SAFETY: the calling thread's, which alone writes this.
    current_books().map(|books| unsafe { books.as_ref() }.spending.so_far()).unwrap_or_default()
}

/// Gives the calling thread another name for the observer. Signals must be blocked.
pub fn set_name(name: u64) {
    if let Some(mut books) = current_books() {
        // Under the lock, because other threads may report it.
        // SAFETY: the calling thread's, under the lock.
        with(|_| unsafe { books.as_mut() }.name = name);
    }
}

/// Calls `work` with GS as in a thread that is not attached: for creating threads, which inherit it.
pub fn aside<R>(work: impl FnOnce() -> R) -> R {
    let base = if is_started() { gs_base() } else { 0 };
    // A base that the program has set itself is inherited.
    if !is_ours(base) {
        return work();
    }
    set_gs_base(0);
    let result = work();
    set_gs_base(base);
    result
}

/// The GS base of the calling thread.
pub fn gs_base() -> u64 {
    let base: u64;
    // SAFETY: reads a register; that the instruction is there was checked at the start.
    unsafe { std::arch::asm!("rdgsbase {}", out(reg) base, options(nostack, nomem, preserves_flags)) };
    base
}

/// Sets the GS base of the calling thread.
pub fn set_gs_base(base: u64) {
    // SAFETY: nothing but the engine uses GS.
    unsafe { std::arch::asm!("wrgsbase {}", in(reg) base, options(nostack, nomem, preserves_flags)) };
}

/// Whether the calling thread was created by one for which the program had set GS.
pub fn has_gs_of_program() -> bool {
    let base = gs_base();
    base != 0 && !is_ours(base)
}

/// Whether a GS base is the engine's: the program may have set its own.
fn is_ours(base: u64) -> bool {
    opened::contains(base)
}

/// The calling thread, where it is attached.
pub fn current() -> Option<*mut Thread> {
    if is_started() { thread_of(slots_at_gs()?) } else { None }
}

/// The slots of the calling thread, where it was attached when the engine ran.
pub fn slots() -> Option<NonNull<Slots>> {
    let slots = if opened::is_any() { slots_at_gs() } else { None };
    slots.filter(|&slots| thread_of(slots).is_some())
}

/// Whether the calling thread is in the dispatcher and its signals are deferred: as good as blocked.
pub fn defers() -> bool {
    // SAFETY: the calling thread's.
    slots().is_some_and(|slots| unsafe { slots.as_ref() }.defers != 0)
}

fn slots_at_gs() -> Option<NonNull<Slots>> {
    let base = gs_base();
    if is_ours(base) { NonNull::new(std::ptr::with_exposed_provenance_mut(base as usize)) } else { None }
}

/// The calling thread, if these slots are its own.
fn thread_of(slots: NonNull<Slots>) -> Option<*mut Thread> {
    // SAFETY: GS is ours where it lies among the lanes, and then points to a thread's slots.
    let thread = unsafe { slots.as_ref() }.thread;
    let thread = std::ptr::with_exposed_provenance_mut::<Thread>(thread as usize);
    if thread.is_null() {
        return None;
    }
    // A thread that native code created has inherited it.
    // SAFETY: it stays attached as long as its slots are in use.
    let books = unsafe { (*thread).books };
    // SAFETY: as above; this never changes.
    let tid = unsafe { books.as_ref() }.clock.tid();
    (tid == carom_base_sys::signal::thread_id() as u32).then_some(thread)
}

/// The books of the calling thread, where it is attached: what others use of it.
pub fn current_books() -> Option<NonNull<Books>> {
    // SAFETY: the calling thread's, which does not change this.
    current().map(|thread| unsafe { (*thread).books })
}
