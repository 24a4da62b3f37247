//! Starts the `translate` engine, and passes its calls on to the detectors.

use std::{
    ops::Range,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};

use carom_base::Access;
use carom_base_insn::Registers;
use carom_base_sys::{clock, signal};
use carom_base_wire::{
    Engine, MADE_BY_CLONE,
    journal::{Line, NOT_TRANSLATED},
};
use carom_collect_translate as engine;
use carom_collect_translate::{Batch, Counts, DrawnAs, Mode, Observer, Obstacle, Totals};

use super::{
    by_instruction, header,
    life::{self, accesses, with_detectors_at_access},
    write,
};
use crate::{
    account, aside,
    detect::{self, Detector, Detectors, Needs},
    ending,
    own_heap::HEAP,
    registry, session,
    session::Session,
    shared, threads, window,
};

/// Receives the engine's calls.
struct Agent;

impl Observer for Agent {
    fn sampled(&self, registers: &Registers<'_>, access: &Access, drawn: DrawnAs, weight: f32) {
        keeping_errno(|| {
            with_detectors_at_access(|detectors, state| {
                detectors.sampled(state, registers, *access, drawn, weight);
            });
        });
    }

    fn weighs(&self, drawn: usize) -> Option<f32> {
        let mut weight = Some(1.0);
        with_detectors_at_access(|detectors, state| weight = detectors.weighs(state, drawn));
        weight
    }

    fn drawn(&self, accesses: u64) {
        with_detectors_at_access(|detectors, state| detectors.drawn(state, accesses));
        detect::each().for_each(Detector::samples_are_told);
    }

    fn takes_samples_early(&self) -> bool {
        detect::current().is_some_and(|detectors| detectors.needs().samples_can_be_early)
    }

    fn touched(&self, registers: &Registers<'_>, access: &Access) {
        keeping_errno(|| {
            with_detectors_at_access(|detectors, state| detectors.touched(state, registers, access));
        });
    }

    fn streamed(&self, name: u64, batch: &Batch<'_>) {
        let Some(header) = header(name) else { return };
        keeping_errno(|| detect::each().for_each(|detector| detector.streamed(header, batch)));
    }

    fn ending(&self, threads: &mut dyn Iterator<Item = (u64, Totals)>) {
        keeping_errno(|| {
            let mut positions = Vec::new();
            for (name, totals) in threads {
                write(name, &totals);
                positions.push((name, accesses(&totals)));
            }
            life::end_process(Some(&positions));
            detect::each().for_each(Detector::write);
            if let Some(session) = session::current()
                && life::ran_to_the_end()
                && session.is_of_this_process()
            {
                ending::end(session);
                session::publish(None);
            }
        });
    }

    fn executed(&self, instructions: &mut dyn Iterator<Item = (u64, Counts)>) {
        // The child of a fork has its parent's session until it has one of its own.
        if let Some(session) = session::current().filter(|session| session.is_of_this_process()) {
            keeping_errno(|| by_instruction::write(session, instructions));
        }
    }

    fn obstacle(&self, number: i64, arguments: [u64; 6]) -> Option<Obstacle> {
        aside::obstacle(number, arguments)
    }

    fn stepping_aside(&self, obstacle: Obstacle) -> u64 {
        aside::step(obstacle)
    }

    fn thread_ending(&self, name: u64, totals: &Totals) {
        life::end_counts(name, totals);
    }

    fn mapping_changes(&self, at: &Range<u64>) {
        if clock::may_hold_the_vdso(at) {
            clock::leave_the_vdso();
        }
        threads::loses_own_memory(at);
    }

    fn mapping_changed(&self, at: Option<&Range<u64>>, shared: bool) {
        shared::mapping_changed(at, shared);
    }

    fn forking(&self) {
        HEAP.before_fork();
    }

    fn forked(&self, child: bool) {
        HEAP.after_fork();
        let cloned = CLONING.swap(false, Relaxed);
        if child {
            detect::each().for_each(Detector::forked);
        }
        // Nothing begins a session of its own there, and its parent's is not for two.
        if child && cloned {
            if let Some(thread) = registry::current() {
                thread.give_back_stack();
            }
            registry::clear();
            session::publish(None);
        }
    }

    fn follows_clone(&self) -> bool {
        if let Some(session) = session::current().filter(|session| session.is_of_this_process()) {
            session.unprofiled_child(MADE_BY_CLONE);
        }
        CLONING.store(true, Relaxed);
        false
    }
}

/// The fork that is being made is a system call of the program's own. Under the engine's lock.
static CLONING: AtomicBool = AtomicBool::new(false);

/// Runs `work` in the middle of the program's code, which may be about to read errno.
fn keeping_errno(work: impl FnOnce()) {
    let errno = signal::errno();
    work();
    signal::set_errno(errno);
}

/// Starts the engine where that was asked for. The threads that begin from now on run in the cache.
pub fn start(session: &Session, seen: &FromCache) {
    if session.settings.engine != Engine::Translate {
        return;
    }
    if cfg!(feature = "static-link") {
        return session
            .trouble(NOT_TRANSLATED, "the agent is linked into the program, and the two are not told apart");
    }
    let _quiet = signal::Quiet::begin();
    account::adopt_period(session);
    match engine::start(window::first_mode(session, mode(session)), native_code(&seen.careful), &Agent) {
        Ok(()) => {
            engine::leave_uncounted(seen.careful.clone());
            if detect::current().is_some_and(|detectors| detectors.needs().positions) {
                engine::count_in_memory();
            }
            if session.settings.by_instruction {
                engine::count_by_instruction();
            }
            for &(hook, library) in &seen.leading_on {
                engine::lead_on(hook, library);
            }
            detect::each().for_each(Detector::modules_changed);
            session.note(&Line::Engine { name: Engine::Translate.name().into(), reason: String::new() });
        }
        Err(error) => session.trouble(NOT_TRANSLATED, &error.to_string()),
    }
}

/// The engine's mode for the session's detectors.
fn mode(session: &Session) -> Mode {
    let needs = detect::current().map(Detectors::needs).unwrap_or_default();
    let settings = &session.settings;
    let (loads, stores) = (settings.load_period, settings.store_period);
    match needs {
        Needs { nothing_else: true, .. } => Mode::Bare,
        Needs { stream: true, times: true, .. } => Mode::Trace { loads: true },
        Needs { stream: true, .. } => Mode::Stream,
        _ if (loads, stores) == (0, 0) => Mode::Count,
        Needs { tables: true, .. } => Mode::Watch { loads, stores },
        Needs { samples: true, .. } => Mode::Sample { loads, stores },
        _ => Mode::Count,
    }
}

/// How translated code treats the agent's own functions.
pub struct FromCache {
    /// Hooks in whose place a function runs that is translated: both addresses.
    pub leading_on: Vec<(u64, u64)>,
    /// Code of the agent that is translated, too, but not counted.
    pub careful: Range<u64>,
}

/// The code of this library that runs natively: all but the functions that only lead on to the C library.
fn native_code(careful: &Range<u64>) -> Vec<Range<u64>> {
    // Both are defined by the linker.
    unsafe extern "C" {
        static __ehdr_start: u8;
        static etext: u8;
    }
    let all = (&raw const __ehdr_start).addr() as u64..(&raw const etext).addr() as u64;
    vec![all.start..careful.start, careful.end..all.end]
}
