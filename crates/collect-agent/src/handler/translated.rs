//! What the handler does where the program's code is translated, and what a sample taken there does.

use std::sync::atomic::Ordering::Relaxed;

use carom_base::{Access, AccessKind, Cpu, Nanos, Population};
use carom_base_insn::Registers;
use carom_base_sys::clock;
use carom_base_wire::Counter;

use super::{Scene, watch};
use crate::{
    account,
    context::Context,
    line_watch::Touched,
    modules::{self, Modules},
    sampler::{Cause, Origin},
    thread::{self, State},
    translated,
};

/// How often, in timer signals, name, CPU time and counts are written down for the case that the thread is killed.
const PROGRESS_EVERY: u64 = 10;

/// A timer signal, which here serves what is outside the cache, or a watchpoint's trap. Returns what its delivery cost,
/// `None` for what is not ours.
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
            // At first more often, so that there is something of a thread that lived for a moment.
            if state.samples.is_multiple_of(PROGRESS_EVERY) || state.samples.is_power_of_two() {
                thread::note_progress(&state.slot);
                translated::write_here(&state.slot);
            }
            watch::keep_to_window(state, time);
            translated::witness(context.raw());
        }
        Some(Cause::Watch(index)) => {
            // The trap is the cache's; what it says is the program's.
            // The block that was interrupted counts as a whole.
            let _held = carom_collect_translate::hold();
            let accesses = carom_collect_translate::accesses();
            let mut program = *context.raw();
            // SAFETY: our own copy.
            let mut original = unsafe { Context::new((&raw mut program).cast()) };
            if let Some(found) = carom_collect_translate::original_registers(context.raw()) {
                original.put(&found.gpr, found.rip, found.rflags);
            }
            let scene = Scene { state, context: original, modules, fs_base, time, cpu, weight: 1.0 };
            let trap = scene.state.session.control().trap_ns.load(Relaxed);
            watch::on_trap(scene, index, accesses, late);
            return Some(trap);
        }
        None if origin == Origin::Step => return None,
        None => {}
    }
    Some(0)
}

/// An access is about to happen and was drawn as one of `kind`, for `weight` times as many accesses as the most
/// frequent samples stand for.
pub fn on_sample(
    state: &mut State,
    registers: &Registers<'_>,
    access: Access,
    kind: AccessKind,
    weight: f32,
) {
    with_scene(state, registers, |scene| {
        scene.weight = weight;
        let watch = account::follows(scene.state, scene.time);
        scene.sampled_as(access, kind, watch);
    });
}

/// An access is about to happen to a line that the thread's code watches, or takes for it.
pub fn on_touch(state: &mut State, registers: &Registers<'_>, access: Access) {
    match state.sampler.touched(access.addr.line()) {
        Touched::Watched => {
            state.sampler.disarm();
            with_scene(state, registers, |scene| {
                watch::on_touch(scene, access);
                account::pay(scene.state, scene.time, account::EXITS_OF_A_TOUCH);
            });
        }
        Touched::OtherAgain => {
            state.sampler.disarm();
            state.detectors[Population::Step as usize].disarm();
            state.slot.count(Counter::Undecided, 1);
        }
        Touched::Other => account::pay_exits(state, account::EXITS_OF_A_TOUCH),
    }
}

/// Works in front of an access of translated code, while the host wants to know.
pub fn with_scene(state: &mut State, registers: &Registers<'_>, work: impl FnOnce(&mut Scene<'_>)) {
    if state.session.control().stop.load(Relaxed) != 0 {
        return;
    }
    modules::with(|modules| {
        // SAFETY: all zeroes is a valid context.
        let mut machine: libc::ucontext_t = unsafe { std::mem::zeroed() };
        // SAFETY: our own.
        let mut context = unsafe { Context::new((&raw mut machine).cast()) };
        context.put(&registers.gpr, registers.rip, registers.rflags);
        let (time, cpu) = (clock::now(), Cpu(clock::current_cpu()));
        work(&mut Scene { state, context, modules, fs_base: registers.fs_base, time, cpu, weight: 1.0 });
    });
}
