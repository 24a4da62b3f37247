//! The `translate` engine in this process: what it counts goes into the threads' slots.

use std::{ops::Range, sync::atomic::Ordering::Relaxed};

use carom_base::{Access, AccessKind};
use carom_base_insn::Registers;
use carom_base_sys::signal;
use carom_base_wire::{
    Count, Engine, Leave, NOT_COUNTED, SlotHeader,
    journal::{Line, NOT_TRANSLATED},
};
use carom_collect_translate as engine;
use carom_collect_translate::{Mode, Observer, Totals};

use crate::{handler, init::trouble, own_heap, registry, ring::Slot, session, session::Session};

/// Thread CPU time between two signals that bring a thread back into the cache, and write down its counts.
pub const TIMER_NS: u64 = 10_000_000;

/// What the engine tells us.
struct Agent;

impl Observer for Agent {
    fn sampled(&self, registers: &Registers<'_>, access: &Access, kind: AccessKind) {
        let Some(thread) = registry::current() else { return };
        thread.visit(|state| {
            let settings = &state.session.settings;
            let (loads, stores) = (settings.load_period, settings.store_period);
            let period = if kind.writes() { stores } else { loads };
            let shortest = [loads, stores].into_iter().filter(|period| *period != 0).min().unwrap_or(1);
            let weight = period as f32 / shortest as f32;
            handler::on_translated_sample(state, registers, *access, kind, weight);
        });
    }

    fn ending(&self, threads: &mut dyn Iterator<Item = (u64, Totals)>) {
        for (name, totals) in threads {
            write(name, &totals);
        }
    }

    fn thread_ending(&self, name: u64, totals: &Totals) {
        write(name, totals);
    }

    fn forking(&self) {
        own_heap::before_fork();
    }

    fn forked(&self, _child: bool) {
        own_heap::after_fork();
    }
}

/// Whether programs' code is translated in this process.
pub fn is_on() -> bool {
    engine::is_started()
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
    engine::reserve_signals(signal::bit(libc::SIGTRAP));
    match engine::start(mode, own_code(), &Agent) {
        Ok(()) => {
            // What the program's heap does is the program's doing: it is to be counted.
            #[cfg(not(feature = "static-link"))]
            if session.settings.objects.is_none() {
                for (hook, library) in crate::hooks::ways_to_library() {
                    engine::lead_on(hook.addr() as u64, library.addr() as u64);
                }
            }
            session.note(&Line::Engine { name: Engine::Translate.name().into(), reason: String::new() });
        }
        Err(error) => trouble(session, NOT_TRANSLATED, &error.to_string()),
    }
}

/// The code of this library, which runs natively, but for what only leads on to the C library.
fn own_code() -> Vec<Range<u64>> {
    // Both are defined by the linker.
    unsafe extern "C" {
        static __ehdr_start: u8;
        static etext: u8;
    }
    let all = (&raw const __ehdr_start).addr() as u64..(&raw const etext).addr() as u64;
    #[cfg(not(feature = "static-link"))]
    let leads_on = crate::hooks::careful_code();
    #[cfg(feature = "static-link")]
    let leads_on = all.end..all.end;
    vec![all.start..leads_on.start, leads_on.end..all.end]
}

/// Works with the engine while no signal can come.
fn undisturbed<R>(work: impl FnOnce() -> R) -> R {
    let blocked = signal::set_mask(libc::SIG_SETMASK, signal::Mask::MAX);
    let result = work();
    signal::set_mask(libc::SIG_SETMASK, blocked);
    result
}

/// How the engine names the thread that writes into `slot`.
fn name(slot: &Slot) -> u64 {
    std::ptr::from_ref(slot.header()).expose_provenance() as u64
}

/// The calling thread is to run in the cache; what it counts goes into `slot`. False where it cannot.
pub fn begin_thread(slot: &Slot) -> bool {
    is_on() && undisturbed(|| engine::attach(name(slot)))
}

/// The calling thread leaves the cache for good.
pub fn end_thread(slot: &Slot) {
    if is_on()
        && let Some(totals) = undisturbed(engine::detach)
    {
        write(name(slot), &totals);
    }
}

/// What the calling thread counts goes into another slot, in the child of a fork, or nowhere.
pub fn set_slot(slot: Option<Slot>) {
    if is_on() {
        undisturbed(|| engine::set_name(slot.map_or(NOWHERE, |slot| name(&slot))));
    }
}

/// The name of a thread that has no slot.
const NOWHERE: u64 = 0;

/// Code was mapped or unmapped by a function that ran natively.
pub fn code_changed() {
    if is_on() {
        undisturbed(engine::mappings_changed);
    }
}

/// Writes down what every thread has executed so far.
pub fn write_all() {
    if is_on() {
        undisturbed(engine::tell_totals);
    }
}

/// Writes down what the calling thread has executed so far. For handlers, with all signals blocked.
pub fn write_here(slot: &Slot) {
    if !own_heap::HEAP.is_held_here()
        && let Some(totals) = engine::totals()
    {
        write(name(slot), &totals);
    }
}

/// Has a thread that runs natively, and was interrupted at `context`, go on in the cache where it can. For handlers, with
/// all signals blocked.
pub fn reenter(context: &mut libc::ucontext_t) {
    // The engine allocates.
    if !own_heap::HEAP.is_held_here() && session::current().is_some() {
        engine::reenter(context);
    }
}

/// Writes down what a thread has executed. `name`: the address of its slot's header.
fn write(name: u64, totals: &Totals) {
    if name == NOWHERE {
        return;
    }
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
    let coverage = totals.coverage;
    header.translated_ns.store(coverage.cpu_ns.saturating_sub(coverage.outside_ns), Relaxed);
    header.native_ns.store(coverage.outside_ns, Relaxed);
    for (reason, times) in LEAVES.into_iter().zip(coverage.leaves) {
        if let Some(place) = header.leaves.get(reason as usize) {
            place.store(times, Relaxed);
        }
    }
}

/// The engine's reasons to leave the cache, in its order, as the host knows them.
const LEAVES: [Leave; engine::Leave::COUNT] =
    [Leave::ForeignCode, Leave::Instruction, Leave::NoMemory, Leave::Other, Leave::ThreadStart];
