//! The `translate` engine in this process: what it counts goes into the threads' slots.

use std::sync::atomic::Ordering::Relaxed;

use carom_base::{Access, AccessKind};
use carom_base_insn::Registers;
use carom_base_wire::{
    Count, Engine, NOT_COUNTED, SlotHeader,
    journal::{Line, NOT_TRANSLATED},
};
use carom_collect_translate::{Mode, Observer, Totals};

use crate::{init::trouble, ring::Slot, session::Session};

/// What the engine tells us.
struct Agent;

impl Observer for Agent {
    fn sampled(&self, _registers: &Registers<'_>, _access: &Access, _kind: AccessKind) {}

    fn ending(&self, threads: &mut dyn Iterator<Item = (u64, Totals)>) {
        for (name, totals) in threads {
            write(name, &totals);
        }
    }
}

/// Starts the engine where that was asked for. The threads that begin from now on run in the cache.
pub fn start(session: &Session) {
    if session.settings.engine != Engine::Translate {
        return;
    }
    let mode = match (session.settings.load_period, session.settings.store_period) {
        (0, 0) => Mode::Count,
        (loads, stores) => Mode::Sample { loads, stores },
    };
    match carom_collect_translate::start(mode, own_code(), &Agent) {
        Ok(()) => {
            // What the program's heap does is the program's doing: it is to be counted.
            #[cfg(not(feature = "static-link"))]
            if session.settings.objects.is_none() {
                for (hook, library) in crate::hooks::ways_to_library() {
                    carom_collect_translate::lead_on(hook.addr() as u64, library.addr() as u64);
                }
            }
            session.note(&Line::Engine { name: Engine::Translate.name().into(), reason: String::new() });
        }
        Err(error) => trouble(session, NOT_TRANSLATED, &error.to_string()),
    }
}

/// The code of this library, which runs natively.
fn own_code() -> std::ops::Range<u64> {
    // Both are defined by the linker.
    unsafe extern "C" {
        static __ehdr_start: u8;
        static etext: u8;
    }
    (&raw const __ehdr_start).addr() as u64..(&raw const etext).addr() as u64
}

/// The calling thread is to run in the cache; what it counts goes into `slot`. False where it cannot.
pub fn begin_thread(slot: &Slot) -> bool {
    carom_collect_translate::is_started()
        && carom_collect_translate::attach(std::ptr::from_ref(slot.header()).expose_provenance() as u64)
}

/// The calling thread leaves the cache for good.
pub fn end_thread(slot: &Slot) {
    if let Some(totals) = carom_collect_translate::detach() {
        write(std::ptr::from_ref(slot.header()).expose_provenance() as u64, &totals);
    }
}

/// Writes down what a thread has executed. `name`: the address of its slot's header.
fn write(name: u64, totals: &Totals) {
    let header = std::ptr::with_exposed_provenance::<SlotHeader>(name as usize);
    // SAFETY: slots are mapped for good; all fields are atomics.
    let header = unsafe { &*header };
    let counts = [
        (Count::Instructions, totals.instructions),
        (Count::Loads, totals.loads),
        (Count::Stores, totals.stores),
        (Count::LoadedBytes, totals.loaded_bytes),
        (Count::StoredBytes, totals.stored_bytes),
        (Count::Branches, totals.branches),
        (Count::Calls, totals.calls),
        (Count::Returns, totals.returns),
        (Count::Atomics, totals.atomics),
        (Count::SystemCalls, totals.system_calls),
    ];
    for (count, value) in counts {
        if let Some(place) = header.counts.get(count as usize) {
            place.store(value as u64, Relaxed);
        }
    }
    if let Some(place) = header.counts.get(Count::BranchesTaken as usize) {
        place.store(NOT_COUNTED, Relaxed);
    }
}
