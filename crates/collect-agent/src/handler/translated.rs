//! The handler where the program's code is translated.

use std::sync::atomic::Ordering::Relaxed;

use carom_base::{Cpu, Nanos};
use carom_base_sys::clock;

use crate::{
    context::Context,
    detect,
    modules::Modules,
    sampler::{Cause, Origin},
    scene::Scene,
    thread::State,
    threads, translated,
};

/// Handles a timer signal, which here serves threads outside the cache, or a watchpoint's trap. Returns the cost of its
/// delivery, or `None` for a signal that is not ours.
pub fn on_signal(
    state: &mut State,
    mut context: Context<'_>,
    modules: Option<&Modules>,
    (fs_base, time, cpu): (u64, Nanos, Cpu),
    origin: Origin,
) -> Option<u64> {
    let late = matches!(origin, Origin::Event { late: true, .. });
    match state.sampler.cause(origin) {
        Some(Cause::Timer) => {
            state.samples = state.samples.wrapping_add(1);
            carom_collect_translate::catch_up(context.raw());
            if state.progress.is_due(state.samples) {
                let begun = clock::thread_cpu();
                threads::note_progress(&state.slot);
                translated::write_here(&state.slot);
                let took = clock::thread_cpu().saturating_sub(begun);
                state.progress.done(state.samples, took, translated::TIMER_NS);
            }
            super::keep_to_window(state, time);
            detect::each().for_each(|detector| detector.ticked(state));
            translated::witness(context.raw(), late);
        }
        Some(Cause::Watch(index)) => {
            // The trap happened in the cache. Detectors need the program's own registers. The block that was
            // interrupted counts as a whole.
            let _held = carom_collect_translate::hold();
            carom_collect_translate::catch_up(context.raw());
            let accesses = carom_collect_translate::accesses();
            let mut program = *context.raw();
            // SAFETY: our own copy.
            let mut original = unsafe { Context::new((&raw mut program).cast()) };
            if let Some(found) = carom_collect_translate::original_registers(context.raw()) {
                original.put(&found.gpr, found.rip, found.rflags);
            }
            let mut scene = Scene { state, context: original, modules, fs_base, time, cpu, weight: 1.0 };
            let trap = scene.state.session.control().trap_ns.load(Relaxed);
            super::trapped(&mut scene, index, accesses, late);
            return Some(trap);
        }
        None if origin == Origin::Step => return None,
        None => {}
    }
    Some(0)
}
