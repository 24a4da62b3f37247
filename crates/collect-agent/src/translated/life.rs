//! Threads and the process in the engine: how they begin, write their counts, and end.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use carom_collect_translate as engine;
use carom_collect_translate::Totals;

use super::{header, is_on, name, undisturbed, write};
use crate::{
    account,
    detect::{self, Detector, Detectors},
    registry,
    ring::Slot,
    thread::State,
};

/// Has the calling thread run in the cache; its counts go into `slot`. False where it cannot.
pub fn begin_thread(slot: &Slot) -> bool {
    is_on()
        && undisturbed(|| {
            let attached = engine::attach(name(slot));
            if attached {
                detect::each().for_each(|detector| detector.thread_is_translated(slot.header()));
            }
            attached
        })
}

/// The calling thread leaves the cache for good.
pub fn end_thread(slot: &Slot) {
    if is_on() {
        undisturbed(|| {
            // Another thread may have its tables as soon as it is detached.
            with_detectors(|detectors, state| {
                detectors.iter().for_each(|detector| detector.thread_leaves_cache(state));
                account::close(state);
            });
            if let Some(totals) = engine::detach() {
                end_counts(name(slot), &totals);
            }
        });
    }
}

/// The thread executes nothing more, or nothing more that counts.
pub fn end_counts(name: u64, totals: &Totals) {
    write(name, totals);
    with_detectors(|detectors, state| {
        detectors.iter().for_each(|detector| detector.thread_ends(state, accesses(totals)));
    });
    if let Some(header) = header(name) {
        detect::each().for_each(|detector| detector.thread_was_translated(header));
    }
}

/// Writes the counts of every thread.
pub fn write_all() {
    if is_on() {
        undisturbed(|| {
            engine::flush_streams();
            detect::each().for_each(Detector::write);
            engine::tell_totals();
        });
    }
}

/// The process ends, and with it all watches. `totals`: the number of accesses of each thread, by its name.
pub fn end_process(totals: Option<&[(u64, u64)]>) {
    undisturbed(|| {
        with_detectors(|detectors, state| {
            detectors.iter().for_each(|detector| detector.process_ends(state, totals));
        });
    });
}

/// Exit handlers have run, ours among them; the process goes on in the cache until it makes the system call that ends it.
static ENDS: AtomicBool = AtomicBool::new(false);

/// Whether the calling thread, which is about to end the process, goes on in the cache until it does: libraries are
/// still to be left, and output to be written. That counts, so the host must not take the thread to have ended.
pub fn runs_to_the_end() -> bool {
    let translated = engine::runs_in_cache();
    ENDS.store(translated, Relaxed);
    translated
}

/// Whether that was so.
pub fn ran_to_the_end() -> bool {
    ENDS.load(Relaxed)
}

/// Runs `work` with the detectors and the state of the calling thread.
pub fn with_detectors(work: impl FnOnce(&'static Detectors, &mut State)) {
    if let (Some(thread), Some(detectors)) = (registry::current(), detect::current()) {
        thread.visit(|state| work(detectors, state));
    }
}

/// As [`with_detectors`], in front of an access, where nothing may allocate.
pub fn with_detectors_at_access(work: impl FnOnce(&'static Detectors, &mut State)) {
    if let (Some(thread), Some(detectors)) = (registry::current(), detect::current()) {
        thread.visit_without_heap(|state| work(detectors, state));
    }
}

/// Loads and stores. Negative parts are read after the parts that they are taken from, while the thread may run on: the
/// sum may be negative for a moment.
pub fn accesses(totals: &Totals) -> u64 {
    totals.loads.saturating_add(totals.stores).max(0) as u64
}
