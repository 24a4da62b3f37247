//! The `translate` engine in this process: what it counts goes into the threads' slots.

use std::{
    ops::Range,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};

use carom_base::{Access, AccessKind};
use carom_base_insn::Registers;
use carom_base_sys::signal;
use carom_base_wire::{
    Count, Engine, Leave, SlotHeader, Trial,
    journal::{Line, NOT_TRANSLATED},
};
use carom_collect_translate as engine;
use carom_collect_translate::{Batch, Mode, Observer, Obstacle, Totals};

use crate::{
    aside, handler, init, init::trouble, own_heap::HEAP, registry, reuse, reuse::Sampled, ring::Slot,
    session, session::Session, shared, thread::State, trial, window,
};

/// Thread CPU time between two signals that bring a thread back into the cache, and write down its counts.
pub const TIMER_NS: u64 = 10_000_000;

/// What the engine tells us.
struct Agent;

impl Observer for Agent {
    fn sampled(&self, registers: &Registers<'_>, access: &Access, kind: AccessKind, followed: f32) {
        keeping_errno(|| {
            let Some(thread) = registry::current() else { return };
            thread.visit(|state| {
                let settings = &state.session.settings;
                if settings.trial == Trial::Samples {
                    return trial::take_sample(*access);
                }
                let (loads, stores) = (settings.load_period, settings.store_period);
                let shortest = [loads, stores].into_iter().filter(|period| *period != 0).min().unwrap_or(1);
                if let Some(reuse) = &state.session.reuse {
                    let weight = period_of(*access, loads, stores) / shortest as f64;
                    handler::with_scene(state, registers, |scene| {
                        reuse.on_sample(scene, *access, weight as f32 * followed);
                    });
                } else {
                    let period = if kind.writes() { stores } else { loads };
                    let weight = period as f32 / shortest as f32;
                    handler::on_translated_sample(state, registers, *access, kind, weight);
                }
            });
        });
    }

    fn weighs(&self, drawn: usize) -> Option<f32> {
        let mut weight = Some(1.0);
        with_reuse(|reuse, state| weight = reuse.weighs(state, drawn));
        weight
    }

    fn takes_samples_early(&self) -> bool {
        // A use must not come before what is accessed ahead of it.
        session::current().is_some_and(|session| session.reuse.is_none())
    }

    fn touched(&self, registers: &Registers<'_>, access: &Access) {
        keeping_errno(|| {
            let Some(thread) = registry::current() else { return };
            thread.visit(|state| {
                let Some(reuse) = &state.session.reuse else {
                    return handler::on_touch(state, registers, *access);
                };
                if !reuse.concerns(access.addr) {
                    return reuse.on_stale(state, *access);
                }
                handler::with_scene(state, registers, |scene| reuse.on_touches(scene, *access));
            });
        });
    }

    fn streamed(&self, name: u64, batch: &Batch<'_>) {
        let trial =
            session::current().map(|session| &session.settings).filter(|settings| settings.reuse.is_none());
        keeping_errno(|| match (trial, header(name)) {
            (Some(settings), _) => trial::take(settings.trial, batch),
            (None, Some(header)) => reuse::exact::take(header, batch),
            (None, None) => {}
        });
    }

    fn ending(&self, threads: &mut dyn Iterator<Item = (u64, Totals)>) {
        keeping_errno(|| {
            let mut positions = Vec::new();
            for (name, totals) in threads {
                write(name, &totals);
                positions.push((name, accesses(&totals)));
            }
            end_reuse(Some(&positions));
            reuse::exact::write();
            if let Some(session) = session::current()
                && ENDS.load(Relaxed)
                && session.is_of_this_process()
            {
                init::end(session);
            }
        });
    }

    fn obstacle(&self, number: i64, arguments: [u64; 6]) -> Option<Obstacle> {
        aside::obstacle(number, arguments)
    }

    fn stepping_aside(&self, obstacle: Obstacle) -> u64 {
        aside::step(obstacle)
    }

    fn thread_ending(&self, name: u64, totals: &Totals) {
        end_counts(name, totals);
    }

    fn mapping_changed(&self, at: Option<&Range<u64>>, shared: bool) {
        shared::mapping_changed(at, shared);
    }

    fn forking(&self) {
        HEAP.before_fork();
    }

    fn forked(&self, child: bool) {
        HEAP.after_fork();
        if child {
            reuse::exact::forget();
        }
    }
}

/// Does something in the middle of the program's code, which may be about to look at errno.
fn keeping_errno(work: impl FnOnce()) {
    let errno = signal::errno();
    work();
    signal::set_errno(errno);
}

/// How many accesses a sampled one stands for. A read-modify-write may be drawn as either of its halves, and is as much
/// more likely to be.
fn period_of(access: Access, loads: u64, stores: u64) -> f64 {
    let rate = |period: u64, drawn: bool| if drawn && period != 0 { 1.0 / period as f64 } else { 0.0 };
    let rate = rate(loads, access.kind.reads()) + rate(stores, access.kind.writes());
    if rate > 0.0 { 1.0 / rate } else { 1.0 }
}

/// Loads and stores. What takes back is read after what it takes from, while the thread may run on.
fn accesses(totals: &Totals) -> u64 {
    totals.loads.saturating_add(totals.stores).max(0) as u64
}

/// What is still watched for reuse is over: the process ends. `totals`: what each thread, by its name, has made.
pub fn end_reuse(totals: Option<&[(u64, u64)]>) {
    undisturbed(|| with_reuse(|reuse, state| reuse.end_all(state, totals)));
}

/// Does something with the sampled reuse of the calling thread, where that is looked for.
fn with_reuse(work: impl FnOnce(&Sampled, &mut State)) {
    let Some(thread) = registry::current() else { return };
    thread.visit(|state| {
        if let Some(reuse) = &state.session.reuse {
            work(reuse, state);
        }
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

/// Whether programs' code is translated in this process.
pub fn is_on() -> bool {
    engine::is_started()
}

/// Starts the engine where that was asked for. The threads that begin from now on run in the cache.
pub fn start(session: &Session) {
    if session.settings.engine != Engine::Translate {
        return;
    }
    if cfg!(feature = "static-link") {
        return trouble(
            session,
            NOT_TRANSLATED,
            "the agent is linked into the program, and the two are not told apart",
        );
    }
    let (loads, stores) = (session.settings.load_period, session.settings.store_period);
    let mode = if reuse::exact::start(session) {
        Mode::Stream
    } else if (loads, stores) == (0, 0) {
        trial::mode(session.settings.trial)
    } else if session.reuse.as_ref().is_some_and(Sampled::is_in_software) || session.watches_in_software() {
        Mode::Watch { loads, stores }
    } else {
        Mode::Sample { loads, stores }
    };
    let _quiet = signal::Quiet::begin();
    match engine::start(window::first_mode(session, mode), own_code(), &Agent) {
        Ok(()) => {
            // What the program's heap does is the program's doing: it is to be counted.
            #[cfg(not(feature = "static-link"))]
            if session.settings.objects.is_none() {
                for (hook, library) in crate::hooks::ways_to_library() {
                    engine::lead_on(hook.addr() as u64, library.addr() as u64);
                }
            }
            // Their system calls are seen when they leave the cache.
            #[cfg(not(feature = "static-link"))]
            for (hook, library) in crate::hooks::ways_to_confining_calls() {
                engine::lead_on(hook.addr() as u64, library.addr() as u64);
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

/// Works with the engine while no signal can come, where there is room for it: the program's stacks may be small.
pub fn undisturbed<R>(work: impl FnOnce() -> R) -> R {
    let _quiet = signal::Quiet::begin();
    match registry::current() {
        Some(thread) => thread.handler_stack().with_room(work),
        None => work(),
    }
}

/// How the engine names the thread that writes into `slot`.
pub fn name(slot: &Slot) -> u64 {
    std::ptr::from_ref(slot.header()).expose_provenance() as u64
}

/// The calling thread is to run in the cache; what it counts goes into `slot`. False where it cannot.
pub fn begin_thread(slot: &Slot) -> bool {
    is_on()
        && undisturbed(|| {
            let attached = engine::attach(name(slot));
            if attached {
                reuse::exact::begin_thread(slot.header());
            }
            attached
        })
}

/// Where the hook whose return address lies at `at` goes back to, where it was called from translated code.
pub fn goes_back_to(at: u64) -> Option<u64> {
    if is_on() { undisturbed(|| engine::goes_back_to(at)) } else { None }
}

/// The calling thread leaves the cache for good.
pub fn end_thread(slot: &Slot) {
    if is_on() {
        undisturbed(|| {
            // Another thread may have its tables as soon as it is detached.
            with_reuse(Sampled::lay_down);
            if let Some(totals) = engine::detach() {
                end_counts(name(slot), &totals);
            }
        });
    }
}

/// The thread executes nothing more, or nothing more that counts.
fn end_counts(name: u64, totals: &Totals) {
    write(name, totals);
    with_reuse(|reuse, state| reuse.leave(state, accesses(totals)));
    if let Some(header) = header(name) {
        reuse::exact::end_thread(header);
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
        undisturbed(|| {
            engine::flush_streams();
            reuse::exact::write();
            engine::tell_totals();
        });
    }
}

/// Writes down what the calling thread has executed so far. For handlers, with all signals blocked.
pub fn write_here(slot: &Slot) {
    if let Some(totals) = engine::totals() {
        write(name(slot), &totals);
    }
}

/// The timer has interrupted the calling thread at `context`: where it is outside the cache, that counts, and it goes on
/// in the cache where it can. For handlers, with all signals blocked.
pub fn witness(context: &mut libc::ucontext_t) {
    if session::current().is_some() {
        engine::witness(context, TIMER_NS);
    }
}

/// Has the calling thread run natively behind the back of the engine's books: a program of our tests calls it.
#[cfg(debug_assertions)]
#[unsafe(no_mangle)]
extern "C" fn carom_test_lose_thread() {
    undisturbed(engine::lose_thread);
}

/// The head of the slot whose address is a thread's name.
fn header(name: u64) -> Option<&'static SlotHeader> {
    if name == NOWHERE {
        return None;
    }
    let header = std::ptr::with_exposed_provenance::<SlotHeader>(name as usize);
    // SAFETY: slots are mapped for good; all fields are atomics.
    Some(unsafe { &*header })
}

/// Writes down what a thread has executed.
fn write(name: u64, totals: &Totals) {
    let Some(header) = header(name) else { return };
    let counts = [
        (Count::Instructions, totals.instructions),
        (Count::Loads, totals.loads),
        (Count::Stores, totals.stores),
        (Count::LoadedBytes, totals.loaded_bytes),
        (Count::StoredBytes, totals.stored_bytes),
        (Count::Branches, totals.branches),
        (Count::BranchesTaken, totals.branches_taken),
        (Count::Calls, totals.calls),
        (Count::Returns, totals.returns),
        (Count::Atomics, totals.atomics),
        (Count::SystemCalls, totals.system_calls),
    ];
    for (count, value) in counts {
        if let Some(place) = header.counts.get(count as usize) {
            // What takes back is read after what it takes from, while the thread runs on.
            place.store(value.max(0) as u64, Relaxed);
        }
    }
    let coverage = totals.coverage;
    header.translated_ns.store(coverage.cpu_ns.saturating_sub(coverage.outside_ns), Relaxed);
    header.native_ns.store(coverage.outside_ns, Relaxed);
    header.ticks.store(coverage.ticks, Relaxed);
    header.unbooked_ns.store(coverage.unbooked_ns, Relaxed);
    for (reason, times) in LEAVES.into_iter().zip(coverage.leaves) {
        if let Some(place) = header.leaves.get(reason as usize) {
            place.store(times, Relaxed);
        }
    }
}

/// The engine's reasons to leave the cache, in its order, as the host knows them.
const LEAVES: [Leave; engine::Leave::COUNT] = [
    Leave::ForeignCode,
    Leave::Instruction,
    Leave::NoMemory,
    Leave::ProgramGs,
    Leave::ThreadStart,
    Leave::SteppedAside,
];
